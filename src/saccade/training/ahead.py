"""Batches prepared ahead, on a thread of their own, while the model computes."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch

from saccade.data.batches import BatchSource, Part
from saccade.data.tensors import moved


class Ahead:
    """A source whose next batch is made while the last one is used, and copied to the device without waiting.

    Its state is that of the batches that were taken: what was only prepared is prepared again after a restore.
    """

    def __init__(self, source: BatchSource, device: torch.device) -> None:
        self.source, self.device = source, device
        self._thread = ThreadPoolExecutor(1, "batches")
        self._next: Future[tuple[Any, dict[str, int], int]] | None = None
        self._state, self._epoch = source.state(), source.epoch

    @property
    def part(self) -> Part:
        """What of every batch this process takes."""
        return self.source.part

    @part.setter
    def part(self, part: Part) -> None:
        self._forget()
        self.source.part = part

    @property
    def epoch(self) -> int:
        """That of the batch that was taken last."""
        return self._epoch

    def next(self) -> Any:
        """The next batch, on the device."""
        future = self._next or self._thread.submit(self._made)
        batch, self._state, self._epoch = future.result()
        self._next = self._thread.submit(self._made)
        return batch

    def _made(self) -> tuple[Any, dict[str, int], int]:
        batch = self.source.next()
        if self.device.type == "cuda":
            batch = pinned(batch)
        return moved(batch, self.device), self.source.state(), self.source.epoch

    def state(self) -> dict[str, int]:
        """Where it stands."""
        return self._state

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from there."""
        self._forget()
        self.source.restore(state)
        self._state, self._epoch = self.source.state(), self.source.epoch

    def _forget(self) -> None:
        """What was prepared is not wanted: the source goes back to what was taken."""
        if self._next is not None:
            self._next.result()
            self._next = None
            self.source.restore(self._state)

    def steps(self, epochs: float) -> int:
        """How many batches so many epochs are."""
        return self.source.steps(epochs)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)


def pinned(value: Any) -> Any:
    """A tensor, or a dataclass of such, in memory from which a device copies without blocking."""
    from dataclasses import fields, is_dataclass, replace

    if isinstance(value, torch.Tensor):
        return value.pin_memory() if value.device.type == "cpu" and value.layout == torch.strided else value
    if is_dataclass(value) and not isinstance(value, type):
        inner = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        return replace(value, **{name: pinned(old) for name, old in inner.items()})
    return value
