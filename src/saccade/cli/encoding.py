"""What `saccade fill`, `saccade embed` and `saccade finetune` do with encoders that were pre-trained."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from saccade import config, durable_files, inputs
from saccade.cli import streams, verbs
from saccade.errors import DataError, InputError, UsageError
from saccade.training.config_history import CONFIG
from saccade.training.settings import START, TASK
from saccade.view.output.display_text import visible
from saccade.writers import masked
from saccade.writers.writer import Prediction

FILES = (".npy", ".jsonl")


def fill(path: Path, text: str, n_best: int, which: str | None, *, device: str, machine: bool) -> None:
    """Print the likeliest tokens for each hidden one of a text."""
    verbs.require_few(n_best)
    model = verbs.opened_model(path, which, device)
    if not isinstance(model.task.writer, masked.Writer):
        fix = f"use saccade {model.task.writer.VERB}"
        raise UsageError(f"{path}: expected a model that fills in tokens, got one for another task; {fix}")
    mask = model.task.reader.mask
    if mask not in text:
        raise UsageError(f"expected a text with {mask} where a token is to be filled in, got {text[:60]!r}; write it there")
    best = model.predict(text, n_best=n_best)
    every = [best, *best.alternatives]
    places = range(len(best.tokens))
    if machine:
        found = [[{"token": one.tokens[i], "probability": _share(one, i)} for one in every] for i in places]
        print(json.dumps({"text": best.text, "masks": found}, ensure_ascii=False))
        return
    streams.as_utf8()
    print(visible(best.text))
    for i in places:
        if len(places) > 1:
            print(f"{mask} {i + 1}:")
        for one in every:
            print(f"  {100 * _share(one, i):6.2f}%  {visible(one.tokens[i])}")


def _share(one: Prediction, place: int) -> float:
    assert one.token_probabilities is not None
    return float(one.token_probabilities[place])


def embed(
    path: Path,
    file: str,
    out: Path | None,
    which: str | None,
    *,
    pool: Literal["mean", "first"] | None,
    normalized: bool | None,
    device: str,
    machine: bool,
) -> None:
    """Write a vector for each text: into a file, or as JSON lines."""
    if out is not None and out.suffix not in FILES:
        raise UsageError(f"--out: expected a file {' or '.join(f'*{one}' for one in FILES)}, got {out}; rename it")
    model = verbs.opened_model(path, which, device)
    with verbs.opened(file) as stream:
        name = "standard input" if file == "-" else file
        listed = model.listed(file)
        texts = verbs.decoded(inputs.lines(stream, name), name) if listed is None else iter(listed)
        rows = _told(model.vectors(texts, pool=pool, normalized=normalized), name)
        count = _written(rows, out)
    if out is not None and not machine:
        print(f"{out}: {count:,} vectors", file=sys.stderr)
    elif out is not None:
        print(json.dumps({"file": str(out), "vectors": count}))


def _told(rows: Iterable[NDArray[np.float32]], name: str) -> Iterator[NDArray[np.float32]]:
    """The vectors; what is wrong with a line is told with its number."""
    try:
        yield from rows
    except InputError as error:
        raise DataError(f"{name}:{error.line}: {error.cause}") from None


def _written(rows: Iterator[NDArray[np.float32]], out: Path | None) -> int:
    """How many vectors were written."""
    if out is None:
        return _as_lines(rows, sys.stdout.write)
    with durable_files.replacing(out) as file:
        if out.suffix == ".npy":
            return _as_array(rows, file)
        return _as_lines(rows, lambda line: file.write(line.encode()))


def _as_lines(rows: Iterator[NDArray[np.float32]], write: Callable[[str], object]) -> int:
    """As JSON, a line each."""
    count = 0
    for row in rows:
        write(f"{json.dumps(row.tolist())}\n")
        count += 1
    return count


def _as_array(rows: Iterator[NDArray[np.float32]], file: BinaryIO) -> int:
    """As one array, row by row: numpy's header has room for a first dimension that is known only at the end."""
    first = next(rows, None)
    width, count = (0, 0) if first is None else (len(first), 0)
    _header(file, 0, width)
    for row in chain(() if first is None else (first,), rows):
        file.write(row.astype("<f4").tobytes())
        count += 1
    file.seek(0)
    _header(file, count, width)
    return count


def _header(file: BinaryIO, count: int, width: int) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (count, width)})


def finetune(
    path: Path,
    words: Sequence[str],
    out: Path | None,
    *,
    fresh: bool,
    resume: bool,
    data_dir: str | None,
    machine: bool,
    quiet: bool,
) -> None:
    """Train the model's own system from it, for the task that the words say."""
    verbs.use(data_dir)
    system = verbs.opened_model(path, None, "cpu").system
    task = next((word.partition("=")[2].strip() for word in words if word.partition("=")[0].strip() == TASK), "")
    place, given = out or Path("runs") / "-".join(filter(None, (system, task))), [f"{START}={path}", *words]
    table = config.read(place / CONFIG) if resume and (place / CONFIG).exists() else {"system": system}
    verbs.train_in(lambda: (table, place), given, resume=resume, fresh=fresh, machine=machine, quiet=quiet, yes=False)
