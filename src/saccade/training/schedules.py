"""Learning rates as pure functions of the step: nothing to save, nothing to restore.

`step` counts updates from 1. All but the constant one rise linearly from 0 to the peak in `warmup` steps.
"""

import math
from collections.abc import Callable

from saccade.training.train_config import Config

Schedule = Callable[[int, int, int], float]  # of the step, the steps of the warm-up, and all


def constant(step: int, warmup: int, total: int) -> float:
    """The peak, after the warm-up."""
    return _rise(step, warmup)


def inverse_sqrt(step: int, warmup: int, total: int) -> float:
    """Falls as 1/√step after the warm-up (Vaswani et al. 2017, eq. 3, scaled to a peak of 1)."""
    return min(_rise(step, warmup), math.sqrt(max(warmup, 1) / step))


def linear(step: int, warmup: int, total: int) -> float:
    """Falls in a straight line, towards 0 after the last step."""
    return _rise(step, warmup) if step <= warmup else _left(step, warmup, total)


def cosine(step: int, warmup: int, total: int) -> float:
    """Falls along half a cosine, towards 0 after the last step (Loshchilov and Hutter 2017)."""
    return _rise(step, warmup) if step <= warmup else (1 - math.cos(math.pi * _left(step, warmup, total))) / 2


def _rise(step: int, warmup: int) -> float:
    return min(1.0, step / warmup) if warmup else 1.0


def _left(step: int, warmup: int, total: int) -> float:
    """The share of the way that is still to go; never 0 within the run, so that each step moves the weights."""
    return max(total + 1 - step, 0) / max(total + 1 - warmup, 1)


def stepped(config: Config, step: int) -> float:
    """Falls by a factor after every so many steps behind the warm-up (torch's StepLR)."""
    return _rise(step, config.warmup) * config.gamma ** (max(step - 1 - config.warmup, 0) // config.step_size)


SCHEDULES: dict[str, Schedule] = {
    "constant": constant,
    "inverse_sqrt": inverse_sqrt,
    "linear": linear,
    "cosine": cosine,
}


def learning_rate(config: Config, step: int) -> float:
    """The learning rate of a step."""
    if config.schedule == "step":
        return config.learning_rate * stepped(config, step)
    factor = SCHEDULES[config.schedule](step, config.warmup, config.steps)
    if step <= config.warmup or config.schedule not in ("linear", "cosine"):
        return config.learning_rate * factor
    return config.min_learning_rate + (config.learning_rate - config.min_learning_rate) * factor
