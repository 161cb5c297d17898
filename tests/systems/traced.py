"""As a program: whether `torch.compile` takes the loss of every system as one graph, and `torch.export` its output.

In a process of its own: inside a test every call is checked for its types, which torch cannot trace.
"""

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from saccade import systems
from saccade.attention import Graph
from saccade.data.tensors import Batch

from .samples import gradients
from .tiny import OF_TASKS, Tiny, loss_of, output_of, tiny

SHORT = [0, 2]  # rows that are traced: a recurrence becomes as many parts of the graph as it has steps


class Flat(nn.Module):
    """The output of a system from the tensors of its batch, which is what `torch.export` takes."""

    def __init__(self, one: Tiny, batch: Batch) -> None:
        super().__init__()
        self.model, self.batch, self.texts = one.model, batch, one.task.writer.SEARCHES

    def forward(self, *tensors: Tensor) -> Tensor:
        batch = put(self.batch, list(tensors))
        return self.model(batch).loss if self.texts else output_of(self.model, batch)


def taken(value: Any) -> list[Tensor]:
    """The tensors of nested dataclasses, in their order."""
    if isinstance(value, Tensor):
        return [value]
    parts = [getattr(value, field.name) for field in fields(value) if field.init] if _inner(value) else []
    return [tensor for part in parts for tensor in taken(part)]


def put(value: Any, tensors: list[Tensor]) -> Any:
    """The same with other tensors, which are taken from the front of the list."""
    if isinstance(value, Tensor):
        return tensors.pop(0)
    if not _inner(value):
        return value
    return replace(value, **{field.name: put(getattr(value, field.name), tensors) for field in fields(value) if field.init})


def _inner(value: Any) -> bool:
    """Whether to look into it; a graph is part of the program."""
    return is_dataclass(value) and not isinstance(value, Graph)


def compiled(one: Tiny) -> None:
    """The loss and its gradients of one graph are the eager ones."""
    torch._dynamo.reset()
    batch = one.batch(SHORT)
    graph = torch.compile(one.model, fullgraph=True, backend="eager")
    losses = [loss_of(model, batch) for model in (one.model, graph)]
    torch.testing.assert_close(losses[1], losses[0], atol=1e-4, rtol=1e-5)
    found = [gradients(one.model, loss) for loss in losses]
    torch.testing.assert_close(found[1], found[0], atol=1e-4, rtol=1e-3)


def training(one: Tiny) -> None:
    """A training step, dropout and all, is one graph."""
    torch._dynamo.reset()
    loss = loss_of(torch.compile(one.model.train(), fullgraph=True, backend="eager"), one.batch(SHORT))
    assert all(value.isfinite().all() for value in (loss, *gradients(one.model, loss).values()))


def exported(one: Tiny) -> None:
    """The exported program gives the same output."""
    torch._dynamo.reset()
    flat, inputs = Flat(one, one.batch(SHORT)), tuple(taken(one.batch(SHORT)))
    with torch.no_grad():
        program = torch.export.export(flat, inputs)
        torch.testing.assert_close(program.module()(*inputs), flat(*inputs), atol=1e-4, rtol=1e-5)


WAYS: dict[str, Callable[[Tiny], None]] = {"training": training, "exported": exported}
if os.environ.get("SACCADE_LAWS") == "full":
    WAYS["compiled"] = compiled


def everything() -> list[str]:
    """All systems, and behind a slash their further tasks with other heads."""
    several = [name for name in systems.names() if hasattr(systems.load(name), "TASKS")]
    return [*systems.names(), *(f"{name}/{task}" for name in several for task in ("label", *OF_TASKS))]


def tried(way: str, name: str) -> str:
    """Whether it worked, or why it did not."""
    try:
        WAYS[way](tiny(*name.split("/")))
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")
    return "equal"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or everything():
        for way in WAYS:
            print(name, way, tried(way, name), sep="\t", flush=True)
