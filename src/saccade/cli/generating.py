"""What `saccade generate` does: a text goes on from a prompt, and is written while it is decided."""

import json
import sys
from pathlib import Path
from typing import Any

from saccade.cli import streams, verbs
from saccade.errors import UsageError
from saccade.search.config import MOST, SAMPLING
from saccade.trained import TrainedModel


def generate(
    path: Path,
    prompt: str,
    which: str | None,
    *,
    count: int,
    max_length: int | None,
    sampling: dict[str, Any],
    device: str,
    machine: bool,
) -> None:
    """Print the prompt and what it goes on with, as often as asked for; the seeds of the texts follow each other."""
    if count > MOST:
        raise UsageError(f"--n: expected at most {MOST}, got {count}; ask for fewer")
    model = verbs.opened_model(path, which, device)
    if not model.task.writer.SEARCHES:
        raise UsageError(f"{path}: expected a run that writes text, got {model.system}; use saccade predict")
    search = search_of(model, max_length, sampling)
    seed = model.search(**search).seed
    streams.as_utf8()
    for number in range(count):
        one = {**search, "seed": seed + number} if search["method"] == "sample" else search
        if machine:
            text = "".join(model.stream(prompt, **one))
            print(json.dumps({"prompt": prompt, "text": text, "seed": one.get("seed")}), flush=True)
        else:
            _stream(model, prompt, one)


def search_of(model: TrainedModel, max_length: int | None, sampling: dict[str, Any]) -> dict[str, Any]:
    """What the options make of the run's search: a language model samples, others write the best text unless asked to."""
    own = model.run.settings.search
    given = {key: value for key, value in sampling.items() if value is not None}
    samples = given or (own is not None and own.method == "sample") or hasattr(model.task.writer, "corpus")
    lengths = {} if max_length is None else {"max_length": max_length}
    return {"method": "sample" if samples else "greedy", **given, **lengths}


def _stream(model: TrainedModel, prompt: str, search: dict[str, Any]) -> None:
    """The prompt and each piece as it comes; whatever ends it ends the line, too."""
    goes_on = hasattr(model.task.writer, "corpus")
    begun = False
    try:
        for piece in model.stream(prompt, **search):
            if not begun:
                print(prompt, end="" if goes_on else "\n", flush=True)
            begun = True
            print(piece, end="", flush=True)
    finally:
        if begun:
            print(flush=True)


__all__ = ["SAMPLING", "generate", "search_of", "sys"]
