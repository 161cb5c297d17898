"""Readers, one file per kind of input: inputs to tensors, what a person types to examples, and the axes of a drawing.

A system names its reader (`READS`). The module holds `Config` and `Reader`.
"""

import importlib
from types import ModuleType


def load(name: str) -> ModuleType:
    """The module of this reader."""
    return importlib.import_module(f"saccade.readers.{name}")
