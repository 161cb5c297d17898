"""What may change in the config of a run that goes on: all that leaves the steps that were made as they are.

The law: a run that is extended is the run that was trained so long from the start, bit for bit. It holds where the learning
rate of a step does not depend on how many there are (constant, inverse_sqrt); linear and cosine are stretched, with a note.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from saccade import config
from saccade.errors import UsageError
from saccade.training import config_history
from saccade.training.checkpoints.store import Checkpoint
from saccade.training.config_history import CONFIG, Changes
from saccade.training.journal import entries
from saccade.training.run import Run, changed, require_same_files
from saccade.training.schedules import learning_rate
from saccade.training.settings import Settings, resolve
from saccade.training.train_config import Config

STRETCHED = ("linear", "cosine")  # schedules that depend on the number of steps


@dataclass(frozen=True)
class Resumption:
    """How a run was trained so far, and how it is to go on."""

    before: Config
    now: Config
    step: int
    waited: int
    """Most validations in a row that were no better, before the last one."""


def _always(past: Resumption) -> bool:
    return True


def _never(past: Resumption) -> bool:
    return False


def _ends_later(past: Resumption) -> bool:
    return bool(past.now.epochs) or past.now.steps >= past.step  # what epochs come to is known once the data is read


def _same_rates(past: Resumption) -> bool:
    now = replace(past.now, steps=past.before.steps)
    return all(learning_rate(past.before, step) == learning_rate(now, step) for step in range(1, past.step + 1))


def _as_patient(past: Resumption) -> bool:
    return not past.now.patience or past.now.patience > past.waited


# Of each key of [train]: whether it may change, and what that depends on.
RULES: dict[str, tuple[Callable[[Resumption], bool], str]] = {
    "steps": (_ends_later, "a run may end later, but not before the step where it is"),
    "epochs": (_ends_later, "a run may end later, but not before the step where it is"),
    "batch_tokens": (_never, "the place in the training data is counted in such batches"),
    "batch_size": (_never, "the place in the training data is counted in such batches"),
    "accumulate": (_never, "every update so far was made of so many batches"),
    "optimizer": (_never, "what the optimizer remembers is its own"),
    "learning_rate": (_same_rates, "it decided the learning rates of the steps so far"),
    "schedule": (_same_rates, "it decided the learning rates of the steps so far"),
    "warmup": (_same_rates, "it decided the learning rates of the steps so far"),
    "step_size": (_same_rates, "it decided the learning rates of the steps so far"),
    "gamma": (_same_rates, "it decided the learning rates of the steps so far"),
    "min_learning_rate": (_same_rates, "it decided the learning rates of the steps so far"),
    "momentum": (_never, "every update so far was made with it"),
    "alpha": (_never, "every update so far was made with it"),
    "beta1": (_never, "every update so far was made with it"),
    "beta2": (_never, "every update so far was made with it"),
    "weight_decay": (_never, "every update so far was made with it"),
    "decay": (_never, "every update so far was made with it"),
    "clip": (_never, "every update so far was made with it"),
    "freeze": (_never, "every update so far was made with it"),
    "layer_decay": (_never, "every update so far was made with it"),
    "valid_every": (_always, "it decides what is measured, not what is trained"),
    "save_every": (_always, "it decides what is kept, not what is trained"),
    "patience": (_as_patient, "with it the run would have ended before"),
    "average": (_always, "it decides what predicts, not what is trained"),
    "keep": (_always, "it decides what is kept, not what is trained"),
    "log_every": (_always, "it decides what is written, not what is trained"),
    "tensorboard": (_always, "it decides what is written, not what is trained"),
    "measure_peak": (_always, "it decides what is measured, not what is trained"),
    "seed": (_never, "it decided the initial parameters and the order of the data"),
    "device": (_always, "the steps are the same elsewhere, but for the last bits"),
    "threads": (_always, "the steps are the same, but for the last bits"),
    "precision": (_never, "every update so far was computed in it"),
    "compile": (_always, "the steps are the same, but for the last bits"),
    "recompute": (_always, "it decides what is kept in memory, not what is trained"),
    "prefetch": (_always, "it decides when a batch is prepared, not what is in it"),
    "shard": (_always, "it decides where parameters are, not what they are"),
    "tensor_parallel": (_always, "the steps are the same, but for the last bits"),
    "timeout": (_always, "it decides how long processes wait, not what is trained"),
}
# Of the other sections, why none of their keys may change; of data any may, if the examples are the same.
SECTIONS = {
    "system": "its parameters were trained",
    "task": "its parameters were trained for it",
    "start": "its parameters were trained from there",
    "model": "its parameters were trained as they are",
    "tokens": "the tokenizer was trained with it",
    "reader": "what was read so far depended on it",
    "writer": "what was trained and validated so far depended on it",
    "search": "validations so far searched with it; add it to evaluate or predict instead",
}


def reopened(place: Path, home: Path, settings: Settings) -> tuple[Run, Checkpoint, Changes]:
    """The run in this place, with these settings, its newest checkpoint, and what changes; refuses what may not. In
    messages it is called by its home, beside whose earlier run it may still be."""
    marks = require_same_files(place, edited=True)
    recorded = config_history.in_use(place)
    if recorded is None:  # nothing to hold an edited config against
        require_same_files(place)
        config_history.begin(place, (place / CONFIG).read_text(encoding="utf-8"))
    present = resolve(config.read(place / CONFIG))
    before = resolve(recorded.table) if recorded else present
    changes = changed(before, settings)
    for key, (old, new) in changed(before, present).items():
        if changes.get(key) != (old, new):
            what = f"{place / CONFIG}: {key} was edited ({old!r} → {new!r}), and another value is asked for"
            raise UsageError(what, fix=f"put it back, or take it: {{go on:{home}}}")
    run = Run(place, settings, marks)
    run.checkpoints.sweep()
    checkpoint = run.checkpoints.load("last")
    _require_valid(home, Resumption(before.train, settings.train, checkpoint.step, _waited(place)), changes)
    return run, checkpoint, changes


def _require_valid(home: Path, past: Resumption, changes: Changes) -> None:
    for key, (old, new) in changes.items():
        section, _, name = key.partition(".")
        if section == "data":
            continue
        allowed, reason = RULES[name] if section == "train" else (_never, SECTIONS[section])
        if not allowed(past):
            what = f"{home}: {key} cannot change at step {past.step} ({old!r} → {new!r}): {reason}"
            raise UsageError(what, fix="leave it as it was, begin anew with {fresh}, or use another {out}")


def require_later(run: Run, step: int) -> None:
    """Refuse to end before the step where the run is, also where epochs decide."""
    if (steps := run.settings.train.steps) < step:
        key = "epochs" if run.settings.train.epochs else "steps"
        problem = f"{run.path}: train.{key} makes {steps:,} steps, and the run is at step {step:,}"
        raise UsageError(problem, fix=f"raise train.{key}, or begin anew with {{fresh}}")


def _waited(place: Path) -> int:
    """Most validations in a row that were no better than one before, the last validation left out."""
    since, most = 0, 0
    for line in [line for line in entries(place / "log.jsonl") if line.get("event") == "valid"][:-1]:
        since = 0 if line["best"] else since + 1
        most = max(most, since)
    return most


def notes(before: Config, now: Config, step: int, changes: Changes) -> list[str]:
    """What is told of changes that were taken."""
    lines = [f"{key}: {old!r} → {new!r}, from step {step} on" for key, (old, new) in changes.items()]
    if before.steps != now.steps and now.schedule in STRETCHED and step > now.warmup:
        old, new = learning_rate(before, min(step + 1, before.steps)), learning_rate(now, step + 1)
        lines.append(
            f"train.schedule={now.schedule} is stretched to {now.steps:,} steps: the learning rate goes on at {new:.2g}, it "
            f"was {old:.2g}; a run of {now.steps:,} steps from the start would have had other rates before"
        )
    return lines
