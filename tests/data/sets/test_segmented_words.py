"""Words without spaces: every sentence can be cut into the words that it means, the same from the same seed."""

import pytest

from saccade.data.sets.segmented_words import Config, language, load
from saccade.errors import UsageError

SMALL = Config(train_size=30, valid_size=5, test_size=5)


def test_sentences_are_the_words_that_they_mean() -> None:
    words, splits = language(SMALL), load(SMALL)
    assert len(set(words)) == 100
    assert {2, 6} <= set(map(len, words)) <= set(range(2, 7))
    for example in [*splits.train, *splits.valid, *splits.test]:
        numbers = [int(word.removeprefix("word")) for word in example.target.split()]
        assert "".join(words[number] for number in numbers) == example.input
        assert 2 <= len(numbers) <= 8


def test_a_seed_decides_everything() -> None:
    assert load(SMALL).fingerprint() == load(SMALL).fingerprint()
    other = Config(train_size=30, valid_size=5, test_size=5, seed=1)
    assert load(SMALL).fingerprint() != load(other).fingerprint()
    assert language(SMALL) != language(other)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"letters": 1}, "letters: expected 2 … 26, got 1"),
        ({"letters": 2, "max_word": 3}, "max_word: 2 letters are too few for 100 words of 2 … 3 letters"),
        ({"max_length": 1}, "max_length: expected at least 2 words, got 1"),
    ],
)
def test_languages_that_cannot_be_are_refused(changed: dict[str, int], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Config(**changed)
