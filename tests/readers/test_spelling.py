"""Character n-grams of words: those that are learned, and those of texts side by side."""

from pathlib import Path

import pytest
import torch

from saccade.errors import DataError
from saccade.readers.spelling import Letters, Spelling, ngrams

TEXTS = [["good", "food"], [], ["bad", "good", "wine"]]


def test_ngrams_of_a_word_by_hand() -> None:
    assert ngrams("good") == ["<go", "goo", "ood", "od>", "<goo", "good", "ood>", "<good", "good>"]
    assert ngrams("a") == ["<a>"]
    assert ngrams("") == []
    assert ngrams("aaaaaaaa") == ["<aa", "aaa", "aa>", "<aaa", "aaaa", "aaa>", "<aaaa", "aaaaa", "aaaa>"]


def test_what_enough_different_words_have_is_learned() -> None:
    assert Letters.of(TEXTS, 2).known == ["od>", "ood", "ood>"]
    assert Letters.of([*TEXTS, *TEXTS], 2).known == ["od>", "ood", "ood>"]  # the same words again are no others
    assert Letters.of(TEXTS, 3).known == []
    every = Letters.of(TEXTS, 1)
    assert set(every.known) == {run for text in TEXTS for word in text for run in ngrams(word)}


def test_a_word_never_seen_has_the_letters_that_are_known() -> None:
    letters = Letters.of(TEXTS, 2)
    assert letters.numbers("mood") == letters.numbers("food") == [2, 1, 3]
    assert letters.numbers("quibble") == []


def test_they_come_back_from_the_run(tmp_path: Path) -> None:
    letters = Letters.of([["größer", "größte", "🙂🙂🙂"]], 1)
    letters.save(tmp_path)
    assert Letters.load(tmp_path).known == letters.known
    for damaged in ("[1", '{"a": 1}', "[1, 2]"):
        (tmp_path / "spelling.json").write_text(damaged)
        with pytest.raises(DataError, match=r"spelling\.json: cannot be read"):
            Letters.load(tmp_path)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_batch_has_the_ngrams_of_each_word_and_zeros_elsewhere(width: int) -> None:
    letters = Letters.of(TEXTS, 1)
    found = Spelling.of_words(TEXTS, letters).batch([2, 1, 0], width)
    assert found.shape[:2] == (3, width)
    for row, text in zip(found.tolist(), [TEXTS[2], TEXTS[1], TEXTS[0]], strict=True):
        for place, numbers in enumerate(row):
            expected = letters.numbers(text[place]) if place < len(text) else []
            assert numbers == expected + [0] * (len(numbers) - len(expected))


def test_nothing_to_spell_is_a_place_of_padding() -> None:
    assert torch.equal(Spelling.of_words([[]], Letters([])).batch([0], 2), torch.zeros(1, 2, 1, dtype=torch.int64))
