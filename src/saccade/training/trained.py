"""A trained run in Python: `Trained.open("runs/dates").predict([...])`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.errors import InputError, UsageError
from saccade.search import Config as SearchConfig
from saccade.systems.system import System
from saccade.training.run import Run, Which
from saccade.view.trace import Trace


@dataclass(frozen=True)
class Trained:
    """A run with its model, ready to be asked."""

    run: Run
    task: Any
    model: System
    step: int

    @classmethod
    def open(cls, path: str | Path, which: Which | None = None) -> "Trained":
        """The model of a checkpoint: "best", "last", "average" or a step; else the best there is."""
        run = Run.open(Path(path))
        task = run.task()
        model, found = run.model(task, which)
        return cls(run, task, model, found.step)

    def predict(self, inputs: Iterable[str], search: SearchConfig | None = None, *, to: str | None = None) -> list[str]:
        """The best output for each input, in order; `to` is the language, of a run that writes several."""
        groups = [to or self.task.groups()[0]]
        answers = self.task.predict(self.model, iter(inputs), search or self.run.settings.search, groups=groups)
        return [found[0].text if found else "" for found in answers]

    def look(self, inputs: Iterable[str], search: SearchConfig | None = None, *, to: str | None = None) -> Trace:
        """Where the model looked, a scene for each input (and for each of n_best outputs); see `saccade.view`."""
        texts, groups = list(inputs), [to or self.task.groups()[0]]
        if to and to not in self.task.groups():
            what = "several languages" if self.task.groups() == [""] else f"one of {', '.join(self.task.groups())}"
            raise UsageError(f"--to: expected a run that writes {what}, got {to!r}; leave it out, or name another")
        search = search or self.run.settings.search
        scenes = []
        try:
            answers = list(self.task.predict(self.model, iter(texts), search, looks=True, groups=groups))
        except InputError as error:
            raise error.cause from None  # these are no lines of a file
        for text, found in zip(texts, answers, strict=True):
            scenes += self.task.scenes(text, found, self.run.settings.tokens.kind, self.task.reading(self.model, text))
        if not any(scene.looks for scene in scenes):
            raise UsageError(f"{self.run.settings.system} looks nowhere: there is nothing to show")
        return Trace(self.run.settings.system, scenes)
