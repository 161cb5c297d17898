"""What `saccade generate` does: texts go on from prompts; that of one prompt is printed while it is decided."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade import inputs
from saccade.cli import streams, verbs
from saccade.errors import DataError, InputError, UsageError
from saccade.search.search_config import MOST
from saccade.trained import TrainedModel
from saccade.writers.writer import Prediction


def generate(
    path: Path,
    prompt: str | None,
    file: str | None,
    which: str | None,
    *,
    count: int,
    max_length: int | None,
    beam: int | None,
    stop: Sequence[str],
    slide: bool | None,
    sampling: Mapping[str, Any],
    precision: str,
    device: str,
    machine: bool,
) -> None:
    """Print prompts and what they go on with; several texts have seeds that follow each other, or are the best of a beam."""
    if count > MOST:
        raise UsageError(f"--n: expected at most {MOST}, got {count}; ask for fewer")
    if (prompt is None) == (file is None):
        raise UsageError("expected a prompt: --prompt TEXT, --prompt - for standard input, or --file FILE with one a line")
    model = verbs.opened_model(path, which, device)
    if not model.task.writer.SEARCHES:
        fix = f"use saccade {model.task.writer.VERB}"
        raise UsageError(f"{path}: expected a run that writes text, got {model.system}; {fix}")
    search = search_of(model, count, max_length, beam, sampling)
    how = {"stop": [*stop], "slide": slide}
    streams.as_utf8()
    with verbs.resting(model.module, precision):
        if file is not None:
            _of_file(model, file, search, how, count, machine=machine)
        elif search.get("method") == "beam" and count > 1:
            _best(model, _read(prompt), search, how, count, machine=machine)
        else:
            _streamed(model, _read(prompt), search, how, count, machine=machine)


def search_of(
    model: TrainedModel, count: int, max_length: int | None, beam: int | None, sampling: Mapping[str, Any]
) -> dict[str, Any]:
    """What the options change in the run's search: to ask for several texts, or for how to sample, is to sample; but several
    texts of a beam are its best."""
    given = {key: value for key, value in sampling.items() if value is not None}
    changes: dict[str, Any] = {"method": "sample", **given} if given or count > 1 else {}
    if beam is not None:
        changes = {**given, "method": "beam", "beam": beam} if beam > 1 else {**given, "method": "greedy"}
    if max_length is not None:
        changes["max_length"] = max_length
    search = model.search(**changes)
    return {**changes, "seed": search.seed} if search.method == "sample" else changes


def _read(prompt: str | None) -> str:
    """The prompt, or all of standard input without the break that ends it."""
    if prompt != "-":
        return prompt or ""
    with verbs.opened("-") as stream:
        lines = verbs.decoded(inputs.lines(stream, "standard input"), "standard input")
        return "\n".join(lines)


def _seeds(search: Mapping[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """The search of each text."""
    for number in range(count):
        yield {**search, "seed": search["seed"] + number} if "seed" in search else {**search}


def _streamed(
    model: TrainedModel, prompt: str, search: Mapping[str, Any], how: Mapping[str, Any], count: int, *, machine: bool
) -> None:
    """Text after text, each piece as soon as it is there; whatever ends a text ends its line, too."""
    for number, own in enumerate(_seeds(search, count)):
        pieces = model.stream(prompt, **how, **own)  # what is wrong with the prompt is told before anything is printed
        if machine:
            text = "".join(pieces)
            _tell(prompt, text, own, pieces.ended)
        else:
            _begin(model, prompt, first=number == 0)
            try:
                for piece in pieces:
                    print(piece, end="", flush=True)
            finally:
                print(flush=True)
        if pieces.ended == "context":
            _say_full(model, 1)


def _best(
    model: TrainedModel, prompt: str, search: Mapping[str, Any], how: Mapping[str, Any], count: int, *, machine: bool
) -> None:
    """The best texts of a beam."""
    best = model.predict(prompt, n_best=count, **how, **search)
    texts = [best, *best.alternatives]
    for number, one in enumerate(texts):
        _print(model, prompt, one, search, first=number == 0, machine=machine)
    _say_full(model, sum(one.ended == "context" for one in texts))


def _of_file(
    model: TrainedModel, file: str, search: Mapping[str, Any], how: Mapping[str, Any], count: int, *, machine: bool
) -> None:
    """The texts of every line, in order; all lines are searched together."""
    name = "standard input" if file == "-" else file
    with verbs.opened(file) as stream:
        prompts = list(verbs.decoded(inputs.lines(stream, name), name))
    beam = search.get("method") == "beam"
    searches = [{**search, "n_best": count}] if beam else list(_seeds(search, count))
    rows: list[list[tuple[Prediction, dict[str, Any]]]] = [[] for _ in prompts]
    try:
        for own in searches:
            for row, (_, found) in zip(rows, model.outputs(prompts, model.options(**how, **own)), strict=True):
                row += [(one, own) for one in found]
    except InputError as error:
        raise DataError(f"{name}:{error.line}: {error.cause}") from None
    for number, (prompt, row) in enumerate(zip(prompts, rows, strict=True)):
        for place, (one, own) in enumerate(row):
            _print(model, prompt, one, own, first=number + place == 0, machine=machine)
    _say_full(model, sum(one.ended == "context" for row in rows for one, _ in row))


def _print(
    model: TrainedModel, prompt: str, one: Prediction, search: Mapping[str, Any], *, first: bool, machine: bool
) -> None:
    if machine:
        _tell(prompt, one.text, search, one.ended)
    else:
        _begin(model, prompt, first=first)
        print(one.text, flush=True)


def _begin(model: TrainedModel, prompt: str, *, first: bool) -> None:
    """The prompt, an empty line after the text before."""
    if not first:
        print()
    print(prompt if model.task.writer.CONTINUES else "", end="", flush=True)


def _tell(prompt: str, text: str, search: Mapping[str, Any], ended: str) -> None:
    seed = {"seed": search["seed"]} if "seed" in search else {}
    print(json.dumps({"prompt": prompt, "text": text, **seed, "ended": ended}), flush=True)


def _say_full(model: TrainedModel, count: int) -> None:
    """That texts ended because nothing more can be read."""
    if count:
        what = "the text ended" if count == 1 else f"{count} texts ended"
        size = f"{model.task.writer.config.context_length:,} tokens"
        print(f"note: {what} where the context ({size}) is full; --slide goes on from its later half", file=sys.stderr)
