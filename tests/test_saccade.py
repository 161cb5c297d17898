"""The face: the names that `import saccade` gives are those it lists, and importing it costs nothing."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import saccade

HEAVY = ("torch", "numpy", "numba", "pydantic", "PIL", "typer", "safetensors")


def test_the_face_is_this() -> None:
    """A name is added or taken away on purpose."""
    assert set(saccade.__all__) == {
        *("__version__", "load", "train", "TrainedModel", "Prediction", "Evaluation", "Shown", "Example", "SaccadeError"),
        *("attend", "attend_edges", "Attended", "look", "looking", "plot"),
    }
    assert len(set(saccade.__all__)) == len(saccade.__all__)


@pytest.mark.parametrize("name", saccade.__all__)
def test_every_name_is_there(name: str) -> None:
    value = getattr(saccade, name)
    assert name.startswith("_") or value.__name__ == name
    assert name.startswith("_") or value.__doc__, "says what it is"


def test_they_are_listed_and_no_other_public_name_is_there() -> None:
    assert dir(saccade) == sorted(saccade.__all__)
    rooms = {path.stem for path in Path(saccade.__file__).parent.iterdir()}
    public = {name for name in vars(saccade) if not name.startswith("_")}
    assert public - rooms - {"importlib", "Any"} <= set(saccade.__all__)


def test_an_unknown_name_is_told_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'saccade' has no attribute 'lod'"):
        saccade.lod  # noqa: B018
    assert not hasattr(saccade, "xyzzy")


def test_importing_it_imports_no_torch() -> None:
    assert all(importlib.util.find_spec(name) for name in HEAVY)
    code = f"import saccade, sys; dir(saccade); print(*[name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
