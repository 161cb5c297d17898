"""Running text to pre-train on: movie reviews (Maas et al. 2011) and news (Penn Treebank), without labels.

All 50,000 reviews, also those of the test, and all sentences of the treebank, ten to a text. A hundredth of the reviews and
the treebank's own validation sentences are the validation set.
"""

from dataclasses import dataclass

from saccade.config import Positive
from saccade.data.examples import Example, Splits, hash_order
from saccade.data.sets import imdb, ptb

INPUT, TARGET = str, str
HELD_OUT = 100  # one review of so many
TOGETHER = 10  # sentences of the news that are one text


@dataclass(frozen=True, kw_only=True)
class Config:
    """How much of it."""

    one_of: Positive = 1
    "Only each so many-th training text, chosen by a hash; 1: all."


def load(config: Config) -> Splits:
    """Training and validation texts; the treebank's test sentences are in neither."""
    reviews = imdb.load(imdb.Config())
    known = [example.input for part in (reviews.train, reviews.valid, reviews.test) for example in part]
    train, valid = _news("train"), _news("valid")
    for text in known:
        (valid if hash_order(text, "held") % HELD_OUT == 0 else train).append(text)
    kept = [text for text in train if hash_order(text, "kept") % config.one_of == 0]
    return Splits(_ordered(kept), _ordered(valid), [])


def _ordered(texts: list[str]) -> list[Example]:
    """Reviews and news among each other, by a hash."""
    return [Example("", text) for text in sorted(texts, key=lambda text: hash_order(text, "order"))]


def _news(part: str) -> list[str]:
    """The sentences of a part, so many in a text, one in a line."""
    own = ptb.sentences(part)
    return ["\n".join(own[start : start + TOGETHER]) for start in range(0, len(own), TOGETHER)]
