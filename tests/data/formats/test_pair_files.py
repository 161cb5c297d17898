"""Pairs of texts with labels, and single texts, from your own files; by names of columns that data sets have."""

from pathlib import Path

import pytest

from saccade.data.examples import Example, Pair
from saccade.data.formats.pair_files import Config, inputs_of, load, read
from saccade.errors import DataError, UsageError


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "text,pair,label\none,two,yes\n"),
        ("a.csv", "id,sentence1,sentence2,label\n7,one,two,yes\n"),
        ("a.tsv", "premise\thypothesis\tlabel\none\ttwo\tyes\n"),
        ("a.jsonl", '{"question1": "one", "question2": "two", "label": "yes"}\n'),
        ("a.json", '[{"text": "one", "text_pair": "two", "label": "yes"}]'),
    ],
)
def test_pairs_are_known_by_the_names_of_their_columns(name: str, text: str, tmp_path: Path) -> None:
    assert read(written(tmp_path / name, text), Config()) == [Example(Pair("one", "two"), "yes")]


def test_a_column_is_named_and_a_missing_one_is_guessed(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "question,sentence,label\none,two,1\n")
    assert read(file, Config(text="question", pair="sentence")) == [Example(Pair("one", "two"), "1")]
    with pytest.raises(DataError, match=r"expected a column 'sentense', columns are question, sentence, label"):
        read(file, Config(text="question", pair="sentense"))
    with pytest.raises(UsageError, match=r"data.pair=b: expected a file whose columns have names"):
        read(str(tmp_path), Config(pair="b"))


def test_texts_stand_alone_where_there_is_no_second(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.tsv", "one\tyes\ntwo\tno\n"), Config()) == [
        Example("one", "yes"),
        Example("two", "no"),
    ]
    assert read(written(tmp_path / "a.csv", "text,label\none,yes\n"), Config()) == [Example("one", "yes")]


def test_bad_rows_are_told_by_line_and_equal_pairs_are_held_out_together(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "text,pair,label\none,two,yes\none,,yes\n")
    with pytest.raises(DataError, match=r"a.csv:3: expected a second text, got empty text"):
        read(file, Config())
    rows = "".join(f"{n % 20},b,{n % 2}\n" for n in range(60))
    splits = load(Config(train=written(tmp_path / "b.csv", f"text,pair,label\n{rows}"), held_out=0.2))
    assert not {one.input for one in splits.train} & {one.input for one in splits.valid}
    assert len(splits.valid) == 12
    with pytest.raises(UsageError, match=r"data\.train: expected a file, got nothing"):
        load(Config())


def test_inputs_are_texts_or_pairs(tmp_path: Path) -> None:
    assert list(inputs_of(written(tmp_path / "a.csv", "text,pair\none,two\n")) or ()) == [Pair("one", "two")]
    assert list(inputs_of(written(tmp_path / "b.csv", "text\none\n")) or ()) == ["one"]
    assert inputs_of("c.txt") is None
