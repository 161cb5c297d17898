"""What a task says for one input."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Prediction:
    """One text or label for one input: what it is, how likely, where was looked, and for which group."""

    text: str
    log_prob: float
    finished: bool
    labels: list[str]
    looks: dict[str, Tensor]
    group: str = ""


def nothing() -> list[Prediction]:
    """What is said of an empty line."""
    return [Prediction("", 0.0, True, [], {})]
