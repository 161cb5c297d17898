"""Recipes: a system, a data set, and only what differs from the defaults, in one TOML file each."""

from pathlib import Path

from saccade import config
from saccade.config import Table
from saccade.errors import UnknownName

_HERE = Path(__file__).parent


def names() -> list[str]:
    """All recipes."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def load(name: str) -> Table:
    """The recipe of this name."""
    if name not in names():
        raise UnknownName("recipe", name, names())
    return config.read(_HERE / f"{name}.toml")
