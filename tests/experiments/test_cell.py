"""Cells of tables: what they keep, that nothing is trained twice, and that an interruption changes no score."""

import json
import shutil
from pathlib import Path

import pytest

from saccade.errors import UsageError
from saccade.experiments.cell import Cell, minutes
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from tests.training.runs import StopAt, tiny


def test_minutes_are_those_of_training(tmp_path: Path) -> None:
    """Line by line, and at a line's pace also what an interruption kept from being timed."""
    lines = [
        {"event": "step", "step": 10, "tokens": 6000, "tokens_per_second": 100, "time": 1.0},
        {"event": "valid", "step": 10, "scores": {}, "time": 9.0},
        {"event": "step", "step": 20, "tokens": 12000, "tokens_per_second": 50, "time": 99999.0},
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert minutes(tmp_path) == 3.0


@pytest.mark.usefixtures("put_back")
def test_a_cell_keeps_its_scores(tmp_path: Path) -> None:
    whole = Cell(tmp_path / "whole", "a", 0, tiny("train.steps=8"))
    assert whole.kept("test") is None
    kept = whole.complete("test", Quiet())
    assert whole.kept("test") == kept
    assert (kept["step"], kept["split"], kept["scores"]["all"]["examples"]) == (8, "test", 20)
    assert whole.kept("valid") is None
    shutil.rmtree(whole.path / "checkpoints")
    assert whole.kept("test") == kept
    (whole.path / "scores.json").write_text("{}")
    assert whole.kept("test") is None


@pytest.mark.usefixtures("put_back")
def test_an_interrupted_cell_comes_to_the_same_scores(tmp_path: Path) -> None:
    settings = tiny("train.steps=8")
    kept = Cell(tmp_path / "whole", "a", 0, settings).complete("test", Quiet())
    split = Cell(tmp_path / "split", "a", 0, settings)
    with pytest.raises(Interrupted, match=r"split: stopped at step 3, checkpoint written; the same command") as stop:
        split.complete("test", StopAt(3))
    assert stop.value.exit_code == 130
    assert split.kept("test") is None
    split.check()
    assert split.complete("test", Quiet())["scores"] == kept["scores"]


@pytest.mark.usefixtures("put_back")
def test_other_settings_are_found_out(tmp_path: Path) -> None:
    Cell(tmp_path, "a", 0, tiny("train.steps=2")).complete("test", Quiet())
    other = Cell(tmp_path, "a", 0, tiny("train.steps=3", "train.learning_rate=0.02"))
    with pytest.raises(UsageError, match=r"train.steps: 2 → 3 and 1 more.*fresh=True.*another out"):
        other.check()
    shutil.rmtree(tmp_path / "checkpoints")
    with pytest.raises(UsageError, match=r"train.steps: 2 → 3"):
        other.check()
    other.begin_anew()
    assert other.due("test")
    assert other.kept("test") is not None  # which stands until the new one has a checkpoint
    other.complete("test", Quiet())
    other.check()
    assert not other.due("test")
    assert other.kept("test") is not None


@pytest.mark.usefixtures("put_back")
def test_a_cell_that_is_begun_anew_and_interrupted_goes_on(tmp_path: Path) -> None:
    settings = tiny("train.steps=5", "train.learning_rate=0.02")
    whole = Cell(tmp_path / "whole", "a", 0, settings).complete("test", Quiet())
    before = Cell(tmp_path / "run", "a", 0, tiny("train.steps=2")).complete("test", Quiet())
    cell = Cell(tmp_path / "run", "a", 0, settings)
    cell.begin_anew()
    with pytest.raises(Interrupted, match=r"stopped at step 3, checkpoint written; the same command \(without fresh=True\)"):
        cell.complete("test", StopAt(3), fresh=True)
    assert (cell.anew, cell.kept("test")) == (True, before)
    assert cell.complete("test", Quiet())["scores"] == whole["scores"]
    assert not cell.due("test")


def test_metrics_and_data_are_checked_before_training(tmp_path: Path) -> None:
    cell = Cell(tmp_path, "a", 0, tiny())
    for metric in ("exact_match", "loss"):
        cell.check_metric(metric)
    with pytest.raises(UsageError, match=r"unknown metric of the table 'bleu'"):
        cell.check_metric("bleu")
    Cell(tmp_path, "a", 0, tiny("writer.metric=bleu")).check_metric("bleu")
    assert cell.groups("test") == {"tagged", "untagged"}
