"""Texts with a label for each word: columns with blank lines between sentences, or as many labels as words."""

from pathlib import Path

import pytest

from saccade.data.examples import Example
from saccade.data.formats.tagged_files import Config, inputs_of, load, read
from saccade.errors import DataError, UsageError

CONLL = "-DOCSTART- -X- O O\n\nU.N. NNP I-NP B-ORG\nofficial NN I-NP O\n\nEkeus NNP B-PER\n"
WANTED = [Example("U.N. official", "B-ORG O"), Example("Ekeus", "B-PER")]


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "a.tsv", "a.bio"])
def test_a_word_and_its_label_a_line(name: str, tmp_path: Path) -> None:
    assert read(written(tmp_path / name, CONLL), Config()) == WANTED
    assert read(written(tmp_path / f"windows-{name}", CONLL.replace("\n", "\r\n")), Config()) == WANTED


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "U.N. official\tB-ORG O\nEkeus\tB-PER\n"),
        ("a.tsv", "sentence\ttags\nU.N. official\tB-ORG O\nEkeus\tB-PER\n"),
        ("a.csv", "text,label\nU.N. official,B-ORG O\nEkeus,B-PER\n"),
        (
            "a.jsonl",
            '{"tokens": ["U.N.", "official"], "ner_tags": ["B-ORG", "O"]}\n{"tokens": ["Ekeus"], "ner_tags": ["B-PER"]}',
        ),
    ],
)
def test_as_many_labels_as_words(name: str, text: str, tmp_path: Path) -> None:
    assert read(written(tmp_path / name, text), Config()) == WANTED


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.tsv", "one two\tO\n", r"a.tsv:1: expected as many labels as words, got 1 for 2 words"),
        ("a.conll", "one O\ntwo\n", r"a.conll:1: expected a word and its label on each line, got 'two'"),
        ("a.conll", "\n\n", r"a.conll"),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(name: str, text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        read(written(tmp_path / name, text), Config())


def test_some_are_held_out(tmp_path: Path) -> None:
    file = written(tmp_path / "a.conll", "\n".join(f"word{n} X\n" for n in range(40)))
    splits = load(Config(train=file, held_out=0.1))
    assert (len(splits.train), len(splits.valid)) == (36, 4)
    with pytest.raises(UsageError, match=r"data\.train: expected a file, got nothing"):
        load(Config())


@pytest.mark.parametrize("text", ["John B-PER\nsleeps O\n\nMary B-PER\n", "John\nsleeps\n\nMary\n\n"])
def test_words_are_predicted_with_or_without_labels(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text(text)
    assert inputs_of(str(tmp_path / "a.conll")) == ["John sleeps", "Mary"]
    assert inputs_of(str(tmp_path / "a.txt")) is None
