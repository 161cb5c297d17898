"""A cell of a table: a run like any other, with its scores kept beside it, so that nothing is trained twice."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade import data, durable_files
from saccade.errors import DataError, UnknownName, UsageError
from saccade.experiments import baselines
from saccade.task import Kinds
from saccade.trained import TrainedModel
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.fresh import ANEW, resumable
from saccade.training.interrupts import Interrupted
from saccade.training.journal import entries, seconds_of
from saccade.training.run import Run, changed, told
from saccade.training.session import Watcher
from saccade.training.settings import Settings, fitting
from saccade.training.train import train

Kept = dict[str, Any]
ANOTHER = "begin anew with {fresh}, or use another {out}"
KEYS = {"step", "split", "scores", "signatures", "minutes", "command"}


@dataclass(frozen=True)
class Cell:
    """One row from one seed: where it is trained, and how."""

    path: Path
    row: str
    seed: int
    settings: Settings
    choose: str = field(default="", kw_only=True)
    "The data whose scores are kept, too, so that one of the seeds can be chosen by them."

    def kept(self, split: str) -> Kept | None:
        """The scores of this split, if the cell is finished; its checkpoints may be gone by then."""
        try:
            kept = json.loads((self.path / "scores.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not (isinstance(kept, dict) and kept.keys() >= KEYS):
            return None
        steps = Checkpoints(self.path).steps() or [kept["step"]]
        complete = not self.choose or "chosen_by" in kept
        return kept if complete and (kept["split"], kept["step"]) == (split, steps[-1]) else None

    def check(self) -> None:
        """Refuse what was made with other settings: it would be shown as what it is not."""
        if not ((self.path / "scores.json").exists() or Checkpoints(self.path).steps()):
            return
        try:
            differences = changed(Run.open(self.path).settings, self.settings)
        except (UsageError, DataError) as error:
            raise DataError(f"{self.path}: its config cannot be read ({error})", fix=ANOTHER) from None
        if differences:
            raise UsageError(f"{self.path}: made with other settings ({told(differences)})", fix=ANOTHER)

    @property
    def parts(self) -> tuple[str, ...]:
        """What is scored beside all examples and their groups."""
        return Kinds.of(self.settings.system, self.settings.task).writer.parts

    def check_metric(self, metric: str) -> None:
        """Refuse what its scores will not have, and data that its system cannot read."""
        fitting(self.settings)
        kinds = Kinds.of(self.settings.system, self.settings.task)
        known = kinds.writer.metrics(self.settings.writer)
        if metric not in known:
            raise UnknownName("metric of the table", metric, known)

    def groups(self, split: str) -> set[str]:
        """Those of the examples that it will be scored on, of which there must be some."""
        examples = getattr(data.dataset(self.settings.dataset).load(self.settings.data), split)
        if len(examples) == 0:
            raise DataError(f"its {split} data is empty; choose another split in the table")
        listed = getattr(examples, "groups", None)  # of examples that are made only when they are read
        return set(listed if listed is not None else (one.group for one in examples)) - {""}

    def begin_anew(self) -> None:
        """Mark the run, if there is one, as one to be trained anew: it stands until the new one has a checkpoint."""
        if any((self.path / name).is_file() for name in ("config.toml", "scores.json")):
            (self.path / ANEW).touch()

    def spare(self) -> None:
        """Take the mark away."""
        (self.path / ANEW).unlink(missing_ok=True)

    @property
    def anew(self) -> bool:
        """Whether it is marked."""
        return (self.path / ANEW).exists()

    def due(self, split: str) -> bool:
        """Whether there is something to train or to score."""
        return self.anew or self.kept(split) is None

    def complete(self, split: str, watcher: Watcher, *, fresh: bool = False) -> Kept:
        """Train to the end, from wherever it stands or anew, and score it."""
        begun = resumable(self.path) != self.path  # the new run was interrupted before it took the earlier one's place
        fresh = fresh or (self.anew and not begun)
        try:
            run = train(self.path, self.settings, watcher, resume=not fresh, fresh=fresh)
        except Interrupted as stop:
            step = Checkpoints(resumable(self.path)).steps()[-1]
            fix = "the same command (without {fresh}) goes on"
            raise Interrupted(
                f"{self.path}: stopped at step {step}, checkpoint written", stop.exit_code - 128, fix=fix
            ) from None
        kept = {
            "step": run.checkpoints.steps()[-1],
            **scored(run, split),
            **({"chosen_by": scored(run, self.choose)["scores"]["all"]} if self.choose else {}),
            "minutes": minutes(self.path),
            "command": sys.argv,
        }
        durable_files.write(self.path / "scores.json", json.dumps(kept, indent=2) + "\n")
        return kept


@dataclass(frozen=True)
class BaselineCell(Cell):
    """A row that is no run: a baseline on the data of the row's settings; of its model and training nothing counts."""

    baseline: str

    def _made(self) -> Kept:
        """All that the scores depend on."""
        sections = self.settings.table()
        return {
            "baseline": self.baseline,
            **{name: sections[name] for name in ("data", "tokens", "writer") if name in sections},
        }

    def check(self) -> None:
        try:
            made = json.loads((self.path / "scores.json").read_text(encoding="utf-8")).get("made")
        except (OSError, ValueError, AttributeError):
            return
        if made != json.loads(json.dumps(self._made())):
            raise UsageError(f"{self.path}: made with other settings", fix=ANOTHER)

    def check_metric(self, metric: str) -> None:
        known = baselines.metrics(self.baseline, self.settings)
        if metric not in known:
            raise UnknownName("metric of the table", metric, known)

    def complete(self, split: str, watcher: Watcher, *, fresh: bool = False) -> Kept:
        """Compute and score it."""
        splits = data.dataset(self.settings.dataset).load(self.settings.data)
        scores = baselines.scored(self.baseline, self.settings, splits, split)
        kept = {"step": 0, **scores, "command": sys.argv, "made": self._made()}
        self.path.mkdir(parents=True, exist_ok=True)
        durable_files.write(self.path / "scores.json", json.dumps(kept, indent=2) + "\n")
        self.spare()
        return kept


def scored(run: Run, split: str) -> Kept:
    """The scores of a run's model, found with the run's own search, and how they were computed."""
    evaluation = TrainedModel(run).evaluate(split=split)
    return {"split": split, "scores": evaluation.scores, "signatures": evaluation.signatures}


def minutes(run: Path) -> float:
    """How long a run was trained, pauses left out."""
    return round(sum(seconds_of(entries(run / "log.jsonl"))) / 60, 3)
