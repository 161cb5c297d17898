"""Ctrl-C and its kin, seen between two steps, so that a checkpoint can be written first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from saccade.errors import SaccadeError


@dataclass
class Signals:
    """The signal that asked for the end, if one did."""

    number: int = 0
    deaf: bool = False
    """Whether further ones are passed over, because a checkpoint is being written that is the last chance."""


class Interrupted(SaccadeError):  # noqa: N818 - reads as what it is
    """Somebody asked for the end: 130 for Ctrl-C, 143 for a polite kill."""

    agreed = True

    def __init__(self, text: str, number: int, *, fix: str = "") -> None:
        super().__init__(text, fix=fix)
        self.exit_code = 128 + number


def _numbers() -> list[signal.Signals]:
    """What is listened to; not the end of the session where nohup made the program deaf to it."""
    present = [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
    return [number for number in present if number.name != "SIGHUP" or signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def watched() -> Iterator[Signals]:
    """Inside the block the first signal is noted, the second one ends the program at once."""
    seen = Signals()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may listen
        yield seen
        return

    def note(number: int, frame: FrameType | None) -> None:
        if seen.deaf:
            return
        if seen.number:
            raise KeyboardInterrupt
        seen.number = number

    before = {number: signal.signal(number, note) for number in _numbers()}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
