"""Recording what a model attends to through the operator, inside a `with` block, by module; `saccade.inside` sees the rest.

with looking(model) as looks:
    model(batch)
looks["encoder.0.attention"][0].weights(heads=3)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Union

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from saccade.errors import SaccadeError, UnknownName

if TYPE_CHECKING:
    from saccade.attention.attended import Attended
    from saccade.attention.edges import AttendedEdges
    from saccade.attention.gated import Gated

Recorded = Union["Attended", "AttendedEdges", "Gated", Any]  # or whatever a module keeps of where it looked


class Later:
    """A look that is put together when it is asked for, from tensors that are kept by reference until then."""

    def __init__(self, make: Callable[..., Recorded], tensors: Sequence[Tensor]) -> None:
        self._make, self.tensors = make, list(tensors)
        self._versions = [_version(tensor) for tensor in tensors]
        self._learns = torch.is_grad_enabled()

    def keep(self, storage: int) -> None:
        """Copy what lies in this storage: it is about to be changed."""
        for index, tensor in enumerate(self.tensors):
            if tensor.untyped_storage().data_ptr() == storage:
                self.tensors[index] = tensor.clone()
                self._versions[index] = _version(self.tensors[index])

    def look(self, name: str) -> Recorded:
        """The look itself; SaccadeError if what it is computed from is no longer what it was."""
        if [_version(tensor) for tensor in self.tensors] != self._versions:
            fix = "look before the next step changes it, or copy it there"
            raise SaccadeError(f"module {name!r}: queries, keys or a mask were changed in place after the call; {fix}")
        with torch.set_grad_enabled(self._learns):
            return self._make(*self.tensors)


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


class Looks(Mapping[str, list[Recorded]]):
    """What was seen, in order, under the qualified name of the innermost module that was running ("" for the root)."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Recorded]] = {}
        self._running: list[str] = []

    def __getitem__(self, name: str) -> list[Recorded]:
        if name not in self._seen:
            raise UnknownName("module that looked", name, self._seen)
        seen = self._seen[name]
        seen[:] = [one.look(name) if isinstance(one, Later) else one for one in seen]
        return seen

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def __repr__(self) -> str:
        return f"Looks({', '.join(f'{name!r}: {len(calls)}' for name, calls in self._seen.items())})"

    def add(self, look: Recorded | Later, name: str | None = None) -> None:
        """Keep a look under this name, or that of the module that is running; if none is, it is not the module's look."""
        if name is None and self._running:
            name = self._running[-1]
        if name is not None:
            self._seen.setdefault(name, []).append(look)


_recording: ContextVar[Looks | None] = ContextVar("saccade_looks", default=None)


@contextmanager
def looking(module: nn.Module) -> Iterator[Looks]:
    """Keep every look that happens inside the block, by module; nothing is put on the modules."""
    looks = Looks()
    names = {id(part): name for name, part in module.named_modules()}

    def enter(part: nn.Module, inputs: object) -> None:
        if not torch.compiler.is_compiling() and id(part) in names:
            looks._running.append(names[id(part)])

    def leave(part: nn.Module, inputs: object, output: object) -> None:
        if not torch.compiler.is_compiling() and id(part) in names:
            looks._running.pop()

    # Hooks on the modules themselves would close the fast path of torch's own Transformer layers.
    # always_call: also when the module raises, so that the names stay in step.
    handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
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
