"""configs.jsonl: every config that a run had, one JSON object a line; the first is the one that it was made with."""

import json
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import durable_files
from saccade.config import Table
from saccade.training.checkpoints.manifests import Mark, mark

FILE, CONFIG = "configs.jsonl", "config.toml"

Changes = Mapping[str, tuple[Any, Any]]  # by key: what it was, what it is now


@dataclass(frozen=True)
class Recorded:
    """A config, as the text of config.toml, and the step from which on it held."""

    step: int
    config: str

    @property
    def mark(self) -> Mark:
        """What config.toml was known by."""
        return mark(self.config.encode())

    @property
    def table(self) -> Table:
        """Its settings."""
        return tomllib.loads(self.config)


def read(run: Path) -> list[Recorded]:
    """The configs of a run, the first first; none where nothing was recorded, or nothing that can be read."""
    try:
        lines = [json.loads(line) for line in (run / FILE).read_text(encoding="utf-8").splitlines()]
        return [Recorded(line["step"], line["config"]) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def begin(run: Path, text: str) -> None:
    """Record the config that a run is made with."""
    durable_files.write(run / FILE, _line(0, text, {}))


def add(run: Path, step: int, text: str, changes: Changes) -> None:
    """Record a config before it becomes config.toml: whatever is killed, that file is one that is recorded."""
    if read(run)[-1] != Recorded(step, text):  # else a kill came between the two
        before = (run / FILE).read_text(encoding="utf-8")
        durable_files.write(run / FILE, before + _line(step, text, changes))


def _line(step: int, text: str, changes: Changes) -> str:
    table = {key: {"from": old, "to": new} for key, (old, new) in changes.items()}
    entry = {"step": step, "changes": table, "time": round(time.time(), 3), "config": text}
    return json.dumps(entry, ensure_ascii=False) + "\n"


def in_use(run: Path) -> Recorded | None:
    """The config that config.toml holds, if that was recorded, else the last; None where nothing is recorded."""
    known = read(run)
    try:
        present = mark((run / CONFIG).read_bytes())
    except OSError:
        present = None
    same = [one for one in known if one.mark == present]
    return (same or known)[-1] if known else None
