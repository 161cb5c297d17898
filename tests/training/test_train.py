"""A run from its first step to its end: refused updates, early stopping, signals, what may not change in between."""

import itertools
import json
import math
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.data.examples import PARTS
from saccade.data.tensors import Batch
from saccade.errors import DataError, UsageError
from saccade.evaluation.metrics import Evaluation
from saccade.kernels import runtime
from saccade.systems import bahdanau
from saccade.systems.system import Output
from saccade.task import Task
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.run import Run, average
from saccade.training.settings import resolve
from saccade.training.train import train
from saccade.training.trainer import NotFinite

from .runs import contents, tiny, tiny_epochs
from .sittings import Noted, Pressed, equal, healthy, lines

pytestmark = pytest.mark.usefixtures("put_back")


def spoil(monkeypatch: pytest.MonkeyPatch, *updates: int) -> None:
    """The loss of the date reader is NaN in these updates."""
    real, count = bahdanau.Model.forward, itertools.count(1)

    def forward(self: bahdanau.Model, batch: Batch) -> Output:
        found = real(self, batch)
        return replace(found, loss=found.loss * math.nan) if self.training and next(count) in updates else found

    monkeypatch.setattr(bahdanau.Model, "forward", forward)


def test_a_refused_update_is_logged_and_kept_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, 5)
    train(tmp_path, tiny("train.steps=8", "train.valid_every=100", "train.log_every=3"), Quiet())
    log = [(line["event"], line["step"]) for line in lines(tmp_path)]
    assert log == [("step", 3), ("skipped", 5), ("step", 6), ("step", 8), ("valid", 8)]
    assert lines(tmp_path)[1]["loss"] == "nan"
    kept = sorted(path.name for path in tmp_path.glob("skipped-step-*"))
    assert kept == ["skipped-step-5.json"]
    facts = json.loads((tmp_path / kept[0]).read_text())
    assert (facts["step"], facts["seed"], facts["accumulate"]) == (5, 0, 1)
    assert healthy(tmp_path) == {4: True, 8: True}
    train(tmp_path, tiny("train.steps=2"), Quiet(), fresh=True)  # which leaves nothing of the old one behind
    assert not list(tmp_path.glob("skipped-step-*"))
    assert [line["step"] for line in lines(tmp_path)] == [1, 2, 2]


def test_a_run_that_ends_names_the_last_healthy_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, 7, 8, 9)
    with pytest.raises(NotFinite, match="up to step 9; the last healthy checkpoint is step 6; try a lower") as error:
        train(tmp_path, tiny("train.valid_every=100", "train.save_every=2"), Quiet())
    assert error.value.exit_code == 1
    assert all(healthy(tmp_path).values())
    shelf = Checkpoints(tmp_path)  # nothing moved since then
    assert equal(shelf.load(6).tensors["model"], shelf.load(8).tensors["model"])
    assert equal(shelf.load(6).tensors["optimizer"], shelf.load(8).tensors["optimizer"])


@pytest.mark.parametrize(
    ("words", "told", "kept"),
    [
        ((), "no finite gradient in 3 steps in a row", True),
        (("train.clip=0",), "no finite gradient in 3 steps in a row", True),
        (("train.optimizer=sgd", "train.clip=0"), "no finite gradient in 3 steps in a row", True),
        (("train.learning_rate=1e300",), "parameters are no longer finite at step 1; there is no healthy checkpoint", False),
    ],
)
def test_a_rate_beyond_all_measure_writes_nothing_that_is_not_finite(
    tmp_path: Path, words: tuple[str, ...], told: str, kept: bool
) -> None:
    settings = tiny("train.learning_rate=1e9", "train.steps=8", "train.save_every=1", "train.keep=20", *words)
    with pytest.raises(NotFinite, match=f"{told}.*; try a lower train.learning_rate"):
        train(tmp_path, settings, Quiet())
    found = healthy(tmp_path)
    assert bool(found) == kept
    assert all(found.values())
    assert len(lines(tmp_path)) >= len(found)


def scripted(monkeypatch: pytest.MonkeyPatch, scores: list[float], loss: float = 1.0) -> None:
    """Validations come out as written here."""
    told = iter(scores)

    def evaluate(*args: object) -> Evaluation:
        return Evaluation({"all": {"examples": 20, "exact_match": next(told), "loss": loss}})

    monkeypatch.setattr(Task, "evaluate", evaluate)


def of_loss(loss: float) -> Evaluation:
    return Evaluation({"all": {"examples": 1, "exact_match": 0.0, "loss": loss}})


def test_the_best_checkpoint_is_chosen_by_the_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.1, 0.5, 0.3, 0.5, 0.4])
    run = train(tmp_path, tiny("train.steps=10", "train.valid_every=2", "train.save_every=100"), Quiet())
    assert [line["best"] for line in lines(tmp_path) if line["event"] == "valid"] == [True, True, False, False, False]
    assert Checkpoints(tmp_path).load("best").step == 4
    task = run.task()
    model, found = run.model(task)
    assert found.step == 4
    assert equal(dict(model.state_dict()), found.tensors["model"])
    assert not model.training
    assert run.model(task, "last")[1].step == 10
    assert run.model(task, 8)[1].step == 8


def test_the_best_by_loss_is_the_lowest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([3.0, math.nan, 1.0, 2.0])
    monkeypatch.setattr(Task, "evaluate", lambda *args: of_loss(next(losses)))
    words = ("train.steps=8", "train.valid_every=2", "writer.metric=loss")
    train(tmp_path, tiny(*words), Quiet())
    assert Checkpoints(tmp_path).load("best").step == 6
    assert [line["best"] for line in lines(tmp_path) if line["event"] == "valid"] == [True, False, True, False]


@pytest.mark.parametrize("first", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_never_the_best(first: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([first, 2.0])
    monkeypatch.setattr(Task, "evaluate", lambda *args: of_loss(next(losses)))
    train(tmp_path, tiny("train.steps=4", "train.valid_every=2"), Quiet())
    assert Checkpoints(tmp_path).load("best").step == 4
    assert lines(tmp_path)[2]["scores"]["all"]["loss"] == str(first)


def test_patience_ends_the_run_and_resuming_does_not_begin_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.5, 0.4, 0.6, 0.6, 0.1, 0.9])
    settings = tiny("train.steps=100", "train.valid_every=2", "train.patience=2")
    told = Noted()
    train(tmp_path, settings, told)
    assert Checkpoints(tmp_path).steps()[-1] == 10
    assert Checkpoints(tmp_path).load("best").step == 6
    assert any("stopped early at step 10" in note for note in told.notes)
    before = contents(tmp_path)
    train(tmp_path, settings, Quiet(), resume=True)
    assert contents(tmp_path) == before


def test_patience_counts_across_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.5, 0.4, 0.3, 0.2])
    settings = tiny("train.steps=100", "train.valid_every=2", "train.patience=3")
    with pytest.raises(Interrupted):
        train(tmp_path, settings, Pressed(5, signal.SIGINT))
    train(tmp_path, settings, Quiet(), resume=True)
    assert Checkpoints(tmp_path).steps()[-1] == 8


def test_the_average_is_the_mean_of_the_last_files(tmp_path: Path) -> None:
    words = ("train.steps=8", "train.save_every=2", "train.average=3", "train.keep=1", "train.valid_every=100")
    run = train(tmp_path, tiny(*words), Quiet())
    assert Checkpoints(tmp_path).steps() == [4, 6, 8]
    models = [Checkpoints(tmp_path).load(step).tensors["model"] for step in (4, 6, 8)]
    model, found = run.model(run.task())
    for name, weight in model.state_dict().items():
        mean = torch.stack([part[name].double() for part in models]).sum(0) / 3
        torch.testing.assert_close(weight, mean.float(), atol=0, rtol=0)
        assert not torch.equal(weight, models[-1][name])
    assert found.step == 8
    two = average(run.checkpoints, 2).tensors["model"]
    for name, weight in two.items():
        torch.testing.assert_close(weight, ((models[1][name].double() + models[2][name]) / 2).float(), atol=0, rtol=0)


def test_epochs_decide_the_number_of_steps(tmp_path: Path) -> None:
    """Of 120 examples in batches of 40, two at a time; whoever opens the run knows that the last step was the last."""
    words = ["train.epochs=3.5", "train.batch_size=40", "train.accumulate=2", "train.average=2", "train.keep=2"]
    run = train(tmp_path, tiny_epochs(*words), Quiet())
    assert [line["step"] for line in lines(tmp_path) if line["event"] == "step"] == [1, 2, 3, 4, 5, 6]
    assert [line["epoch"] for line in lines(tmp_path) if line["event"] == "step"] == [0, 1, 1, 2, 3, 3]
    assert (run.settings.train.epochs, run.settings.train.steps) == (3.5, 6)
    assert run.checkpoints.regular(6)
    run = train(tmp_path / "odd", tiny_epochs(*words, "train.save_every=4", "train.valid_every=5", "train.seed=1"), Quiet())
    steps = [4, 5, 6]
    models = {step: run.checkpoints.load(step).tensors["model"] for step in steps if step in run.checkpoints.steps()}
    assert list(models)[-2:] == [5, 6]
    model, _ = run.model(run.task())
    for name, weight in model.state_dict().items():
        mean = torch.stack([models[step][name].double() for step in (5, 6)]).mean(0)
        torch.testing.assert_close(weight, mean.to(weight.dtype), atol=0, rtol=0)


def test_a_batch_size_is_a_number_of_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = bahdanau.Model.forward

    def forward(self: bahdanau.Model, batch: Batch) -> Output:
        if self.training:
            sizes.append(len(batch.target))
        return real(self, batch)

    monkeypatch.setattr(bahdanau.Model, "forward", forward)
    watcher = Noted()
    train(tmp_path, tiny_epochs("train.epochs=1", "train.batch_size=50"), watcher)
    assert sorted(sizes) == [20, 50, 50]
    assert any("3 steps of up to 50 examples" in note for note in watcher.notes)


def test_a_resumed_run_counts_only_its_own_tokens(tmp_path: Path) -> None:
    settings = tiny("train.steps=8", "train.valid_every=4")
    with pytest.raises(Interrupted):
        train(tmp_path, settings, Pressed(4, signal.SIGINT))
    before = lines(tmp_path)[-2]["tokens"]

    class Slow(Quiet):
        def begin(self, step: int, steps: int) -> None:
            time.sleep(0.2)

    train(tmp_path, settings, Slow(), resume=True)
    first = next(line for line in lines(tmp_path) if line["step"] == 5)
    assert first["tokens_per_second"] < (first["tokens"] - before) / 0.2 + 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_run_after_its_step(number: signal.Signals, code: int, tmp_path: Path) -> None:
    before = signal.getsignal(number)
    with pytest.raises(
        Interrupted, match=r'stopped at step 3, checkpoint written; go on with: saccade.train\("\S+", resume'
    ) as stop:
        train(tmp_path, tiny(), Pressed(3, number))
    assert stop.value.exit_code == code
    assert Checkpoints(tmp_path).steps() == [3]
    assert signal.getsignal(number) is before


def test_a_signal_in_the_last_step_does_not_undo_the_run(tmp_path: Path) -> None:
    train(tmp_path, tiny("train.steps=3"), Pressed(3, signal.SIGTERM))
    assert Checkpoints(tmp_path).steps() == [3]


def started(path: Path, *words: str) -> None:
    with pytest.raises(Interrupted):
        train(path, tiny("train.steps=6", *words), Pressed(2, signal.SIGINT))


def test_a_changed_config_is_refused_by_its_key(tmp_path: Path) -> None:
    started(tmp_path)
    with pytest.raises(
        UsageError,
        match=r"train\.learning_rate cannot change at step 2 \(0\.01 → 0\.5\): it decided the .* leave it as it was",
    ) as error:
        train(tmp_path, tiny("train.steps=6", "train.learning_rate=0.5"), Quiet(), resume=True)
    assert error.value.exit_code == 2
    with pytest.raises(UsageError, match=r"model\.hidden_size cannot change"):
        train(tmp_path, tiny("train.steps=7", "model.hidden_size=13"), Quiet(), resume=True)
    with pytest.raises(UsageError, match="add resume=True to go on, fresh=True to begin anew, or another out"):
        train(tmp_path, tiny("train.steps=6"), Quiet())


CHANGED = {
    "train": lambda pairs: [*pairs[1:], pairs[0]],
    "valid": lambda pairs: [replace(pairs[0], target=pairs[1].target), *pairs[1:]],
    "test": lambda pairs: [*pairs[:-1], replace(pairs[-1], group="other")],
}


@pytest.mark.parametrize("parts", [["train"], ["valid"], ["test"], ["valid", "test"]])
def test_changed_data_is_refused_by_its_part(parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(tmp_path)
    whole = Run.open(tmp_path).splits()
    changed: dict[str, Any] = {part: CHANGED[part](getattr(whole, part)) for part in parts}
    other = replace(whole, **changed)
    monkeypatch.setattr(Run, "splits", lambda self: other)
    others = f", the {PARTS[parts[1]]} data, too" if parts[1:] else ""
    with pytest.raises(DataError, match=f"the {PARTS[parts[0]]} data has changed{others}; bring it back") as error:
        train(tmp_path, tiny("train.steps=6"), Quiet(), resume=True)
    assert error.value.exit_code == 3


def test_another_number_of_threads_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    started(tmp_path, "train.threads=0")
    told = Noted()
    train(tmp_path, tiny("train.steps=6", "train.threads=0"), told, resume=True)
    assert not any("threads:" in note or "the last bits" in note for note in told.notes)
    started(tmp_path / "other", "train.threads=0")
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    train(tmp_path / "other", tiny("train.steps=6", "train.threads=0"), told, resume=True)
    assert "the run had 1 threads, now there are 2: the last bits will differ" in told.notes


def test_fresh_begins_anew_and_touches_nothing_of_others(tmp_path: Path) -> None:
    train(tmp_path, tiny("train.steps=3"), Quiet())
    expected = contents(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    train(tmp_path, tiny("train.steps=2"), Quiet(), fresh=True)
    assert Checkpoints(tmp_path).steps() == [2]
    train(tmp_path, tiny("train.steps=3"), Quiet(), fresh=True)
    assert contents(tmp_path) == expected
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_directory_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "mine.pt").write_text("precious")
    (tmp_path / "tokenizer.json").write_text("{}")
    for flag in ("", "fresh", "resume"):
        with pytest.raises(UsageError, match="not empty and not a run"):
            train(tmp_path, tiny("train.steps=2"), Quiet(), fresh=flag == "fresh", resume=flag == "resume")
    assert (tmp_path / "checkpoints" / "mine.pt").read_text() == "precious"
    assert (tmp_path / "tokenizer.json").read_text() == "{}"
    assert not (tmp_path / ".lock").exists()


def test_fresh_and_resume_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        train(tmp_path, tiny(), Quiet(), fresh=True, resume=True)


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        train(tmp_path / "file" / "run", tiny(), Quiet())


def test_a_run_without_validation_data_trains_and_has_no_best(tmp_path: Path) -> None:
    (tmp_path / "my.tsv").write_text("".join(f"abc{n}\tcba{n}\n" for n in range(30)))
    words = [
        "data.held_out=0",
        f"data.train={tmp_path / 'my.tsv'}",
        "train.steps=3",
        "train.threads=1",
        "model.hidden_size=8",
    ]
    run = train(tmp_path / "run", resolve({"system": "bahdanau"}, words), Quiet())
    assert [line["event"] for line in lines(run.path)] == ["step"]
    assert not (run.path / "checkpoints" / "BEST").exists()
    assert run.model(run.task())[1].step == 3


def test_compiling_is_told_in_the_first_step_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = bahdanau.Model.forward

    def forward(self: bahdanau.Model, batch: Batch) -> Output:
        """As if a kernel had to be compiled at every step."""
        for listener in list(runtime._listeners):
            listener("gru_forward", None)
            listener("gru_forward", 1.5)
        return real(self, batch)

    monkeypatch.setattr(bahdanau.Model, "forward", forward)
    watcher = Noted()
    train(tmp_path, tiny("train.steps=3", "train.valid_every=100"), watcher)
    told = [note for note in watcher.notes if "compil" in note]
    assert told == [
        "compiling kernels for this machine; they are kept for the next time",
        "compiled 1 kernel in 1.5 s",
    ]
    assert runtime._listeners == []
