"""A run goes on under another config: what may change, what that leaves, and where it is recorded."""

import json
import os
import re
import signal
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import saccade
from saccade import config, durable_files
from saccade.errors import DataError, UsageError
from saccade.training import config_history
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.resuming import RULES, SECTIONS, Resumption
from saccade.training.run import Run
from saccade.training.settings import SECTIONS as ALL
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from saccade.training.train_config import Config

from .runs import contents, tiny, tiny_epochs
from .sittings import Noted, Pressed, lines
from .test_train import scripted

pytestmark = pytest.mark.usefixtures("put_back")
KEPT = ("train.valid_every=4", "train.save_every=4", "train.log_every=4")


def edit(run: Path, key: str, value: str) -> None:
    """Another value in config.toml, as a person writes it."""
    text = (run / "config.toml").read_text()
    changed = re.sub(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
    assert changed != text
    (run / "config.toml").write_text(changed)


def of(run: Path, *words: str) -> Settings:
    """The settings in its config.toml, with these words."""
    return resolve(config.read(run / "config.toml"), words)


def numbers(run: Path) -> dict[str, str]:
    """What a run came to, without the log's note of the change."""
    found = contents(run)
    log = [line for line in json.loads(found["log"]) if line["event"] != "config"]
    return {**found, "log": json.dumps(log)}


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt"])
def test_an_extended_run_is_the_run_that_was_trained_so_long(schedule: str, tmp_path: Path) -> None:
    words = (*KEPT, f"train.schedule={schedule}")
    train(tmp_path / "whole", tiny(*words, "train.steps=12"), Quiet())
    run = tmp_path / "run"
    train(run, tiny(*words, "train.steps=8"), Quiet())
    with pytest.raises(Interrupted):
        train(run, of(run, "train.steps=12"), Pressed(10, signal.SIGINT), resume=True)
    told = Noted()
    train(run, of(run), told, resume=True)
    assert numbers(run) == numbers(tmp_path / "whole")
    assert not any("stretched" in note for note in told.notes)
    assert Run.open(run).settings == Run.open(tmp_path / "whole").settings
    assert sorted(Checkpoints(run).steps()) == sorted(Checkpoints(tmp_path / "whole").steps())


def test_epochs_extend_a_run_too(tmp_path: Path) -> None:
    words = ("train.schedule=constant", "train.batch_size=40", *KEPT)
    train(tmp_path / "whole", tiny_epochs(*words, "train.epochs=4"), Quiet())
    run = train(tmp_path / "run", tiny_epochs(*words, "train.epochs=2.5"), Quiet()).path
    assert Run.open(run).settings.train.steps == 8
    train(run, of(run, "train.epochs=4"), Quiet(), resume=True)
    assert (run / "config.toml").read_bytes() == (tmp_path / "whole" / "config.toml").read_bytes()
    assert numbers(run) == numbers(tmp_path / "whole")
    with pytest.raises(UsageError, match=r"train\.epochs makes 3 steps, and the run is at step 12; raise train\.epochs"):
        train(run, of(run, "train.epochs=1"), Quiet(), resume=True)


def test_a_change_is_recorded_and_every_checkpoint_still_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [0.5, 0.4, 0.3])
    run = train(tmp_path, tiny(*KEPT, "train.schedule=constant", "train.steps=8"), Quiet()).path
    train(run, of(run, "train.steps=12", "train.keep=2"), Quiet(), resume=True)
    (event,) = [line for line in lines(run) if line["event"] == "config"]
    assert event["step"] == 8
    assert event["changes"] == {"train.steps": {"from": 8, "to": 12}, "train.keep": {"from": 3, "to": 2}}
    first, second = (json.loads(line) for line in (run / "configs.jsonl").read_text().splitlines())
    assert (first["step"], first["changes"], second["step"]) == (0, {}, 8)
    assert second["changes"] == event["changes"]
    assert second["config"] == (run / "config.toml").read_text()
    for which in ("best", "last", 8):  # the best was made under the earlier config
        assert saccade.load(run, which).step in (4, 8, 12)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_a_schedule_that_depends_on_the_steps_is_stretched_and_told(schedule: str, tmp_path: Path) -> None:
    run = train(tmp_path, tiny(*KEPT, f"train.schedule={schedule}", "train.steps=8"), Quiet()).path
    told = Noted()
    train(run, of(run, "train.steps=12"), told, resume=True)
    (note,) = [note for note in told.notes if "stretched" in note]
    assert note.startswith(f"train.schedule={schedule} is stretched to 12 steps: the learning rate goes on at 0.00")
    assert Checkpoints(run).steps()[-1] == 12


def test_an_edited_config_is_noticed_and_taken(tmp_path: Path) -> None:
    run = train(tmp_path, tiny(*KEPT, "train.schedule=constant", "train.steps=4"), Quiet()).path
    edit(run, "steps", "6")
    edit(run, "patience", "7")
    with pytest.raises(DataError, match=r"config.toml: expected the file .* train on with it: saccade.train\("):
        saccade.load(run)
    told = Noted()
    train(run, of(run), told, resume=True)
    assert "train.patience: 0 → 7, from step 4 on" in told.notes
    assert saccade.load(run, "last").step == 6
    (run / "config.toml").write_text("# mine\n" + (run / "config.toml").read_text())
    train(run, of(run), told, resume=True)  # which says the same
    assert saccade.load(run, "last").step == 6


def test_an_edited_key_is_not_passed_over(tmp_path: Path) -> None:
    """Whoever names the recipe again does not see what was edited in the run."""
    settings = tiny(*KEPT, "train.steps=4")
    run = train(tmp_path, settings, Quiet()).path
    edit(run, "steps", "6")
    with pytest.raises(UsageError, match=r"config.toml: train.steps was edited \(4 → 6\), and another value is asked for"):
        train(run, settings, Quiet(), resume=True)
    train(run, of(run, "train.keep=1"), Quiet(), resume=True)
    assert saccade.load(run, "last").step == 6


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("train.steps=3", "a run may end later, but not before the step where it is"),
        ("train.batch_tokens=700", "the place in the training data is counted in such batches"),
        ("train.accumulate=2", "every update so far was made of so many batches"),
        ("train.optimizer=adamw", "what the optimizer remembers is its own"),
        ("train.warmup=2", "it decided the learning rates of the steps so far"),
        ("train.schedule=linear", "it decided the learning rates of the steps so far"),
        ("train.beta2=0.99", "every update so far was made with it"),
        ("train.clip=2.0", "every update so far was made with it"),
        ("train.seed=1", "it decided the initial parameters and the order of the data"),
        ("model.dropout=0.0", "its parameters were trained as they are"),
        ("search.beam=7", "validations so far searched with it"),
        ("writer.label_smoothing=0.1", "what was trained and validated so far depended on it"),
    ],
)
def test_what_would_rewrite_the_past_is_refused_by_name(
    word: str, reason: str, tmp_path_factory: pytest.TempPathFactory, stopped: Path
) -> None:
    before = (stopped / "config.toml").read_bytes()
    key = word.partition("=")[0]
    with pytest.raises(UsageError, match=rf"{re.escape(key)} cannot change at step 4 \(.* → .*\): {reason}"):
        train(stopped, replace(of(stopped), **_with(of(stopped), word)), Quiet(), resume=True)
    assert (stopped / "config.toml").read_bytes() == before


def _with(settings: Settings, word: str) -> dict[str, Any]:
    (section, values), *_ = config.words([word]).items()
    return {section: replace(getattr(settings, section), **values)}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a checkpoint at step 4 of 14."""
    run = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.raises(Interrupted):
        train(run, tiny(), Pressed(4, signal.SIGINT))
    return run


def test_what_is_not_yet_past_may_change() -> None:
    """The schedule while the warm-up, in which all are the same, lasts; a rate never."""
    warm = Config(warmup=5, schedule="cosine", steps=20)
    past = Resumption(warm, replace(warm, schedule="linear"), 4, 0)
    assert RULES["schedule"][0](past)
    assert not RULES["schedule"][0](replace(past, step=8))
    assert not RULES["learning_rate"][0](replace(past, now=replace(warm, learning_rate=0.5)))
    assert RULES["min_learning_rate"][0](replace(past, now=replace(warm, min_learning_rate=1e-5)))


def test_every_key_has_a_rule_with_a_reason() -> None:
    assert RULES.keys() == {field.name for field in fields(Config)}
    assert {"train", "data", *SECTIONS} == {"system", "task", "start", *ALL}
    assert all(reason for _, reason in RULES.values())


def test_more_patience_goes_on_and_less_is_refused_where_it_would_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, [0.5, 0.4, 0.6, 0.5, 0.4, 0.3, 0.2])
    words = ("train.steps=100", "train.valid_every=2", "train.patience=2", "train.schedule=constant")
    run = train(tmp_path, tiny(*words), Quiet()).path
    assert Checkpoints(run).steps()[-1] == 10
    told = Noted()
    train(run, of(run), told, resume=True)
    assert told.notes[-1].endswith("there is nothing left to train; raise train.patience to go on from step 10")
    with pytest.raises(UsageError, match=r"train\.patience cannot change .* with it the run would have ended before"):
        train(run, of(run, "train.patience=1"), Quiet(), resume=True)
    train(run, of(run, "train.patience=3"), Quiet(), resume=True)
    assert Checkpoints(run).steps()[-1] == 12


def test_data_that_was_moved_is_taken_and_other_data_is_not(tmp_path: Path) -> None:
    text = "".join(f"abc{n}\tcba{n}\n" for n in range(30))
    for name in ("a", "b"):
        (tmp_path / f"{name}.tsv").write_text(text)
    (tmp_path / "c.tsv").write_text(text.replace("cba7", "other"))
    words = [f"data.train={tmp_path / 'a.tsv'}", "train.steps=2", "train.threads=1", "model.hidden_size=8"]
    run = train(tmp_path / "run", resolve({"system": "bahdanau"}, words), Quiet()).path
    moved = replace(of(run), data=replace(of(run).data, train=str(tmp_path / "b.tsv")))
    train(run, moved, Quiet(), resume=True)
    assert Run.open(run).settings.data.train == str(tmp_path / "b.tsv")
    other = replace(of(run), data=replace(of(run).data, train=str(tmp_path / "c.tsv")))
    with pytest.raises(DataError, match=r"the (training|validation) data \(\S+c\.tsv\) has changed.*another out"):
        train(run, other, Quiet(), resume=True)


@pytest.mark.parametrize("at", [1, 2])
def test_a_kill_between_history_and_config_loses_nothing(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before either of the two files has its name."""
    run = train(tmp_path, tiny(*KEPT, "train.schedule=constant", "train.steps=4"), Quiet()).path
    real, count = durable_files.replace, iter(range(1, 100))

    def killed(*args: Any) -> None:
        if next(count) == at:
            raise KeyboardInterrupt
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(durable_files, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            train(run, of(run, "train.steps=6"), Quiet(), resume=True)
    assert saccade.load(run, "last").step == 4
    train(run, of(run, "train.steps=6"), Quiet(), resume=True)
    assert saccade.load(run, "last").step == 6
    assert len(config_history.read(run)) == 2


def test_without_its_history_a_run_goes_on_but_takes_no_edited_config(tmp_path: Path) -> None:
    run = train(tmp_path, tiny(*KEPT, "train.schedule=constant", "train.steps=4"), Quiet()).path
    os.unlink(run / "configs.jsonl")
    before = (run / "config.toml").read_bytes()
    edit(run, "steps", "6")
    with pytest.raises(DataError, match=r"config\.toml: expected the file"):
        train(run, of(run), Quiet(), resume=True)
    (run / "config.toml").write_bytes(before)
    train(run, of(run, "train.steps=6"), Quiet(), resume=True)
    assert saccade.load(run, "best").step in (4, 6)
    assert [one.step for one in config_history.read(run)] == [0, 4]
