"""What a task says for one input."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor

from saccade.errors import DataError, InputError, UsageError


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


@contextmanager
def at_line(number: int) -> Iterator[None]:
    """What is wrong with an input is told with the number of its line."""
    try:
        yield
    except (DataError, UsageError) as error:
        raise InputError(number, error) from error
