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
    "systems",
    "search",
    "evaluation",
    "tasks",
    "recipes",
    "training",
    "estimators",
    "exchange",
    "lab",
    "cli",
]
BESIDE = {"errors": set[str](), "config": {"errors"}, "view": {"errors"}, "data": {"errors", "config"}}


def _imports(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
        rooms |= {module.split(".")[1] for module in modules if module.startswith("saccade.")}
    return rooms


def _allowed(room: str) -> set[str]:
    if room in BESIDE:
        return {room} | BESIDE[room]
    return set(ROOMS[: ROOMS.index(room) + 1]) | set(BESIDE)


@pytest.mark.parametrize("room", sorted(p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"))
def test_imports_run_one_way(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        assert _imports(path) <= _allowed(room), path


def test_view_does_without_torch() -> None:
    for path in (ROOT / "view").rglob("*.py"):
        assert "import torch" not in path.read_text(), path


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
