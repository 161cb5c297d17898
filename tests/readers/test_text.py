"""Texts: a tokenizer with the run, rows as long as may be, pieces of what is longer."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data import tokenizers
from saccade.data.examples import Example, Splits
from saccade.errors import DataError, UsageError
from saccade.readers.text import Config, Reader, pieces
from tests.made_tasks import nothing

EXAMPLES = [Example("ein Haus", "a house"), Example("das alte Haus am See", "the old house"), Example("See", "lake")]


def fitted(kind: Literal["char", "word", "bpe"] = "char", texts: list[str] | None = None, **keys: object) -> Reader:
    splits = Splits(EXAMPLES, [Example("ж", "ю")], [Example("я", "я")])
    return Reader.fit(Config(**keys), tokenizers.Config(kind=kind, size=300), splits, texts or [])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_it_comes_back_from_the_run(kind: Literal["char", "word", "bpe"], tmp_path: Path) -> None:
    reader = fitted(kind)
    reader.save(tmp_path)
    again = Reader.load(reader.config, tmp_path)
    assert again.sizes() == reader.sizes()
    for text in ("das alte house é", "</s> lake"):
        assert again.encode([text]).rows == reader.encode([text]).rows
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
        Reader.load(reader.config, tmp_path)


def test_only_the_training_data_is_learned_and_what_the_writer_adds() -> None:
    unknown = fitted().tokenizer.vocabulary.unknown
    assert fitted().tokenizer.encode("жяo") == [unknown] * 3
    assert unknown not in fitted(texts=["woo"]).tokenizer.encode("o")


def test_a_batch_is_padded_and_knows_its_lengths() -> None:
    reader = fitted()
    batch = reader.encode(["See", "ein Haus", ""]).batch([1, 0, 2])
    assert batch.lengths.tolist() == [8, 3, 0]
    assert batch.tokens[1, :3].tolist() == reader.tokenizer.encode("See")
    assert batch.tokens[1, 3:].eq(reader.tokenizer.vocabulary.pad).all()


def test_an_input_may_end_with_the_end_token() -> None:
    reader = fitted(append_end=True)
    end = reader.tokenizer.vocabulary.end
    assert list(reader.encode(["See", ""]).rows) == [[*reader.tokenizer.encode("See"), end], []]
    assert list(reader.axes(Example("See"))["input"].labels) == ["S", "e", "e", "</s>"]


def test_what_is_too_long_or_empty_is_told_by_its_place() -> None:
    reader = fitted(max_length=8)
    problems = dict(reader.flaws([*EXAMPLES, Example(" ", "x", files=("a.tsv",), number=9)]))
    assert problems == {
        1: "example 2: 20 tokens, at most 8 expected; shorten it, or set reader.max_length",
        3: "a.tsv:9: expected a source, got a text without tokens; leave it out",
    }
    with pytest.raises(DataError, match="20 tokens, at most 8 expected"):
        reader.check(EXAMPLES[1])
    reader.check(EXAMPLES[0])


@given(st.lists(st.integers(0, 50), max_size=8), st.integers(1, 12))
def test_pieces_are_of_like_length_and_lose_nothing(lengths: list[int], longest: int) -> None:
    rows = [list(range(length)) for length in lengths]
    parts, owners = pieces(rows, longest)
    assert [
        [token for part, owner in zip(parts, owners, strict=True) if owner == i for token in part] for i in range(len(rows))
    ] == rows
    for number in range(len(rows)):
        own = [len(part) for part, owner in zip(parts, owners, strict=True) if owner == number]
        assert max(own) <= longest
        assert len(own) == max(1, -(-lengths[number] // longest)) or max(own) - min(own) <= longest
        assert own == sorted(own, reverse=True)  # the last may be shorter


@pytest.mark.parametrize(("kind", "places"), [("char", "characters"), ("word", "words"), ("bpe", "pieces")])
def test_places_are_named_by_what_they_are(kind: Literal["char", "word", "bpe"], places: str) -> None:
    reader = fitted(kind)
    axis = reader.axes(Example("das alte Haus"))["input"]
    assert axis.kind == places
    assert list(axis.labels) == reader.tokenizer.pieces("das alte Haus")
    odd = reader.axes(Example("das ☂ Haus"))["input"]
    assert not axis.unknown
    assert {odd.labels[place].strip() for place in odd.unknown} == ({"☂"} if kind != "bpe" else set())


def test_an_empty_line_is_no_example() -> None:
    assert [fitted().parse(text, nothing) for text in ("", " \t")] == [None, None]
    assert fitted().parse("See", nothing) == Example("See")
    with pytest.raises(UsageError, match="expected text, got list"):
        fitted().parse(["See"], nothing)
