"""The one loop: batches from their source, gradients, one update, again.

`Trainer.steps()` is a generator that yields after each update. Between two yields everything that the next one depends on
is in `Trainer.tensors()` and `Trainer.state()`: a run that goes on from them is the run that was never stopped, bit for bit.
All that it knows of a model is `forward(batch) -> Output(loss, count, metrics)`.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from saccade.data.batches import BatchSource
from saccade.errors import SaccadeError, UsageError
from saccade.training.ahead import Ahead
from saccade.training.layer_rates import FACTOR, by_layer
from saccade.training.memory import optimizer_tensors, random_tensors, restore_optimizer, restore_random
from saccade.training.parallel import Parallel, optimized
from saccade.training.precision import Casting
from saccade.training.schedules import learning_rate
from saccade.training.split_tensors import like
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
    stop: bool = False
    """Whether any of several processes was asked to end."""
    examples: int = 0
    """Examples of this sitting so far; the tokens are those of the whole run."""


class NotFinite(SaccadeError):  # noqa: N818 - reads as what it is
    """Gradients that are not numbers, again and again: the run is ended before its weights are spoiled."""


def parameter_groups(model: nn.Module, config: Config) -> list[dict[str, Any]]:
    """The parameters that are trained: those that decay, those that do not; with layer_decay, by their share of the rate."""
    every = [one for one in model.parameters() if one.requires_grad]
    if config.decay == "all":
        groups = [{"params": every, "weight_decay": config.weight_decay}]
    else:
        decayed = [one for one in every if one.dim() >= 2]
        others = [one for one in every if one.dim() < 2]
        groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return groups if config.layer_decay == 1.0 else by_layer(model, groups, config.layer_decay)


def make_optimizer(model: nn.Module, config: Config) -> torch.optim.Optimizer:
    """Torch's optimizer of this name; fused, which is one pass over memory, where torch has that."""
    groups, rate = optimized(parameter_groups(model, config)), config.learning_rate
    first = next(model.parameters())
    # A fused optimizer takes no parameters that are split over processes.
    fused = first.device.type in FUSED and not any(hasattr(one, "placements") for one in model.parameters())
    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(groups, rate, alpha=config.alpha, momentum=config.momentum)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, rate, momentum=config.momentum, fused=fused)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, rate, betas=(config.beta1, config.beta2), fused=fused)


class Trainer:
    """A model in training: parameters, optimizer, source of batches, random states."""

    def __init__(self, model: nn.Module, batches: BatchSource, config: Config) -> None:
        self.model, self.config = model, config
        self.parallel = Parallel(model, config)
        self.device = self.parallel.device
        self.casting = Casting(config.precision, self.device)
        if self.parallel.sharded and self.casting.precision == "fp16":
            raise UsageError("train.precision=fp16: expected whole parameters, got split ones; use bf16")
        self.batches: BatchSource = Ahead(batches, self.device) if config.prefetch else batches
        self.batches.part = self.parallel.layout.part
        self.optimizer = make_optimizer(model, config)
        self.asked: Callable[[], bool] = lambda: False  # whether this process was asked to end
        self.step = 0
        self.tokens = 0
        self.skips = 0
        self.examples = 0  # of all processes, since this one began

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
        last = self.config.accumulate - 1
        outputs = [self._backward(last=number == last) for number in range(self.config.accumulate)]
        own = sum(examples for _, examples in outputs)
        self.step += 1
        self.casting.unscale(self.optimizer)
        losses, counts, metrics, squares, examples, asked = self._measured([output for output, _ in outputs], own)
        count = round(sum(counts))
        total = sum(loss / count for loss in losses)
        averaged = self.parallel.averaged
        norm = math.sqrt(sum(squares)) * averaged / count
        rate = learning_rate(self.config, self.step)
        skipped = not (math.isfinite(norm) and math.isfinite(total))
        if skipped:
            self.optimizer.zero_grad(set_to_none=True)
        else:
            for group in self.optimizer.param_groups:
                group["lr"] = rate * group.get(FACTOR, 1.0)
            self._move(count / averaged * max(1.0, norm / self.config.clip if self.config.clip else 0.0))
        harmless = self.casting.update()  # a scale that was too large, and is smaller now
        self.skips = self.skips + 1 if skipped and not harmless else 0
        self.tokens += count
        self.examples += examples
        seconds = time.perf_counter() - started
        means = {name: value / count for name, value in metrics.items()}
        where = (self.step, self.batches.epoch, self.tokens)
        return Report(*where, total, rate, norm, seconds, skipped, means, asked, self.examples)

    def _backward(self, last: bool) -> tuple[Any, int]:
        """The output of the next batch, whose gradient is added to the others, and how many examples it has."""
        batch = self.batches.next().to(self.device)
        with self.parallel.accumulating(last):
            with self.casting.autocast():
                output = self.parallel.forward(batch)
            output = _counting_nothing(output) if batch.idle else output
            self.casting.scaled(output.loss).backward()
        return output, 0 if batch.idle else len(batch.target)

    def _measured(
        self, outputs: Sequence[Any], examples: int
    ) -> tuple[list[float], list[float], dict[str, float], list[float], int, bool]:
        """Losses, counts, summed metrics and squared norms of the gradients of all processes, brought to the host at once,
        their examples, and whether any process was asked to end."""
        names = list(outputs[0].metrics)
        numbers = list(torch.tensor([float(self.asked()), float(examples)]))
        numbers += [one.loss for one in outputs] + [torch.as_tensor(one.count) for one in outputs]
        numbers += [one.metrics[name] for one in outputs for name in names]
        squares = self.parallel.squares()
        numbers = [number.detach().to(self.device).double() for number in (*numbers, *squares)]
        asked, seen, *values = self.parallel.total(torch.stack(numbers), len(squares)).tolist()
        batches = len(outputs)
        first = 2 * batches + batches * len(names)
        sums = {name: sum(values[2 * batches + i : first : len(names)]) for i, name in enumerate(names)}
        return values[:batches], values[batches : 2 * batches], sums, values[first:], round(seen), asked > 0

    def _move(self, divisor: float) -> None:
        """Update by the gradient divided by so much. A fused optimizer divides on the way, without a pass of its own."""
        if self.optimizer.defaults.get("fused"):
            scale = torch.tensor(divisor, dtype=torch.float32, device=self.device)
            self.optimizer.grad_scale = scale  # type: ignore[attr-defined]
        else:
            gradients = [weight.grad for weight in self.model.parameters() if weight.grad is not None]
            for kind in (False, True):
                if own := [one for one in gradients if hasattr(one, "placements") == kind]:
                    torch._foreach_div_(own, divisor)
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
        where = {"step": self.step, "tokens": self.tokens, "skips": self.skips, "batches": self.batches.state()}
        return {**where, "scaler": scaler} if (scaler := self.casting.state()) else where

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
        """Go on from there."""
        present = self.model.state_dict()
        self.model.load_state_dict({name: like(value, present[name]) for name, value in tensors["model"].items()})
        restore_optimizer(self.model, self.optimizer, tensors["optimizer"])
        own = f"random_{self.parallel.layout.place}"
        if own in tensors or self.parallel.layout.place == 0:
            restore_random(tensors["random" if "random" in tensors else own])
        else:  # there were fewer processes
            self.parallel.seed(self.config.seed + state["step"])
        self.step, self.tokens, self.skips = state["step"], state["tokens"], state["skips"]
        self.batches.restore(state["batches"])
        self.casting.restore(state.get("scaler", {}))

    def close(self) -> None:
        """End what works beside the loop."""
        if isinstance(self.batches, Ahead):
            self.batches.close()


def _counting_nothing(output: Any) -> Any:
    """An output whose examples count nothing; its loss still reaches all parameters, as that of the others does."""
    nothing = {name: value * 0.0 for name, value in output.metrics.items()}
    return replace(output, loss=output.loss * 0.0, count=0, metrics=nothing)
