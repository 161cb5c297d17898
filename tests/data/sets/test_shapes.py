"""SHAPES: pictures in red, green and blue, a question each, yes or no."""

import gzip
import os
from pathlib import Path

import pytest

from saccade.data.sets.shapes import Config, load
from saccade.errors import DataError
from tests import made_questions

STAGED = os.environ.get("SACCADE_DATA")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_questions.shapes(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_pictures_questions_and_answers_line_by_line() -> None:
    splits = load(Config())
    assert [one.target for one in splits.train] == ["yes", "no", "no", "yes"]
    assert [str(part[0].input) for _, part in splits.parts()] == ["is a shape 0 ?", "is a shape 2 ?", "is a shape 3 ?"]
    assert str(load(Config(train="tiny")).train[0].input) == "is a shape 1 ?"
    pixels = splits.test[3].input.picture.pixels
    assert pixels[0, 0].tolist() == [255, 0, 0]
    assert pixels[29, 29].tolist() == [0, 0, 255]
    assert (load(Config(blank=True)).test[0].input.picture.pixels == 255).all()


@pytest.mark.parametrize(
    ("file", "content"), [("val.output", b"true\n"), ("val.output", b"1\n" * 4), ("val.input.npy", b"x")]
)
def test_damaged_files(file: str, content: bytes, directory: Path) -> None:
    (directory / "shapes" / f"{file}.gz").write_bytes(gzip.compress(content))
    with pytest.raises(DataError, match=r"val\.input\.npy.*download it again"):
        load(Config())


@pytest.mark.skipif(not (STAGED and (Path(STAGED) / "shapes").is_dir()), reason="the set is not in SACCADE_DATA")
def test_the_published_set_has_a_red_square_where_it_says_so() -> None:
    splits = load(Config())
    assert [len(part) for _, part in splits.parts()] == [640, 1024, 1024]
    asked = "is a red shape a square ?"
    told = [one for part in (splits.valid, splits.test) for one in part if str(one.input) == asked and one.target == "yes"]
    assert told
    for one in told:
        red, green, blue = one.input.picture.pixels.reshape(-1, 3).astype(int).T
        assert ((red > 150) & (green < 80) & (blue < 80)).sum() > 10
