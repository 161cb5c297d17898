"""Recording the attention of a model inside a `with` block; the model needs no flag for it, and nothing stays on it.

with looking(model) as looks:
    model(batch)
looks["encoder.0.attention"][0].weights(heads=3)
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Union

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from saccade.errors import UnknownName

if TYPE_CHECKING:
    from saccade.attention.attended import Attended
    from saccade.attention.edges import AttendedEdges
    from saccade.attention.gated import Gated

Recorded = Union["Attended", "AttendedEdges", "Gated", Any]  # or whatever a module keeps of where it looked


class Looks(Mapping[str, list[Recorded]]):
    """What was seen, in order, under the qualified name of the innermost module that was running ("" for the root)."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Recorded]] = {}
        self._running: list[str] = []

    def __getitem__(self, name: str) -> list[Recorded]:
        if name not in self._seen:
            raise UnknownName("module that looked", name, self._seen)
        return self._seen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def __repr__(self) -> str:
        return f"Looks({', '.join(f'{name!r}: {len(calls)}' for name, calls in self._seen.items())})"

    def add(self, look: Recorded) -> None:
        """Keep a look under the part of the module that is running now; if none is, it is not the module's look."""
        if self._running:
            self._seen.setdefault(self._running[-1], []).append(look)

    def _hook(self, module: nn.Module, name: str) -> list[RemovableHandle]:
        def enter(module: nn.Module, inputs: object) -> None:
            self._running.append(name)

        def leave(module: nn.Module, inputs: object, output: object) -> None:
            self._running.pop()

        # always_call: also when the module raises, so that the names stay in step.
        return [module.register_forward_pre_hook(enter), module.register_forward_hook(leave, always_call=True)]


_recording: ContextVar[Looks | None] = ContextVar("saccade_looks", default=None)


@contextmanager
def looking(module: nn.Module) -> Iterator[Looks]:
    """Keep every look that happens inside the block, by module; nothing stays on the modules afterwards."""
    looks = Looks()
    handles = [handle for name, part in module.named_modules() for handle in looks._hook(part, name)]
    token = _recording.set(looks)
    try:
        yield looks
    finally:
        _recording.reset(token)
        for handle in handles:
            handle.remove()


def record(look: Recorded) -> None:
    """Called by the operator on every look. A graph that torch compiles or exports computes outputs alone."""
    if torch.compiler.is_compiling():
        return
    looks = _recording.get()
    if looks is not None:
        looks.add(look)
