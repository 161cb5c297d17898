"""Penn Treebank for language models, word by word: Mikolov's 10,000 words (Mikolov et al. 2010), a sentence a line.

A word of it is one token of `tokens.kind=word`: what would be cut apart, such as mr. and N-year, is written with letters in
place of its marks, and <unk> is UNK, a word like any other. Every sentence ends with the end token, which perplexity counts.
"""

import re

from saccade.config import Empty as Config
from saccade.data import known
from saccade.data.examples import Example, Splits
from saccade.data.tokenizers import WORD

INPUT, TARGET = str, str
SET, FILE = "ptb", "ptb.{}.txt"
UNKNOWN, WRITTEN = "<unk>", "UNK"
# Letters that look like the marks inside words; other marks become a low line, which no word of the set has.
LETTERS = str.maketrans({".": "ꞏ", "'": "ʼ", "-": "ꟷ"})
ATOMIC = re.compile(rf"(?:{WORD})")


def load(config: Config) -> Splits:
    """All three parts."""
    return Splits(*(_part(name) for name in ("train", "valid", "test")))


def _part(name: str) -> list[Example]:
    return [Example("", " ".join(map(atomic, sentence.split()))) for sentence in _lines(name)]


def sentences(name: str) -> list[str]:
    """The sentences of a part as they are written, UNK for what is unknown."""
    return [" ".join(sentence.split()).replace(UNKNOWN, WRITTEN) for sentence in _lines(name)]


def _lines(name: str) -> list[str]:
    text = known.unzipped(known.find(SET, FILE.format(name))).decode("utf-8")
    return [line for line in text.splitlines() if line.strip()]


def atomic(word: str) -> str:
    """A word as one token."""
    if word == UNKNOWN:
        return WRITTEN
    return word if ATOMIC.fullmatch(word) else re.sub(r"\W", "_", word.translate(LETTERS))
