"""Character n-grams, by which words are alike in the way they are written (Bojanowski et al. 2017)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from jaxtyping import Int
from torch import Tensor

from saccade import records
from saccade.data.examples import digest
from saccade.data.stored.preparations import followed, prepared
from saccade.data.stored.ragged import Ragged, flat, write
from saccade.data.stored.stored_examples import StoredTexts
from saccade.data.tensors import padded
from saccade.data.tokenizers import TOGETHER, LearnedTokenizer

SHORTEST, LONGEST = 3, 5
BEGIN, END = "<", ">"  # of a word, by which its first and last letters are told from those within
FILE, WORDS = "spelling.json", "words.json"


def ngrams(word: str) -> list[str]:
    """The n-grams of three to five letters of a word, each once, in their order."""
    marked = f"{BEGIN}{word}{END}"
    lengths = range(SHORTEST, min(LONGEST, len(marked)) + 1)
    return list(dict.fromkeys(marked[start : start + size] for size in lengths for start in range(len(marked) - size + 1)))


class Letters:
    """The n-grams of letters that have a vector, numbered from 1 on."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self._numbers = {run: number for number, run in enumerate(self.known, 1)}

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], words: int) -> "Letters":
        """Those that at least so many different words of these texts share."""
        counts = Counter(run for word in {word for text in texts for word in text} for run in ngrams(word))
        return cls(sorted(run for run, count in counts.items() if count >= words))

    def __len__(self) -> int:
        return len(self.known)

    def numbers(self, word: str) -> list[int]:
        """The numbers of those that a word has."""
        return [self._numbers[run] for run in ngrams(word) if run in self._numbers]

    def save(self, directory: Path) -> None:
        """Write them into the run."""
        records.save(directory / FILE, self.known)

    @classmethod
    def load(cls, directory: Path) -> "Letters":
        """Read them again."""
        known = records.load(directory / FILE)
        if not (isinstance(known, list) and all(isinstance(one, str) for one in known)):
            raise records.unreadable(directory / FILE, "expected a list of texts")
        return cls(known)


class Spelling:
    """How the words of some texts are written; each different word is spelled once."""

    def __init__(self, words: Ragged, different: Iterable[str], letters: Letters) -> None:
        self.words = words
        self.table = padded([[0], *map(letters.numbers, different)])[0]

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: LearnedTokenizer, letters: Letters) -> "Spelling":
        """That of these texts; of stored ones their words are numbered once."""
        if isinstance(texts, StoredTexts):
            name = texts.name("words", digest([tokenizer.text().encode()]))
            folder = prepared(name, partial(_write, texts, tokenizer))
            return cls(Ragged.opened(folder), records.load(folder / WORDS), letters)
        return cls.of_words(map(tokenizer.pieces, texts), letters)

    @classmethod
    def of_words(cls, texts: Iterable[Sequence[str]], letters: Letters) -> "Spelling":
        """That of texts in memory, given by their words."""
        numbers: dict[str, int] = {}
        rows = [_numbered(text, numbers) for text in texts]
        return cls(Ragged.of(rows), numbers, letters)

    def batch(self, indices: Iterable[int], width: int) -> Int[Tensor, "B K P"]:
        """The n-grams of each word of these texts, filled up with 0 to so many words."""
        rows = [self.words[i][:width] for i in indices]
        return self.table[padded([row + [0] * (width - len(row)) for row in rows])[0]]


def _numbered(words: Iterable[str], numbers: dict[str, int]) -> list[int]:
    """The number of each word, from 1 on; a new word gets the next."""
    return [numbers.setdefault(word, 1 + len(numbers)) for word in words]


def _write(texts: StoredTexts, tokenizer: LearnedTokenizer, folder: Path) -> None:
    numbers: dict[str, int] = {}
    starts = followed(range(0, len(texts), TOGETHER), "spelling words", len(texts), lambda start: TOGETHER)
    windows = (texts[start : start + TOGETHER] for start in starts)
    rows = ([_numbered(tokenizer.pieces(text), numbers) for text in window] for window in windows)
    write(folder, map(flat, rows), 1 << 32)
    records.save(folder / WORDS, list(numbers))
