"""The one loop: batches from their source, gradients, one update, again.

`Trainer.steps()` is a generator that yields after each update. Between two yields everything that the next one depends on
is in `Trainer.tensors()` and `Trainer.state()`: a run that goes on from them is the run that was never stopped, bit for bit.
All that it knows of a model is `forward(batch) -> Output(loss, count, metrics)`.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from saccade.data.batches import BatchSource
from saccade.errors import SaccadeError
from saccade.training.memory import optimizer_tensors, random_tensors, restore_optimizer, restore_random
from saccade.training.schedules import learning_rate
from saccade.training.train_config import Config

SKIPS = 3  # updates in a row without a finite gradient that end a run
FUSED = ("cpu", "cuda", "xpu", "mps")  # devices with fused optimizers


@dataclass(frozen=True)
class Report:
    """One update, as told to the log and the progress bar."""

    step: int
    epoch: int
    tokens: int
    loss: float
    learning_rate: float
    grad_norm: float
    seconds: float
    skipped: bool
    metrics: Mapping[str, float] = field(default_factory=dict)


class NotFinite(SaccadeError):  # noqa: N818 - reads as what it is
    """Gradients that are not numbers, again and again: the run is ended before its weights are spoiled."""


def parameter_groups(model: nn.Module, config: Config) -> list[dict[str, Any]]:
    """The parameters that decay, and those that do not."""
    every = list(model.parameters())
    if config.decay == "all":
        return [{"params": every, "weight_decay": config.weight_decay}]
    decayed = [one for one in every if one.dim() >= 2]
    others = [one for one in every if one.dim() < 2]
    return [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]


def make_optimizer(model: nn.Module, config: Config) -> torch.optim.Optimizer:
    """Torch's optimizer of this name; fused, which is one pass over memory, where torch has that."""
    groups, rate = parameter_groups(model, config), config.learning_rate
    fused = next(model.parameters()).device.type in FUSED
    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(groups, rate, alpha=config.alpha, momentum=config.momentum)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, rate, momentum=config.momentum, fused=fused)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, rate, betas=(config.beta1, config.beta2), fused=fused)


class Trainer:
    """A model in training: parameters, optimizer, source of batches, random states."""

    def __init__(self, model: nn.Module, batches: BatchSource, config: Config) -> None:
        self.model, self.batches, self.config = model, batches, config
        self.device = next(model.parameters()).device
        self.optimizer = make_optimizer(model, config)
        self.step = 0
        self.tokens = 0
        self.skips = 0

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
        self.optimizer.zero_grad(set_to_none=True)
        outputs = [self._backward() for _ in range(self.config.accumulate)]
        self.step += 1
        losses, counts, metrics, squares = self._measured(outputs)
        count = round(sum(counts))
        total = sum(loss / count for loss in losses)
        norm = math.sqrt(sum(squares)) / count
        rate = learning_rate(self.config, self.step)
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
        means = {name: value / count for name, value in metrics.items()}
        return Report(self.step, self.batches.epoch, self.tokens, total, rate, norm, seconds, skipped, means)

    def _backward(self) -> Any:
        """The output of the next batch, whose gradient is added to the others."""
        output = self.model(self.batches.next().to(self.device))
        output.loss.backward()
        return output

    def _measured(self, outputs: Sequence[Any]) -> tuple[list[float], list[float], dict[str, float], list[float]]:
        """Losses, counts, summed metrics and squared norms of the gradients, brought to the host at once."""
        names = list(outputs[0].metrics)
        numbers = [one.loss for one in outputs] + [torch.as_tensor(one.count) for one in outputs]
        numbers += [one.metrics[name] for one in outputs for name in names]
        gradients = (weight.grad.flatten() for weight in self.model.parameters() if weight.grad is not None)
        numbers += [torch.dot(gradient, gradient) for gradient in gradients]
        values = torch.stack([number.detach().to(self.device).double() for number in numbers]).tolist()
        batches = len(outputs)
        first = 2 * batches + batches * len(names)
        sums = {name: sum(values[2 * batches + i : first : len(names)]) for i, name in enumerate(names)}
        return values[:batches], values[batches : 2 * batches], sums, values[first:]

    def _move(self, divisor: float) -> None:
        """Update by the gradient divided by so much. A fused optimizer divides on the way, without a pass of its own."""
        if self.optimizer.defaults.get("fused"):
            scale = torch.tensor(divisor, dtype=torch.float32, device=self.device)
            self.optimizer.grad_scale = scale  # type: ignore[attr-defined]
        else:
            torch._foreach_div_([weight.grad for weight in self.model.parameters() if weight.grad is not None], divisor)
        self.optimizer.step()

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """All that is numbers: parameters, the optimizer's moments, random states."""
        return {
            "model": dict(self.model.state_dict()),
            "optimizer": optimizer_tensors(self.model, self.optimizer),
            "random": random_tensors(),
        }

    def state(self) -> dict[str, Any]:
        """All that is not: where the run stands."""
        return {"step": self.step, "tokens": self.tokens, "skips": self.skips, "batches": self.batches.state()}

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.model.load_state_dict(tensors["model"])
        restore_optimizer(self.model, self.optimizer, tensors["optimizer"])
        restore_random(tensors["random"])
        self.step, self.tokens, self.skips = state["step"], state["tokens"], state["skips"]
        self.batches.restore(state["batches"])
