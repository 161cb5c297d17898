"""What the tests of checkpoints share: contents that depend on the step alone, and processes that can be killed."""

import contextlib
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.errors import SaccadeError
from saccade.training.checkpoints.store import Checkpoint, Checkpoints

Tensors = dict[str, dict[str, Tensor]]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A directory in memory where the system allows, for these tests write to the disk thousands of times."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)


def tensors_of(step: int, size: int = 50, variant: int = 0) -> Tensors:
    """A model with a tied weight, an optimizer and a random state, the same for the same step."""
    generator = torch.Generator().manual_seed(1000 * variant + step)
    weight = torch.randn(size, 8, generator=generator)
    moment = torch.randn(size, 8, generator=generator, dtype=torch.float64)
    return {
        "model": {"embedding": weight, "output": weight, "bias": torch.zeros(8)},
        "optimizer": {"moment": moment, "step": torch.tensor(step)},
        "random": {"torch": generator.get_state()},
    }


def state_of(step: int, variant: int = 0) -> dict[str, Any]:
    return {
        "step": step,
        "variant": variant,
        "epoch": [1, {"place": step * 7}],
        "best": 0.1 * step,
        "note": "café \u2028",
    }


def save(checkpoints: Checkpoints, step: int, *, best: bool = False, variant: int = 0, size: int = 50) -> Path:
    return checkpoints.save(step, tensors_of(step, size, variant), state_of(step, variant), best=best)


def equal(one: Tensors, other: Tensors) -> bool:
    """To the last bit, names and types included."""
    if one.keys() != other.keys() or any(one[stem].keys() != other[stem].keys() for stem in one):
        return False
    pairs = [(one[stem][name], other[stem][name]) for stem in one for name in one[stem]]
    return all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


def is_whole(checkpoint: Checkpoint, size: int = 50) -> bool:
    """Whether tensors and state are those of one save of this step."""
    variant = checkpoint.state["variant"]
    expected = tensors_of(checkpoint.step, size, variant)
    return equal(checkpoint.tensors, expected) and checkpoint.state == state_of(checkpoint.step, variant)


def hidden(checkpoints: Checkpoints) -> list[str]:
    """What a killed save left behind."""
    return [path.name for path in checkpoints.folder.iterdir() if path.name.startswith(".")]


def start(work: Callable[[], None]) -> int:
    """Run this in a forked process that never comes back into the tests; its id."""
    child = os.fork()
    if child:
        return child
    try:
        torch.set_num_threads(1)
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        os._exit(99)


def end(child: int) -> int:
    """How it ended: 0 well, 9 killed, 99 by an error."""
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def die(_: object = None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refusal(kind: type[SaccadeError], checkpoints: Checkpoints, tensors: Any, state: Any = None) -> str:
    """The one line with which this is refused; nothing is written."""
    with pytest.raises(kind) as raised:
        checkpoints.save(7, tensors, {} if state is None else state)
    assert checkpoints.steps() == []
    assert "\n" not in str(raised.value)
    return str(raised.value)
