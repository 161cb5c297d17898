"""The house keeps its order: imports run one way, names exist once, tests mirror the source, the documented list is real."""

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import saccade
from saccade.attention.catalog import catalog

ROOT = Path(saccade.__file__).parent
REPOSITORY = ROOT.parent.parent
TESTS = Path(__file__).parent

# What each room may import, beside itself and `errors`. Three lines that meet in the task: what attends, what is read and
# written, and how outputs are found and scored; then what trains, then the face; above it nobody knows his neighbor but cli.
FILES = {"inputs", "config", "records", "lock", "durable_files"}
MIDDLE = FILES | {"attention", "layers", "data", "view", "search", "evaluation", "readers", "writers", "systems"}
ENGINE = MIDDLE | {"task", "kernels", "recipes", "processes"}
FACE = ENGINE | {"training", "trained", "new_run"}
IMPORTS: dict[str, set[str]] = {
    "errors": set(),
    "inputs": set(),
    "lock": set(),
    "records": set(),
    "processes": set(),
    "durable_files": {"inputs"},
    "config": {"inputs"},
    "view": {"durable_files"},
    "data": FILES,
    "kernels": set(),
    "attention": {"kernels"},
    "layers": {"kernels", "attention", "data", "config"},
    "search": {"config", "kernels"},
    "evaluation": {"config"},
    "systems": {"attention", "layers", "data", "search", "view", "config"},  # which know of no kernels
    "readers": FILES | {"attention", "layers", "data", "view"},
    "writers": FILES | {"attention", "layers", "data", "view", "search", "evaluation", "readers"},
    "task": MIDDLE | {"processes"},
    "recipes": {"config"},
    "training": ENGINE,
    "trained": ENGINE | {"training"},
    "new_run": ENGINE | {"training", "trained"},
    "inside": {"attention", "view"},  # which looks into models that are not ours
    "experiments": FACE,
    "estimators": FACE,
    "exchange": FACE,
    "lab": FACE,
    "planning": FACE,  # by name it needs no torch: only its steps that are measured do
    "cli": FACE | {"experiments", "exchange", "planning"},
    "__init__": set(),
    "__main__": {"cli"},
}
# Class names that a room's modules have in common, since each module is asked for them by name.
CONVENTIONS = {"Config", "Model", "Reader", "Writer", "State", "Memory"}
# Tests of what several modules do together, by the room that they stand in.
ACROSS = {
    "": {"house", "readme", "saccade", "second_device", "task_texts"},
    "attention": {"lecture"},
    "cli": {
        "awkward_inputs", "bags", "fuzz", "graphs", "images", "labels", "mistakes", "processes", "questions_asked", "sets",
        "unknown_labels",
    },
    "defects": {"defects"},
    "estimators": {"documented"},
    "laws": {"covering", "laws"},
    "layers": {"devices"},
    "search": {"looks", "prompts", "reordering", "search", "stream"},
    "systems": {
        "agreement", "contract", "device_law", "dropout", "export", "labelers", "questions", "sets", "systems", "tasks",
        "text_systems",
    },
    "training": {"failed_validations", "faults", "resume", "stored_data"},
    "training/checkpoints": {"disk", "kills"},
    "view": {"drawings"},
    "view/page": {"page"},
}  # fmt: skip


def _modules() -> Iterator[Path]:
    """Every file of the source, from its root."""
    yield from sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def _room(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def _imports(text: str) -> set[str]:
    """The rooms that a file imports; `from saccade import X` is one of X, unless that is only a name such as __version__."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules += [f"{node.module}.{name.name}" for name in node.names]
    parts = [module.split(".") for module in modules]
    rooms = {path.stem for path in ROOT.iterdir()}
    return {part[1] for part in parts if part[0] == "saccade" and len(part) > 1 and part[1] in rooms}


@pytest.mark.parametrize(
    ("line", "rooms"),
    [
        ("from saccade import config, task", {"config", "task"}),
        ("from saccade import __version__", set()),
        ("from saccade.cli.main import run", {"cli"}),
        ("import saccade.training.run, torch", {"training"}),
        ("import saccade", set()),
        ("def f():\n    from saccade import lab as laboratory", {"lab"}),
        ("from torch import nn", set()),
    ],
)
def test_every_way_to_import_is_seen(line: str, rooms: set[str]) -> None:
    assert _imports(line) == rooms


@pytest.mark.parametrize("room", sorted({_room(path) for path in _modules()}))
def test_imports_run_one_way(room: str) -> None:
    assert room in IMPORTS, "a new room: say what it may import"
    for path in (path for path in _modules() if _room(path) == room):
        others = _imports((ROOT / path).read_text()) - {room, "errors"}
        assert others <= IMPORTS[room], f"{path} imports {', '.join(sorted(others - IMPORTS[room]))}"


def test_no_room_is_above_itself() -> None:
    """What a room may import, and what that may import in turn, never leads back to it."""

    left = dict(IMPORTS)
    while ready := [room for room, below in left.items() if not below & left.keys()]:
        left = {room: below for room, below in left.items() if room not in ready}
    assert left == {}


def test_a_module_name_exists_once() -> None:
    """But what is read and what is written may be of one kind, and published models of one system."""
    places = defaultdict(list)
    for path in _modules():
        if path.stem not in ("__init__", "__main__"):
            places[path.stem].append(path)
    doubled = {name: found for name, found in places.items() if len(found) > 1}
    pairs = ({"readers", "writers"}, {"systems", "exchange"})
    assert {name: found for name, found in doubled.items() if {_room(path) for path in found} not in pairs} == {}


def test_a_class_name_exists_once() -> None:
    places = defaultdict(list)
    for path in _modules():
        for node in ast.parse((ROOT / path).read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in CONVENTIONS:
                places[node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_tests_mirror_the_source() -> None:
    """src/saccade/a/b.py is tested in tests/a/test_b.py; what tests several modules is named above."""
    found = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    mirrored = {path.parent / f"test_{path.name}" for path in _modules()}
    across = {Path(room) / f"test_{name}.py" for room, names in ACROSS.items() for name in names}
    assert [str(path) for path in found if path not in mirrored | across] == [], "no module has this name: move the test"
    assert sorted(str(path) for path in across - set(found)) == [], "no such test: take it out of the list"
    assert sorted(str(path) for path in across & mirrored) == [], "a module has this name: take it out of the list"


def test_view_does_without_torch() -> None:
    files = sorted((ROOT / "view").rglob("*.py"))
    assert len(files) > 10
    for path in files:
        text = path.read_text()
        assert "import torch" not in text, path
        assert "from torch" not in text, path


@pytest.mark.parametrize("package", ["attention", "estimators", "inside", "kernels", "layers", "search", "view"])
def test_exported_names_exist(package: str) -> None:
    module = importlib.import_module(f"saccade.{package}")
    assert all(hasattr(module, name) for name in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.skipif(not (REPOSITORY / "docs").exists(), reason="installed without the repository")
def test_documented_list_is_the_real_one() -> None:
    assert (REPOSITORY / "docs" / "catalog.md").read_text() == catalog(), (
        "run: .venv/bin/python -m saccade.attention > docs/catalog.md"
    )
