"""The house keeps its order: imports run one way, the documented list is the real one, public names exist."""

import ast
import importlib
from pathlib import Path

import pytest

import saccade
from saccade.attention.catalog import catalog

ROOT = Path(saccade.__file__).parent
REPOSITORY = ROOT.parent.parent
# Each room may import itself, those before it, and those beside the line.
ROOMS = [
    "kernels",
    "attention",
    "layers",
    "readers",
    "writers",
    "search",
    "systems",
    "evaluation",
    "tasks",
    "recipes",
    "training",
    "estimators",
    "exchange",
    "lab",
    "cli",
]
BESIDE = {
    "errors": set[str](),
    "inputs": {"errors"},
    "config": {"errors", "inputs"},
    "view": {"errors"},
    "data": {"errors", "inputs", "config"},
}


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
        ("from saccade import config, tasks", {"config", "tasks"}),
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


def _allowed(room: str) -> set[str]:
    if room in BESIDE:
        return {room} | BESIDE[room]
    return set(ROOMS[: ROOMS.index(room) + 1]) | set(BESIDE)


@pytest.mark.parametrize("room", sorted(p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"))
def test_imports_run_one_way(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        assert _imports(path.read_text()) <= _allowed(room), path


def test_files_beside_the_rooms_import_only_what_is_before_them() -> None:
    for name in sorted(path.stem for path in ROOT.glob("*.py") if path.stem in BESIDE):
        assert _imports((ROOT / f"{name}.py").read_text()) <= _allowed(name), name


def test_view_does_without_torch() -> None:
    files = sorted((ROOT / "view").rglob("*.py"))
    assert len(files) > 10
    for path in files:
        text = path.read_text()
        assert "import torch" not in text, path
        assert "from torch" not in text, path


@pytest.mark.parametrize("package", ["attention", "estimators", "kernels", "layers", "search", "view"])
def test_exported_names_exist(package: str) -> None:
    module = importlib.import_module(f"saccade.{package}")
    assert all(hasattr(module, name) for name in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.skipif(not (REPOSITORY / "docs").exists(), reason="installed without the repository")
def test_documented_list_is_the_real_one() -> None:
    assert (REPOSITORY / "docs" / "catalog.md").read_text() == catalog(), (
        "run: .venv/bin/python -m saccade.attention > docs/catalog.md"
    )
