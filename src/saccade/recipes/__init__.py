"""Recipes: a system, a data set, and only what differs from the defaults, in one TOML file each; and tables of them."""

from pathlib import Path

from saccade import config
from saccade.config import Table
from saccade.errors import UnknownName

_HERE = Path(__file__).parent
_TABLES = _HERE / "tables"


def names() -> list[str]:
    """All recipes."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def load(name: str) -> Table:
    """The recipe of this name."""
    if name not in names():
        raise UnknownName("recipe", name, names())
    return config.read(_HERE / f"{name}.toml")


def tables() -> list[str]:
    """All tables that `saccade reproduce` knows."""
    return sorted(path.stem for path in _TABLES.glob("*.toml"))


def table(name: str) -> Table:
    """The table of this name, as it is written."""
    if name not in tables():
        raise UnknownName("table", name, tables())
    return config.read(_TABLES / f"{name}.toml")
