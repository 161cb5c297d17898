"""Where tokens stand in their texts: the first one of each word, and those of a part of the second text."""

from typing import Any

import pytest

from saccade.data import tokenizers
from saccade.data.examples import Example, Pair, Splits
from saccade.readers.pieces import Config
from saccade.readers.placed_pieces import Reader, first_tokens

TEXT = "Red foxes, don't run over  unaffable hills in 16.95 ways ."


def reader(kind: Any, **config: Any) -> Reader:
    made = Reader.fit(
        Config(**config), tokenizers.Config(kind=kind, size=320), Splits([Example(TEXT)], [], []), ["who runs ?"]
    )
    assert isinstance(made, Reader)
    return made


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
@pytest.mark.parametrize("last", [False, True])
def test_every_word_has_its_first_token(kind: str, last: bool) -> None:
    made = reader(kind, class_last=last)
    batch = made.encode([TEXT, "red"]).batch([0, 1])
    words = TEXT.split()
    assert batch.counts.tolist() == [len(words), 1]
    assert batch.rows.tolist() == [0] * len(words) + [1]
    assert batch.words.tolist() == [*range(len(words)), 0]
    for place, word in zip(batch.places[:-1].tolist(), words, strict=True):
        first, last = batch.offsets[0, place].tolist()
        assert word.startswith(TEXT[first:last].strip())
    assert (batch.offsets[0, 0].tolist() == [-1, -1]) != last
    assert batch.offsets.shape[1] == batch.tokens.shape[1]
    assert batch.offsets[1, int(batch.lengths[1]) - 1 :].eq(-1).all()


def test_words_that_are_cut_off_and_words_without_a_token_have_none() -> None:
    batch = reader("word", max_length=6).encode([TEXT]).batch([0])
    assert batch.words.tolist() == [0, 1, 2]  # foxes and its comma are two tokens
    assert list(first_tokens("a b c", [(0, 1), (4, 5)])) == [(0, 0), (2, 1)]
    assert list(first_tokens("ab c", [(0, 1), (1, 2), (2, 4)])) == [(0, 0), (1, 2)]


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
@pytest.mark.parametrize(("double", "class_last"), [(False, False), (True, False), (False, True)])
def test_a_part_of_the_second_text_is_found_by_its_tokens(kind: str, double: bool, class_last: bool) -> None:
    made = reader(kind, double_separator=double, class_last=class_last, max_length=128)
    pair = Pair("who runs ?", TEXT)
    batch = made.encode([pair]).batch([0])
    for answer in ("foxes", "unaffable hills", "ways .", "Red"):
        start = TEXT.index(answer)
        first, last = made.located(pair, start, start + len(answer))
        assert batch.segments[0, first] == batch.segments[0, last] == 1
        found = TEXT[int(batch.offsets[0, first, 0]) : int(batch.offsets[0, last, 1])]
        assert found.strip() == answer


def test_a_part_that_is_not_read_to_its_end_is_nowhere() -> None:
    made = reader("word", max_length=9)
    start = TEXT.index("ways")
    assert made.located(Pair("who runs ?", TEXT), start, start + 4) == (0, 0)
    assert made.located(Pair("who", TEXT), 0, len(TEXT)) == (0, 0)
