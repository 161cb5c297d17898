"""Texts to pre-train on: every review and sentence once, the treebank's test in no part."""

from pathlib import Path

import pytest

from saccade.data.sets.reviews_and_news import TOGETHER, Config, load
from tests import made_texts


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_texts.imdb(tmp_path)
    made_texts.ptb(tmp_path)


def test_every_text_is_there_once() -> None:
    splits = load(Config())
    train, valid = ([example.target for example in part] for part in (splits.train, splits.valid))
    reviews = [text for text in (*train, *valid) if "film, number" in text]
    assert len(reviews) == len(set(reviews)) == 160
    assert any("film, number" in text for text in valid)
    lines = [line for text in train if "film, number" not in text for line in text.split("\n")]
    assert sorted(lines) == sorted(f"train company {n} did n't sell UNK" for n in range(25))
    assert max(text.count("\n") for text in train if "company" in text) == TOGETHER - 1
    assert [text for text in (*train, *valid) if "test company" in text] == []
    assert len([text for text in valid if "valid company" in text]) == 3
    assert {example.input for example in splits.train} == {""}
    assert len(splits.test) == 0


def test_a_part_of_it_keeps_the_validation_set() -> None:
    every, some = load(Config()), load(Config(one_of=4))
    assert some.valid == every.valid
    assert 0 < len(some.train) < len(every.train) / 2
    assert set(some.train) < set(every.train)
