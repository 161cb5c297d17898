"""Data: examples, data sets (`sets`), the user's own files (`formats`), batching, tokenizers.

A data set is a module with `INPUT` and `TARGET`, the types of what its examples hold, `Config` and `load(config)`.
"""

import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType

from saccade.errors import UnknownName

_HERE = Path(__file__).parent
_DECLARED = re.compile(r"^INPUT\b", re.MULTILINE)


@cache
def names() -> dict[str, str]:
    """All data sets and formats, and the module of each; found without importing one."""
    files = [path for room in ("sets", "formats") for path in sorted((_HERE / room).glob("*.py"))]
    declared = [path for path in files if _DECLARED.search(path.read_text(encoding="utf-8"))]
    return {path.stem: f"saccade.data.{path.parent.name}.{path.stem}" for path in declared}


def dataset(name: str) -> ModuleType:
    """The module of this data set."""
    if name not in names():
        raise UnknownName("data set", name, names())
    return importlib.import_module(names()[name])
