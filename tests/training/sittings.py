"""What the tests of the loop ask of a run: its log, whether its numbers are finite, and who listens or interrupts."""

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.training.checkpoints.store import Checkpoints
from saccade.training.progress import Quiet
from saccade.training.trainer import Report


def equal(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def healthy(run: Path) -> dict[int, bool]:
    """Whether every number of each checkpoint is finite."""
    shelf = Checkpoints(run)
    found = {}
    for step in shelf.steps():
        tensors = [value for part in shelf.load(step).tensors.values() for value in part.values()]
        found[step] = all(bool(value.isfinite().all()) for value in tensors)
    return found


def lines(run: Path) -> list[dict[str, Any]]:
    """The log, read as strictly as other people's programs read it."""

    def refuse(text: str) -> None:
        raise ValueError(f"{text} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in (run / "log.jsonl").read_text().splitlines()]


class Noted(Quiet):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


class Pressed(Quiet):
    """A signal that comes in a step."""

    def __init__(self, at: int, number: signal.Signals) -> None:
        self.at, self.number = at, number

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        if report.step == self.at:
            os.kill(os.getpid(), self.number)
