"""What `saccade generate` does: a text goes on from a prompt, and is printed while it is decided."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.cli import streams, verbs
from saccade.errors import UsageError
from saccade.search.search_config import MOST
from saccade.trained import TrainedModel


def generate(
    path: Path,
    prompt: str,
    which: str | None,
    *,
    count: int,
    max_length: int | None,
    sampling: Mapping[str, Any],
    device: str,
    machine: bool,
) -> None:
    """Print the prompt and what it goes on with; several texts are drawn with seeds that follow each other."""
    if count > MOST:
        raise UsageError(f"--n: expected at most {MOST}, got {count}; ask for fewer")
    model = verbs.opened_model(path, which, device)
    if not model.task.writer.SEARCHES:
        raise UsageError(f"{path}: expected a run that writes text, got {model.system}; use saccade predict")
    search = search_of(model, count, max_length, sampling)
    streams.as_utf8()
    for number in range(count):
        own = {**search, "seed": search["seed"] + number} if "seed" in search else search
        if machine:
            facts = {"prompt": prompt, "text": "".join(model.stream(prompt, **own))}
            print(json.dumps(facts | ({"seed": own["seed"]} if "seed" in own else {})), flush=True)
        else:
            _print(model, prompt, own, first=number == 0)


def search_of(model: TrainedModel, count: int, max_length: int | None, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """What the options change in the run's search: to ask for several texts, or for how to sample, is to sample."""
    given = {key: value for key, value in sampling.items() if value is not None}
    changes: dict[str, Any] = {"method": "sample", **given} if given or count > 1 else {}
    if max_length is not None:
        changes["max_length"] = max_length
    search = model.search(**changes)
    return {**changes, "seed": search.seed} if search.method == "sample" else changes


def _print(model: TrainedModel, prompt: str, search: Mapping[str, Any], *, first: bool) -> None:
    """One text, each piece as soon as it is there; whatever ends it ends its line, too."""
    pieces = model.stream(prompt, **search)  # what is wrong with the prompt is told before anything is printed
    if not first:
        print()
    try:
        print(prompt if model.task.writer.CONTINUES else "", end="", flush=True)
        for piece in pieces:
            print(piece, end="", flush=True)
    finally:
        print(flush=True)
