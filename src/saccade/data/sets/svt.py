"""Street View Text: words cut out of pictures of streets, a test set only (Wang, Babenko and Belongie 2011)."""

from dataclasses import dataclass

from saccade.config import Empty
from saccade.data.examples import Example, Picture, Splits
from saccade.data.sets import iiit5k

INPUT, TARGET = Picture, str
SET, ARCHIVE = "svt", "svt_test_words.zip"


@dataclass(frozen=True, kw_only=True)
class Config(Empty):
    """Nothing to set: there is one part only."""


def load(config: Config) -> Splits:
    """The 647 test words, in small letters; there is nothing to train on."""
    return Splits([], [], words())


def words() -> list[Example]:
    """The words."""
    return iiit5k.pictures_in(SET, ARCHIVE)
