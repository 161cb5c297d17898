"""What `saccade translate` does: a line for each line, as they come in."""

import os
import select
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from saccade import inputs
from saccade.cli import streams, verbs
from saccade.errors import UsageError
from saccade.task import WINDOW
from saccade.trained import TrainedModel

CHUNK = 1 << 16


def _writer(path: Path, which: str | None = None, device: str = "auto") -> TrainedModel:
    """The model of a run, if it writes text."""
    model = verbs.opened_model(path, which, device)
    if not model.kinds.writer.SEARCHES:
        fix = f"use saccade {model.kinds.writer.VERB} and saccade evaluate"
        raise UsageError(f"{path}: expected a run that writes text, got {model.system}; {fix}")
    return model


def translate(
    path: Path,
    file: str,
    words: Sequence[str],
    which: str | None,
    *,
    to: str | None,
    beam: int | None,
    n_best: int,
    length_penalty: float | None,
    scores: bool,
    precision: str,
    device: str,
    machine: bool,
) -> None:
    """A line (or n_best of them, for each language) for each line, in order, as soon as it can be had."""
    model = _writer(path, which, device)
    search = verbs.search_of(model, words, beam=beam, n_best=n_best, length_penalty=length_penalty)
    options = replace(model.options(**search), groups=_languages(model.task.writer, to))
    with verbs.opened(file) as stream, verbs.resting(model.module, precision):
        streams.as_utf8()
        done = 0
        for lines in windows(stream, "standard input" if file == "-" else file):
            for _, predictions in model.outputs(lines, options, pieces=True, first=done):
                verbs.write(predictions, scores=scores, machine=machine, named=len(options.groups) > 1)
            sys.stdout.flush()
            done += len(lines)


def _languages(writer: Any, to: str | None) -> Sequence[str]:
    """What to write in: all that are asked for, or all that the model knows."""
    known: list[str] = writer.groups()
    if to is None:
        return known
    if known == [""]:
        raise UsageError("--to: this run writes one language; leave --to out")
    wanted = [name.strip() for name in to.split(",")]
    for name in wanted:
        writer.first(name)  # refuses what it does not know
    return wanted


def windows(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lines in lists: what is there already, up to a window of them, but never waiting for more once there is one.

    A file comes in large pieces, which are quick; a person who types, or a slow program, gets each answer at once.
    """
    if not _can_wait(stream):
        lines = verbs.decoded(inputs.lines(stream, name), name)
        while window := list(islice(lines, WINDOW)):
            yield window
        return
    arriving, window = _Arriving(stream.fileno(), name), []
    for line in verbs.decoded(arriving, name):
        window.append(line)
        if len(window) == WINDOW or not arriving.ready():
            yield window
            window = []
    if window:
        yield window


def _can_wait(stream: BinaryIO) -> bool:
    """Whether the system can tell if more is there: of pipes and terminals, where there is `select`."""
    try:
        number = stream.fileno()
        return not os.path.isfile(f"/dev/fd/{number}") and os.name == "posix"
    except (OSError, ValueError):
        return False


class _Arriving:
    """Whole lines of a descriptor, read without a buffer that would hide what has arrived."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name, self.rest, self.over = number, name, b"", False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            line, end, rest = self.rest.partition(b"\n")
            if end:
                self.rest = rest
                yield line + end
            elif self.over:
                if line:
                    self.rest = b""
                    yield line
                return
            else:
                inputs.require_line(self.rest, self.name)
                chunk = os.read(self.number, CHUNK)
                self.rest, self.over = self.rest + chunk, not chunk

    def ready(self) -> bool:
        """Whether something more is there without waiting for it."""
        return b"\n" in self.rest or self.over or bool(select.select([self.number], [], [], 0)[0])
