"""Checkpoints are known by their names, also those that are being replaced; LAST and BEST are checked."""

from pathlib import Path

import pytest

from saccade.errors import DataError
from saccade.training.checkpoints import names
from saccade.training.checkpoints.store import Checkpoints

from .saves import save


def test_one_that_is_being_replaced_counts_until_the_new_one_is_there(checkpoints: Checkpoints) -> None:
    folder = save(checkpoints, 5).parent
    aside = folder / f"{names.REPLACED}{names.directory_name(5)}"
    (folder / names.directory_name(5)).rename(aside)
    assert names.places(folder) == {5: aside}
    save(checkpoints, 5)
    assert names.places(folder) == {5: folder / "step-00000005"}


def test_other_names_do_not_count(tmp_path: Path) -> None:
    for name in ("step-1", "step-0000000a", ".tmp-step-00000001-ab", "notes", "LAST"):
        (tmp_path / name).mkdir()
    assert names.places(tmp_path) == {}
    assert names.places(tmp_path / "none") == {}


def test_a_pointer_names_its_checkpoint_or_is_refused(tmp_path: Path) -> None:
    assert names.pointed(tmp_path, "LAST") is None
    text = names.pointer_text("LAST", "step-00000003")
    (tmp_path / "LAST").write_text(text)
    assert names.pointed(tmp_path, "LAST") == "step-00000003"
    (tmp_path / "BEST").write_text(text)  # one file copied over the other
    for name, content in (("BEST", text), ("LAST", text.replace("3", "4", 1)), ("LAST", ""), ("LAST", "step-00000003\n")):
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=rf"{name} is damaged; delete it, and the newest one marked {name.lower()}"):
            names.pointed(tmp_path, name)
