"""Writers, one file per kind of output: targets to tensors, what a system puts out to predictions, predictions to scores.

A system names its writer (`WRITES`). The module holds `Config` and `Writer`.
"""

import importlib
from types import ModuleType


def load(name: str) -> ModuleType:
    """The module of this writer."""
    return importlib.import_module(f"saccade.writers.{name}")
