"""Event files say what the log says, once, whatever happened to the run; read back by the format's own rules."""

import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tensorboardX.crc32c import crc32c
from tensorboardX.proto.event_pb2 import Event, SessionLog

from saccade.errors import MissingExtra
from saccade.training.progress import Quiet
from saccade.training.tensorboard import event_files, scalars
from saccade.training.train import train
from saccade.training.trainer import Report

from .runs import tiny
from .sittings import lines

WORDS = ("train.tensorboard=true", "train.steps=8")
Scalars = dict[tuple[str, int], float]


def records(path: Path) -> Iterator[bytes]:
    """The records of a file: length, its checksum, content, its checksum."""
    data, place = path.read_bytes(), 0
    while place < len(data):
        head = data[place : place + 8]
        size = struct.unpack("<Q", head)[0]
        content = data[place + 12 : place + 12 + size]
        sums = [data[place + 8 : place + 12], data[place + 12 + size : place + 16 + size]]
        assert sums == [_masked(head), _masked(content)]
        yield content
        place += 16 + size


def _masked(content: bytes) -> bytes:
    sum_ = crc32c(content)
    return struct.pack("<I", (((sum_ >> 15) | (sum_ << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def shown(run: Path) -> Scalars:
    """What TensorBoard shows of a run; a session that starts takes back what was written of its step and later ones."""
    found: Scalars = {}
    for path in event_files(run):
        events = [Event.FromString(record) for record in records(path)]
        assert events[0].file_version == "brain.Event:2"
        for event in events[1:]:
            if event.HasField("session_log") and event.session_log.status == SessionLog.START:
                found = {key: value for key, value in found.items() if key[1] < event.step}
            for value in event.summary.value:
                assert (value.tag, event.step) not in found, "written twice"
                found[value.tag, event.step] = value.simple_value
    return found


def logged(run: Path) -> Scalars:
    return {(name, line["step"]): value for line in lines(run) for name, value in scalars(line).items()}


def timeless(found: Scalars) -> Scalars:
    return {key: value for key, value in found.items() if not key[0].startswith("machine/")}


class Fails(Quiet):
    """Ends a run without a checkpoint."""

    def __init__(self, step: int) -> None:
        self.at = step

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        if report.step == self.at:
            raise OSError("the power is gone")


def test_the_names_of_a_line() -> None:
    step = {"event": "step", "step": 3, "time": 1.0, "loss": 0.5, "learning_rate": 0.1, "rss_mb": 9, "grad_norm": "inf"}
    ranks = {"ranks": [{"rank": 0, "rss_mb": 9}, {"rank": 1, "rss_mb": 7}]}
    assert scalars(step | ranks) == {
        "train/loss": 0.5,
        "train/learning_rate": 0.1,
        "train/grad_norm": float("inf"),
        "machine/rss_mb": 9.0,
        "ranks/rss_mb/rank_0": 9.0,
        "ranks/rss_mb/rank_1": 7.0,
    }
    valid = {"event": "valid", "step": 3, "time": 1.0, "best": True, "scores": {"all": {"loss": 1.5}, "de": {"loss": 2}}}
    assert scalars(valid) == {"valid/loss": 1.5, "valid_by_group/loss/de": 2.0}
    assert scalars({"event": "config", "step": 3, "time": 1.0, "changes": {}}) == {}


def test_a_run_writes_what_its_log_says(tmp_path: Path) -> None:
    train(tmp_path, tiny(*WORDS), Quiet())
    found = shown(tmp_path)
    assert found == pytest.approx(logged(tmp_path), rel=1e-6)
    names = {name for name, _ in found}
    assert {"train/loss", "train/learning_rate", "train/grad_norm", "machine/tokens_per_second"} <= names
    assert {"machine/examples_per_second", "valid/exact_match"} <= names
    assert any(name.startswith("valid_by_group/exact_match/") for name in names)


def test_what_was_written_after_the_last_checkpoint_is_not_shown_twice(tmp_path: Path) -> None:
    settings = tiny(*WORDS, "train.save_every=4", "train.valid_every=8")
    train(tmp_path / "whole", settings, Quiet())
    with pytest.raises(OSError, match="power"):
        train(tmp_path / "torn", settings, Fails(7))
    assert max(step for _, step in shown(tmp_path / "torn")) == 6  # and the checkpoint is that of step 4
    train(tmp_path / "torn", settings, Quiet(), resume=True)
    assert len(event_files(tmp_path / "torn")) == 2
    assert timeless(shown(tmp_path / "torn")) == timeless(shown(tmp_path / "whole"))


def test_events_that_are_asked_for_later_begin_with_the_log(tmp_path: Path) -> None:
    train(tmp_path, tiny("train.steps=4"), Quiet())
    assert event_files(tmp_path) == []
    train(tmp_path, tiny(*WORDS), Quiet(), resume=True)
    assert shown(tmp_path) == pytest.approx(logged(tmp_path), rel=1e-6)


def test_a_new_run_takes_the_place_with_its_events(tmp_path: Path) -> None:
    train(tmp_path, tiny(*WORDS), Quiet())
    (tmp_path / "tensorboard" / "notes.txt").write_text("of somebody else")
    before = event_files(tmp_path)
    train(tmp_path, tiny(*WORDS, "train.seed=1"), Quiet(), fresh=True)
    assert not set(before) & set(event_files(tmp_path))
    assert shown(tmp_path) == pytest.approx(logged(tmp_path), rel=1e-6)
    train(tmp_path, tiny("train.steps=4"), Quiet(), fresh=True)
    assert [path.name for path in (tmp_path / "tensorboard").iterdir()] == ["notes.txt"]
    train(tmp_path / "own", tiny(*WORDS), Quiet())
    train(tmp_path / "own", tiny("train.steps=4"), Quiet(), fresh=True)
    assert not (tmp_path / "own" / "tensorboard").exists()


def test_without_the_package_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtra, match=r"pip install 'saccade\[tensorboard\]'"):
        train(tmp_path / "run", tiny(*WORDS), Quiet())
    assert list(tmp_path.iterdir()) == []
