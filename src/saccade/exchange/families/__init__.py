"""Published layouts, one file per family. A family's name is its module's name: the `model_type` of a config.json.

A module holds the table of names both ways, and the tokenizer:

    SYSTEM          the system of ours that its models are
    NEEDS           for each system that can be written in this layout: keys of its settings, and what they may say
    ARCHITECTURE    the class of transformers that opens it
    read            the model in a directory in our words: config, reader, writer, search
    tensor_names    the names that one of our parameters has there; the first is the one that is written
    tensor_shape    the shape that it has there
    LAYOUTS         by what our names end with: which tensors are transposed there, or joined with others
    is_computed     whether a tensor of theirs holds nothing but what is computed here
    write           a run as a directory of this layout
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from torch import Tensor

from saccade.errors import DataError
from saccade.exchange.layouts import TensorLayout
from saccade.task import Task
from saccade.trained import TrainedModel

_HERE = Path(__file__).parent

Needs = Mapping[str, Mapping[str, Sequence[Any]]]
# What another runtime knows of attention.
PLAIN_ATTENTION = {
    "model.score": ("scaled_dot",),
    "model.normalize": ("softmax",),
    "model.mask": ("none",),
    "model.mixer": ("attention",),
}


@dataclass(frozen=True)
class PublishedModel:
    """What a directory says of a model, beside its parameters: our config, reader and writer, keys of the search, and the
    files of its tokenizer that an export hands on."""

    config: Any
    task: Task
    search: Mapping[str, Any]
    files: Sequence[Path] = ()
    task_name: str = ""
    "Which of its system's tasks its head is for; empty: the first."


class Family(Protocol):
    """What a module of this package holds."""

    SYSTEM: str
    NEEDS: Needs
    ARCHITECTURE: str
    LAYOUTS: Mapping[str, TensorLayout]

    def read(self, path: Path, table: Mapping[str, Any], given: Mapping[str, Tensor]) -> PublishedModel:
        """The model in a directory, whose config.json is `table` and whose tensors are `given`."""
        ...

    def tensor_names(self, name: str) -> Sequence[str]:
        """The names that one of our parameters may have there; the first is the one that is written."""
        ...

    def tensor_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that one of our parameters has there."""
        ...

    def is_computed(self, name: str, tensor: Tensor) -> bool:
        """Whether a tensor of theirs holds nothing but what is computed here."""
        ...

    def write(self, model: TrainedModel, out: Path) -> None:
        """Write the run as a directory of this layout."""
        ...


def names() -> list[str]:
    """All families."""
    return sorted(path.stem for path in _HERE.glob("*.py") if path.stem != "__init__")


def load(name: str) -> Family:
    """The module of this family."""
    return cast(Family, importlib.import_module(f"saccade.exchange.families.{name}"))


def named_in(table: Mapping[str, Any], path: Path) -> Family:
    """The family that a config.json names."""
    name = table.get("model_type")
    if name not in names():
        known = ", ".join(names())
        raise DataError(f"{path}: expected model_type one of {known}, got {name!r:.40}; no other layout can be imported yet")
    return load(name)
