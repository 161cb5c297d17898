"""Words of a made-up language, written without spaces, and what each means: to translate is to find segments.

Kim et al. (2017, section 4.2) translate Japanese characters to English words; this is their task in small.
"""

from dataclasses import dataclass

from saccade.config import Count, Positive
from saccade.data.draws import Draws
from saccade.data.examples import Example, Splits
from saccade.errors import UsageError

INPUT, TARGET = str, str
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True)
class Config:
    """The language, and how much is said in it."""

    train_size: Positive = 5000
    "Training sentences."
    valid_size: Positive = 1000
    "Validation sentences."
    test_size: Positive = 1000
    "Test sentences."
    vocabulary: Positive = 100
    "Words of the language."
    letters: Positive = 6
    "Letters of its alphabet."
    max_word: Positive = 6
    "Letters of the longest words; the shortest have 2."
    max_length: Positive = 8
    "Words of the longest sentences; the shortest have 2."
    seed: Count = 0
    "Decides the language and the sentences."

    def __post_init__(self) -> None:
        if not 2 <= self.letters <= len(ALPHABET):
            raise UsageError(f"letters: expected 2 … {len(ALPHABET)}, got {self.letters}")
        if self.max_word < 2 or self.letters**self.max_word < 2 * self.vocabulary:
            words = f"{self.vocabulary} words of 2 … {self.max_word} letters"
            raise UsageError(f"max_word: {self.letters} letters are too few for {words}; make one of them larger")
        if self.max_length < 2:
            raise UsageError(f"max_length: expected at least 2 words, got {self.max_length}")


def load(config: Config) -> Splits:
    """All three parts."""
    words = language(config)
    counts = (config.train_size, config.valid_size, config.test_size)
    return Splits(*(_sentences(config, words, part, count) for part, count in enumerate(counts)))


def language(config: Config) -> list[str]:
    """Different words, the number of each being what it means."""
    draws, words = Draws(config.seed, 0), dict[str, None]()
    while len(words) < config.vocabulary:
        letters = draws.whole(0, config.letters - 1, int(draws.whole(2, config.max_word, 1)[0]))
        words["".join(ALPHABET[letter] for letter in letters)] = None
    return list(words)


def _sentences(config: Config, words: list[str], part: int, count: int) -> list[Example]:
    draws, examples = Draws(config.seed, 1, part), []
    for length in draws.whole(2, config.max_length, count):
        chosen = draws.whole(0, len(words) - 1, int(length)).tolist()
        examples.append(Example("".join(words[word] for word in chosen), " ".join(f"word{word}" for word in chosen)))
    return examples
