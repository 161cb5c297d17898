"""The 20 tasks: whole stories are held out, and what is missing is replaced as is said."""

import os
from pathlib import Path

import pytest

from saccade.data.formats.story_files import of_lines
from saccade.data.sets.babi import Config, held_out, load
from saccade.errors import UsageError
from tests import made_texts

STAGED = os.environ.get("SACCADE_DATA")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_texts.babi(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_a_task_is_a_group_and_its_stories_stay_together() -> None:
    splits = load(Config(task=2))
    assert {one.group for _, part in splits.parts() for one in part} == {" 2 two supporting facts"}
    train, valid = ({one.input.statements[0] for one in part} for part in (splits.train, splits.valid))
    assert len(splits.valid) == 2
    assert not train & valid
    assert not load(Config(task=2, held_out=0)).valid


@pytest.mark.usefixtures("directory")
def test_all_tasks_come_together_and_the_answers_of_all_parts_are_known() -> None:
    splits = load(Config())
    assert len({one.group for one in splits.train}) == 20
    assert "only in the test" in splits.labels
    assert "only in the test" not in {one.target for one in splits.train}


@pytest.mark.usefixtures("directory")
def test_the_missing_file_is_replaced() -> None:
    splits = load(Config(task=3, size="10k"))
    told = {word for one in splits.train for word in one.input.statements[0].split()}
    assert {"en.", "en-valid-10k."} <= told
    assert "en-10k." not in told
    assert "en-10k" in load(Config(task=2, size="10k")).train[0].input.statements[0]


def test_what_is_held_out_does_not_depend_on_the_order() -> None:
    stories = [[f"1 {name} is here.", "2 who?\tx", f"3 {name} goes.", "4 who?\ty"] for name in "abcdefghij"]
    parts = [
        held_out(list(of_lines([line for story in order for line in story])), 0.2) for order in (stories, stories[::-1])
    ]
    for _, valid in parts:
        assert len(valid) == 4
        assert {str(one.input) for one in valid} == {str(one.input) for one in parts[0][1]}


def test_there_are_20_tasks() -> None:
    with pytest.raises(UsageError, match="expected 1 to 20"):
        Config(task=21)


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no data")
@pytest.mark.parametrize(("size", "train", "valid"), [("1k", 900, 100), ("10k", 9000, 1000)])
def test_the_published_files_are_read(size: str, train: int, valid: int) -> None:
    splits = load(Config(task=1, size=size))  # type: ignore[arg-type]
    assert (len(splits.train), len(splits.valid), len(splits.test)) == (train, valid, 1000)
