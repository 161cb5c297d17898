"""easy-VQA: every question has its own picture, and pictures are held out with all questions about them."""

import os
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from saccade.data.sets.easy_vqa import Config, load
from saccade.errors import DataError
from tests import made_questions

STAGED = os.environ.get("SACCADE_DATA")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_questions.easy_vqa(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_a_question_has_its_own_picture() -> None:
    splits = load(Config(held_out=0.3))
    assert [len(splits.train) + len(splits.valid), len(splits.test)] == [60, 60]
    for one in [*splits.train, *splits.valid, *splits.test]:
        red, _, blue = one.input.picture.pixels[0, 0]
        assert one.target in (("red" if red > blue else "blue", "circle", "yes" if red > blue else "no"))
    assert {one.group for one in splits.test} == {"color", "shape", "yes or no"}
    names = [{one.name for one in part} for part in (splits.train, splits.valid)]
    assert names[1]
    assert not names[0] & names[1]
    assert set(Counter(one.name for one in splits.valid).values()) == {3}
    assert len({id(one.input.picture) for one in splits.test}) == 20


@pytest.mark.usefixtures("directory")
def test_the_control_sees_nothing_and_size_is_chosen() -> None:
    assert all((one.input.picture.pixels == 255).all() for one in load(Config(blank=True)).test)
    assert load(Config(size=16)).test[0].input.picture.pixels.shape == (16, 16, 3)
    assert not load(Config(held_out=0)).valid


def test_an_archive_of_other_things_is_refused(directory: Path) -> None:
    with zipfile.ZipFile(directory / "easy-vqa" / "easy-vqa-data.zip", "w") as archive:
        archive.writestr("data/train/questions.json", '[["what?", "red", 7]]')
    with pytest.raises(DataError, match=r"easy-vqa-data.zip: expected pictures and questions.*download it again"):
        load(Config())


@pytest.mark.skipif(not (STAGED and (Path(STAGED) / "easy-vqa").is_dir()), reason="the set is not in SACCADE_DATA")
def test_the_published_set() -> None:
    splits = load(Config())
    assert [len(splits.train) + len(splits.valid), len(splits.test)] == [38_575, 9_673]
    assert len({one.target for one in splits.train}) == 13
