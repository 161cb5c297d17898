"""Ctrl-C and its kin, seen between two steps, so that a checkpoint can be written first."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from saccade import processes
from saccade.errors import SaccadeError

ECHO = 5.0  # seconds in which torchrun passes on a signal that its processes have got already, as those of a terminal


@dataclass
class Signals:
    """The signal that asked for the end, if one did."""

    number: int = 0
    since: float = 0.0
    """When it came."""
    deaf: bool = False
    """Whether further ones are passed over, because a checkpoint is being written that is the last chance."""


class Interrupted(SaccadeError):  # noqa: N818 - reads as what it is
    """Somebody asked for the end: 130 for Ctrl-C, 143 for a polite kill."""

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
        echo = processes.launched() > 1 and time.monotonic() - seen.since < ECHO
        if seen.deaf or (seen.number and echo):
            return
        if seen.number:
            raise KeyboardInterrupt
        seen.number, seen.since = number, time.monotonic()

    before = {number: signal.signal(number, note) for number in _numbers()}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
