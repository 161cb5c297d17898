"""Standard output: what it can encode, and what becomes of it when nobody reads any more."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from saccade import processes

WAIT = 3600.0  # seconds that processes wait for the slowest


def never_refuse() -> None:
    """What the terminal cannot write comes as an escape, as it does on standard error, and not as an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def as_utf8() -> None:
    """For output that is data, as all our input is UTF-8: in a file, an escape would be a wrong text."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def drop_output() -> None:
    """Send what is still to be written nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def shared_out() -> Iterator[None]:
    """In this block processes that torchrun has started compute together, and only the first of them is heard."""
    with processes.joined():
        processes.connect(WAIT)
        if processes.own():
            drop_output()
        yield
