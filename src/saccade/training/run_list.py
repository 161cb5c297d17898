"""What runs there are and how each stands, by names, config.toml and the end of the log alone; without torch.

Nothing is opened or checked here, and what is broken is described, never raised.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.errors import SaccadeError
from saccade.evaluation.metrics import METRICS
from saccade.lock import LOCK, is_held
from saccade.training.checkpoints.names import FRESH, SWAP, places
from saccade.training.journal import backward

CONFIG, LOG, CHECKPOINTS = "config.toml", "log.jsonl", "checkpoints"
REMAINS = (CONFIG, LOG, CHECKPOINTS, LOCK, FRESH, SWAP)  # one of these makes a directory look like a run
DEEPEST = 3  # directories between a run and the place that is listed
SKIPS = 3  # updates in a row without a finite gradient, by which a run ends
RUNNING, FINISHED, EARLY, INTERRUPTED = "running", "finished", "stopped early", "interrupted"
FAILED, EMPTY, IMPORTED, BROKEN = "failed", "no checkpoint", "imported", "broken"


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of the list."""

    path: str
    system: str = ""
    data: str = ""
    status: str
    """One of running, finished, stopped early, interrupted, failed, no checkpoint, imported, broken."""
    step: int | None = None
    steps: int | None = None
    note: str = ""
    """What else is to be known, such as what is wrong."""
    metric: str = ""
    score: float | None = None
    """The best so far, by the metric that the best checkpoint is chosen by."""
    changed: float = 0.0
    """When something was last written, in seconds since 1970."""
    size: int = 0
    """Bytes on the disk."""

    @property
    def state(self) -> str:
        """The status for people, with the step where the run is and the last one that it was to have."""
        known = self.status in (RUNNING, INTERRUPTED, EARLY, FAILED) and self.step is not None
        return f"{self.status} {self.step:,}/{self.steps or 0:,}" if known else self.status


def run_list(folder: Path) -> list[RunSummary]:
    """The runs in a directory and below it, or the run that it is; what was changed last comes first."""
    found = [_summary(place) for place in _places(folder, DEEPEST)]
    return sorted(found, key=lambda one: (-one.changed, one.path))


def _places(folder: Path, deep: int) -> Iterator[Path]:
    """Directories that look like runs; inside of one no other is looked for."""
    if any(os.path.lexists(folder / name) for name in REMAINS):
        yield folder
        return
    try:
        inside = [entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        return
    for name in inside if deep else ():
        yield from _places(folder / name, deep - 1)


def _summary(home: Path) -> RunSummary:
    """How the run in a directory stands."""
    size, changed = _extent(home)
    facts: dict[str, Any] = {"path": str(home), "size": size, "changed": changed}
    try:
        return RunSummary(**facts, **_standing(home))
    except SaccadeError as error:
        note = str(error)
    except OSError as error:
        note = f"{error.filename or home}: {error.strerror}"
    return RunSummary(**facts, status=BROKEN, note=note)


def _standing(home: Path) -> dict[str, Any]:
    """What its files say: those of the run itself, and of a new one that grows beside it."""
    held, fresh = is_held(home), home / FRESH
    place = home / SWAP if places(home / SWAP / CHECKPOINTS) else home
    if held and (fresh / CONFIG).exists() and not places(place / CHECKPOINTS):
        place = fresh
    table, problem = _config(place)
    reached, log, trouble = max(places(place / CHECKPOINTS), default=None), place / LOG, _trouble(place)
    train = table.get("train", {})
    last, best, waited = _progress(log)
    facts = {"step": reached, "steps": train.get("steps"), **_named(table), **_score(table, best)}
    notes = [problem, trouble]
    if held:
        status = RUNNING
        facts["step"] = max(reached or 0, last.get("step", 0))
        notes += [f"anew in {FRESH}, {_at(fresh)}"] * (place != fresh and (fresh / CONFIG).exists())
    else:
        status = _status(reached, last, train, waited, imported=not log.exists())
        notes += [f"a new one in {FRESH} was interrupted, {_at(fresh)}"] * bool(places(fresh / CHECKPOINTS))
        status = BROKEN if problem else status
    return {"status": status, "note": "; ".join(filter(None, notes)), **facts}


def _status(reached: int | None, last: Mapping[str, Any], train: Mapping[str, Any], waited: int, *, imported: bool) -> str:
    """How a run stands that nobody trains now."""
    if reached is None:
        return EMPTY
    if reached >= train.get("steps", 0):
        return FINISHED
    if imported:
        return IMPORTED
    if last.get("skips", 0) >= SKIPS:
        return FAILED
    return EARLY if 0 < train.get("patience", 0) <= waited else INTERRUPTED


def _config(place: Path) -> tuple[Mapping[str, Any], str]:
    """config.toml, and what is wrong with it."""
    try:
        table = tomllib.loads((place / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}, f"it has no {CONFIG}"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        return {}, f"{CONFIG} cannot be read ({reason})"
    train = table.get("train")
    if not isinstance(train, dict) or not isinstance(table.get("system"), str):
        return {}, f"{CONFIG} is not that of a run"
    numbers = {key: value for key, value in train.items() if key in ("steps", "patience")}
    if not all(isinstance(value, int) for value in numbers.values()) or "steps" not in numbers:
        return {}, f"{CONFIG} is not that of a run"
    return table, ""


def _trouble(place: Path) -> str:
    """What is wrong among the checkpoints, as far as names tell."""
    folder = place / CHECKPOINTS
    if os.path.lexists(folder) and not folder.is_dir():
        return f"{CHECKPOINTS} is no directory"
    empty = [path.name for path in places(folder).values() if not (path / "MANIFEST.json").is_file()]
    return f"{empty[-1]} is damaged (it has no manifest)" if empty else ""


def _named(table: Mapping[str, Any]) -> dict[str, str]:
    """The system, and the data: a set's name, or the user's own file."""
    data = table.get("data")
    data = data if isinstance(data, dict) else {}
    own = next((str(data[key]) for key in ("train", "nodes") if data.get(key)), "")
    return {"system": str(table.get("system", "")), "data": Path(own).name or str(data.get("name", ""))}


def _progress(log: Path) -> tuple[dict[str, Any], Mapping[str, Any], int]:
    """The last line of a log, with the number of refused updates that it ends by; the best validation, and how many
    validations there were since."""
    last: dict[str, Any] = {}
    skips, counting, waited = 0, True, 0
    for entry in backward(log) if log.is_file() else ():
        last = last or dict(entry)
        counting = counting and entry.get("event") == "skipped"
        skips += counting
        if entry.get("event") == "valid":
            if entry.get("best"):
                return {**last, "skips": skips}, entry, waited
            waited += 1
    return {**last, "skips": skips} if last else {}, {}, waited


def _score(table: Mapping[str, Any], best: Mapping[str, Any]) -> dict[str, Any]:
    """The score of the best validation, by the metric that chose it."""
    scores = best.get("scores")
    every = scores.get("all") if isinstance(scores, dict) else None
    if not isinstance(every, dict):
        return {}
    writer = table.get("writer")
    chosen = writer.get("metric") if isinstance(writer, dict) else None
    name = next((name for name in (chosen, *every) if name in METRICS and name in every), None)
    try:
        return {} if name is None else {"metric": name, "score": float(every[name])}
    except (TypeError, ValueError):
        return {}


def _at(fresh: Path) -> str:
    """The step where a new run is."""
    last, _, _ = _progress(fresh / LOG)
    steps = _config(fresh)[0].get("train", {}).get("steps", "?")
    return f"step {last.get('step', 0)} of {steps}"


def _extent(folder: Path) -> tuple[int, float]:
    """The bytes of all files of a run, and when one was last written."""
    size, changed = 0, 0.0
    try:
        changed = folder.stat().st_mtime
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                more, later = _extent(Path(entry.path))
                size, changed = size + more, max(changed, later)
            else:
                facts = entry.stat(follow_symlinks=False)
                size, changed = size + facts.st_size, max(changed, facts.st_mtime)
    except OSError:  # removed, or not for us to read: what is left of it is counted
        pass
    return size, changed
