"""What stands around a model of one kind: how examples become batches, predictions become scores, looks become pictures.

A task's module holds `Config`, `Task` and `DATA`, the kind of data that it reads (a key of `saccade.data.KINDS`);
perhaps `TOKENS`, the kind of tokens where none is named (else that of `saccade.data.tokenizers`). A system names its task.
"""

import importlib
from types import ModuleType


def load(name: str) -> ModuleType:
    """The module of this task."""
    return importlib.import_module(f"saccade.tasks.{name}")
