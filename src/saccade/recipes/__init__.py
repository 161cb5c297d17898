"""Recipes: a system, a data set, and only what differs from the defaults, in one TOML file each; and tables of them."""

from pathlib import Path

from saccade import config
from saccade.config import Table
from saccade.errors import UnknownName

_HERE = Path(__file__).parent
_TABLES = _HERE / "tables"


def names() -> list[str]:
    """All recipes."""
    return _stems(_HERE)


def load(name: str) -> Table:
    """The recipe of this name."""
    return _read(_HERE, name, "recipe")


def tables() -> list[str]:
    """All tables that `saccade reproduce` knows."""
    return _stems(_TABLES)


def table(name: str) -> Table:
    """The table of this name, as it is written."""
    return _read(_TABLES, name, "table")


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def _read(folder: Path, name: str, kind: str) -> Table:
    if name not in _stems(folder):
        raise UnknownName(kind, name, _stems(folder))
    return config.read(folder / f"{name}.toml")
