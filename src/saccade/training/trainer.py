"""The one loop: batches in an order drawn from (seed, epoch), gradients, one update, again.

`Trainer.steps()` is a generator that yields after each update. Between two yields everything that the next one depends on
is in `Trainer.tensors()` and `Trainer.state()`: a run that goes on from them is the run that was never stopped, bit for bit.
"""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.data.batches import Cursor, plan
from saccade.errors import DataError, SaccadeError, UsageError
from saccade.systems.system import Labeler, System
from saccade.training.config import Config
from saccade.training.memory import optimizer_tensors, random_tensors, restore_optimizer, restore_random
from saccade.training.schedules import SCHEDULES

SKIPS = 3  # updates in a row without a finite gradient that end a run


class Batch(Protocol):
    """What a model's loss is computed on."""

    @property
    def tokens(self) -> int:
        """How many things are predicted; losses are averaged over them."""
        ...


class Corpus(Protocol):
    """Encoded examples: the lengths that batches are planned by, and the batch of some of them."""

    lengths: NDArray[np.int64]

    def batch(self, indices: NDArray[np.int64]) -> Batch: ...


@dataclass(frozen=True)
class Report:
    """One update, as told to the log and the progress bar."""

    step: int
    epoch: int
    tokens: int
    loss: float
    rate: float
    grad_norm: float
    seconds: float
    skipped: bool


class NotFinite(SaccadeError):  # noqa: N818 - reads as what it is
    """Gradients that are not numbers, again and again: the run is ended before its weights are spoiled."""


def make_optimizer(model: nn.Module, config: Config) -> torch.optim.Optimizer:
    """Torch's optimizer of this name over all weights; fused, which is one pass over memory."""
    weights = list(model.parameters())
    if config.optimizer == "sgd":
        return torch.optim.SGD(weights, config.rate, momentum=config.momentum, weight_decay=config.weight_decay, fused=True)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    betas = (config.momentum, config.second_beta)
    return kind(weights, config.rate, betas=betas, weight_decay=config.weight_decay, fused=True)


class Trainer:
    """A model on its way: weights, optimizer, place in the data, random states."""

    def __init__(self, model: System, corpus: Corpus, config: Config) -> None:
        if config.agreement and not isinstance(model, Labeler):
            name = type(model).__module__.rpartition(".")[2]
            raise UsageError(f"train.agreement: expected a system that writes one label, got {name}; leave it at 0")
        self.model, self.corpus, self.config = model, corpus, config
        self.optimizer = make_optimizer(model, config)
        self.step = 0
        self.tokens = 0
        self.skips = 0
        self.cursor = Cursor()
        self._plan: tuple[int, list[NDArray[np.int64]]] = (-1, [])

    def steps(self) -> Iterator[Report]:
        """Update by update, up to the last."""
        while True:
            if self.skips >= SKIPS:
                raise NotFinite(f"no finite gradient in {SKIPS} steps in a row, up to step {self.step}")
            if self.step >= self.config.steps:
                return
            self.model.train()
            yield self._update()

    def _update(self) -> Report:
        started = time.perf_counter()
        batches = [self._next() for _ in range(self.config.accumulate)]
        count = sum(batch.tokens for batch in batches)
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for batch in batches:
            loss = self._loss(batch)
            loss.backward()
            total += loss.item() / count
        self.step += 1
        norm = self._norm() / count
        rate = self.config.rate * SCHEDULES[self.config.schedule](self.step, self.config.warmup, self.config.steps)
        skipped = not (math.isfinite(norm) and math.isfinite(total))
        self.skips = self.skips + 1 if skipped else 0
        if skipped:
            self.optimizer.zero_grad(set_to_none=True)
        else:
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self._move(count * max(1.0, norm / self.config.clip if self.config.clip else 0.0))
        self.tokens += count
        seconds = time.perf_counter() - started
        return Report(self.step, self.cursor.epoch, self.tokens, total, rate, norm, seconds, skipped)

    def _loss(self, batch: Batch) -> Tensor:
        if not self.config.agreement:
            return self.model.loss(batch, self.config.smoothing)
        assert isinstance(self.model, Labeler)
        return self.model.agreeing_loss(batch, self.config.smoothing, self.config.agreement)

    def _norm(self) -> float:
        """The length of the summed gradient."""
        gradients = (weight.grad.flatten() for weight in self.model.parameters() if weight.grad is not None)
        return math.sqrt(sum(float(torch.dot(gradient, gradient)) for gradient in gradients))

    def _move(self, divisor: float) -> None:
        """Update by the gradient divided by so much: the optimizer does it on the way, and no pass of its own is needed."""
        device = next(self.model.parameters()).device
        self.optimizer.grad_scale = torch.tensor(divisor, dtype=torch.float32, device=device)  # type: ignore[attr-defined]
        self.optimizer.step()

    def _next(self) -> Batch:
        """The next batch; after the last of an epoch comes the first of the following."""
        if self._plan[0] != self.cursor.epoch:
            self._plan = (self.cursor.epoch, self._planned(self.cursor.epoch))
        batches = self._plan[1]
        if self.cursor.position >= len(batches):
            self.cursor = Cursor(self.cursor.epoch + 1)
            return self._next()
        indices = batches[self.cursor.position]
        self.cursor = Cursor(self.cursor.epoch, self.cursor.position + 1)
        return self.corpus.batch(indices)

    def _planned(self, epoch: int) -> list[NDArray[np.int64]]:
        batches = plan(self.corpus.lengths, self.config.max_tokens, self.config.seed, epoch)
        if not batches:
            raise DataError("there is nothing to train on: the training data is empty")
        return batches

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All that is numbers: weights, the optimizer's moments, random states."""
        return {
            "model": dict(self.model.state_dict()),
            "optimizer": optimizer_tensors(self.model, self.optimizer),
            "random": random_tensors(),
        }

    def state(self) -> dict[str, Any]:
        """All that is not: where the run stands."""
        return {
            "step": self.step,
            "tokens": self.tokens,
            "skips": self.skips,
            "epoch": self.cursor.epoch,
            "position": self.cursor.position,
        }

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.model.load_state_dict(tensors["model"])
        restore_optimizer(self.model, self.optimizer, tensors["optimizer"])
        restore_random(tensors["random"])
        self.step, self.tokens, self.skips = state["step"], state["tokens"], state["skips"]
        self.cursor = Cursor(state["epoch"], state["position"])
