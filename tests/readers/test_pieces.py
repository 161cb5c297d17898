"""Texts and pairs between special tokens: where these stand, what is cut, how a pair is typed, and what is filled in."""

from typing import Any

import pytest

from saccade.data import tokenizers
from saccade.data.examples import Example, Pair, Splits
from saccade.data.tokenizers import END, MASK, PAD, START
from saccade.errors import DataError, UsageError
from saccade.readers.pieces import Config, Reader, require_one, within

TEXTS = ["a red fox runs", "the dog , the hill", "one bird"]


def reader(kind: Any = "word", **config: Any) -> Reader:
    splits = Splits([Example(text) for text in TEXTS], [], [])
    return Reader.fit(Config(**config), tokenizers.Config(kind=kind, size=400), splits, ["more words"])


def never() -> Splits:
    raise AssertionError("no data is needed")


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((3, 4, 10), (3, 4)),
        ((9, 2, 8), (6, 2)),
        ((2, 9, 8), (2, 6)),
        ((9, 9, 8), (4, 4)),
        ((9, 9, 7), (3, 4)),
        ((10, 9, 7), (4, 3)),
        ((5, 0, 4), (4, 0)),
    ],
)
def test_the_longer_text_is_cut_first(sizes: tuple[int, int, int], kept: tuple[int, int]) -> None:
    assert within(*sizes) == kept


def test_a_text_and_a_pair_stand_between_their_special_tokens() -> None:
    made = reader()
    one, other = made.tokenizer.encode_batch(["a red fox", "one bird"])
    column = made.encode(["a red fox", Pair("a red fox", "one bird")])
    assert [row.ids for row in column.rows] == [[START, *one, END], [START, *one, END, *other, END]]
    batch = column.batch([0, 1])
    assert batch.tokens[0, 5:].eq(PAD).all()
    assert batch.segments.tolist() == [[0] * 8, [0] * 5 + [1] * 3]
    assert batch.lengths.tolist() == [5, 8]
    assert batch.texts == ("a red fox", Pair("a red fox", "one bird"))
    twice = reader(double_separator=True).encode([Pair("a red fox", "one bird")]).rows[0]
    assert twice.ids == [START, *one, END, END, *other, END]
    assert twice.first == 5


def test_what_is_too_long_is_cut_and_counted() -> None:
    made = reader(max_length=7)
    column = made.encode(
        ["a red fox runs", "the dog the hill the", "the dog the hill the dog", Pair("a red fox", "one bird")]
    )
    assert [len(row.ids) for row in column.rows] == [6, 7, 7, 7]
    assert column.longer == 2
    told: list[str] = []
    made.prepare(None, Splits([Example("a")] * 4, [], []), column, told.append)
    assert told == ["2 of 4 texts are longer than reader.max_length=7 tokens: the rest of them is not read"]
    with pytest.raises(UsageError, match="max_length: expected more than the 4 special tokens of a pair, got 4"):
        Config(max_length=4)


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
def test_the_mask_is_a_token_of_every_learned_tokenizer_and_is_named_in_texts(kind: str) -> None:
    made = reader(kind)
    assert made.vocabulary.mask == MASK
    assert made.mask == "[MASK]"
    ids = made.encode(["a [MASK] fox [MASK]"]).rows[0].ids
    assert ids.count(MASK) == 2
    batch = made.encode(["a fox", "[MASK] fox [MASK]"]).batch([0, 1])
    assert batch.rows.tolist() == [1, 1]
    assert [batch.tokens[row, place].item() for row, place in zip(batch.rows, batch.places, strict=True)] == [MASK, MASK]
    filled = [token for token in ids if token != MASK]
    wanted = "a  fox " if kind == "char" else "a fox"
    assert made.tokenizer.decode(filled).strip() == wanted.strip()
    assert MASK not in made.tokenizer.encode("a [MASK] fox")  # only the reader makes one of it


def test_texts_are_typed_alone_and_pairs_with_bars_tab_or_as_two() -> None:
    made = reader()
    assert made.parse("one bird", never) == Example("one bird")
    for typed in ("one ||| bird", "one\tbird", ("one", "bird"), ["one", "bird"], Pair("one", "bird")):
        assert made.parse(typed, never) == Example(Pair("one", "bird"))
    assert made.parse("  ", never) is None
    with pytest.raises(UsageError, match="expected text, got int"):
        made.parse(3, never)


def test_an_axis_shows_special_tokens_pieces_and_what_is_unknown() -> None:
    made = reader()
    axis = made.axes(Example(Pair("a [MASK] xyzzy", "one bird")))["input"]
    assert list(axis.labels) == ["<s>", "a", "[MASK]", "xyzzy", "</s>", "one", "bird", "</s>"]
    assert list(axis.unknown) == [3]


def test_a_reader_goes_on_with_the_tokens_of_another() -> None:
    one = reader()
    other = Reader.fit_from(Config(), None, Splits([], [], []), [], one)
    assert other.tokenizer is one.tokenizer
    assert other.strange(one) == set()
    assert other.strange(reader()) == {"source"}


def test_one_text_is_no_pair() -> None:
    assert require_one("a") == "a"
    with pytest.raises(DataError, match=r"expected one text, got a pair, 'a \|\|\| b'"):
        require_one(Pair("a", "b"))


def test_the_class_token_may_stand_last_in_a_segment_of_its_own() -> None:
    made = reader(class_last=True, max_length=9)
    one, other = made.tokenizer.encode_batch(["a red fox", "one bird"])
    pair = Pair("a red fox", "one bird")
    column = made.encode(["a red fox", pair, "a red [MASK]"])
    rows = [[*one, END, START], [*one, END, *other, END, START], [*one[:2], MASK, END, START]]
    assert [row.ids for row in column.rows] == rows
    batch = column.batch([0, 1, 2])
    assert batch.segments.tolist() == [[0] * 4 + [2] + [0] * 3, [0] * 4 + [1] * 3 + [2], [0] * 4 + [2] + [0] * 3]
    assert (batch.rows.tolist(), batch.places.tolist()) == ([2], [2])
    assert made.axes(Example(pair))["input"].labels == ["a", "red", "fox", "</s>", "one", "bird", "</s>", "<s>"]
    assert made.encode([Pair("a red fox " * 3, "one bird")]).rows[0].ids[-1] == START
    assert len(made.encode([Pair("a red fox " * 3, "one bird")]).rows[0].ids) == 9
