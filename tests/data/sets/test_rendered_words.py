"""Rendered words: the same pictures from the same seed, words of their own for each part, and no test word in training."""

import gzip
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import Splits
from saccade.data.sets import iiit5k, rendered_words, svt
from saccade.data.sets.rendered_words import Config, hashed, load, word_list
from saccade.data.stored import preparations
from saccade.training.data_notes import data_notes

from ..test_word_fonts import own
from .test_iiit5k import made

STAGED = os.environ.get("SACCADE_DATA")
LISTED = [f"{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in "lmnrst"]
SIZES: dict[str, Any] = {"train_size": 120, "valid_size": 5, "test_size": 7, "height": 12, "width": 30}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ptb"
    folder.mkdir()
    text = " ".join([*LISTED, "<unk>", "u.s.", "N"])
    (folder / "ptb.train.txt.gz").write_bytes(gzip.compress(f" {text} \n".encode()))
    train = {f"train/{number}.png": word for number, word in enumerate(["Own", "BAL", "Hotel", "bam"])}
    made(tmp_path, "iiit5k", iiit5k.ARCHIVE, train | {"test/0.png": "HOTEL"})
    made(tmp_path, "svt", svt.ARCHIVE, {"images/0.jpg": "DOOR"})
    own(tmp_path / "own")
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    monkeypatch.setenv(preparations.VARIABLE, str(tmp_path / "cache"))
    hashes = tmp_path / "hashes.txt"
    hashes.write_text(f"{hashed('hotel')} {hashed('door')}\n{hashed('bal')}\n")
    monkeypatch.setattr(rendered_words, "HASHES", hashes)
    rendered_words.real_test_words.cache_clear()
    yield tmp_path  # type: ignore[misc]
    rendered_words.real_test_words.cache_clear()


def config(directory: Path, **changed: Any) -> Config:
    return Config(**{**SIZES, "fonts": str(directory / "own"), **changed})


def texts(part: Any) -> set[str]:
    return {one.target for one in part}


def test_no_word_of_a_test_is_in_the_training_set(directory: Path) -> None:
    words = word_list()
    assert sum(map(len, words.parts.values())) == len(LISTED) - 1  # "bal" is in the test of real words
    assert not {*words.parts["train"]} & {*words.parts["valid"], *words.parts["test"]}
    found = load(config(directory, real=2, train_size=600))
    assert texts(found.valid) <= {*words.parts["valid"]}
    own = [one for one in found.test if one.group in ("straight", "curved")]
    assert texts(own) <= {*words.parts["test"]}
    assert not texts(found.train) & {*texts(found.valid), *texts(found.test), "bal"}
    assert texts(found.train) & {*words.parts["train"]}
    assert any(text.isdigit() for text in texts(found.train))
    assert Counter(one.target for one in found.train)["own"] == 2
    assert Counter(one.group for one in found.test) == {"straight": 7, "curved": 7, "iiit5k": 1, "svt": 1}


def test_pictures_depend_on_the_seed_and_tests_do_not(directory: Path) -> None:
    one, other = load(config(directory)), load(config(directory, seed=1))
    assert one.fingerprint()["train"] != other.fingerprint()["train"]
    assert one.fingerprint()["test"] == other.fingerprint()["test"]
    kept = directory / "cache"
    before = {path.name: path.stat().st_mtime_ns for path in kept.glob("*/pixels.npy")}
    again = load(config(directory))
    assert {path.name: path.stat().st_mtime_ns for path in kept.glob("*/pixels.npy")} == before
    assert again.fingerprint() == one.fingerprint()
    for folder in kept.iterdir():
        folder.rename(folder.with_name(f"old-{folder.name}"))
    assert load(config(directory)).fingerprint() == one.fingerprint()


def test_a_picture_is_the_same_however_many_there_are(directory: Path) -> None:
    few, more = load(config(directory)), load(config(directory, train_size=130))
    for one, other in zip(few.train, more.train[:120], strict=True):
        assert one.target == other.target
        assert np.array_equal(one.input.pixels, other.input.pixels)
    assert few.train[0].input.pixels.shape == (12, 30)
    assert len({one.input.pixels.tobytes() for one in more.train}) == 130


def test_too_few_fonts_are_told(directory: Path) -> None:
    found = load(config(directory))
    (note,) = found.notes
    assert note.startswith("words are drawn in 1 font only (")
    assert "saccade data get fonts" in note
    settings: Any = type("Settings", (), {"train": type("Train", (), {"epochs": 0, "warmup": 1, "steps": 100})})
    assert note in [*data_notes(Splits(found.train, found.valid, [], notes=found.notes), settings, None, False)]


@pytest.mark.skipif(not STAGED or not Path(STAGED, "svt").is_dir(), reason="needs the data sets of real words")
def test_the_hashes_are_those_of_the_published_tests() -> None:
    listed = [*iiit5k.labels(iiit5k.SET), *iiit5k.labels(svt.SET)]
    words = {hashed(text) for name, text in listed if not name.startswith("train/")}
    assert words == rendered_words.real_test_words()
