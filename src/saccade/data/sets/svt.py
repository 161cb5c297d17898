"""Street View Text: words cut out of pictures of streets, a test set only (Wang, Babenko and Belongie 2011)."""

from saccade.config import Empty as Config
from saccade.data.examples import Example, Picture, Splits
from saccade.data.sets import iiit5k

INPUT, TARGET = Picture, str
SET, ARCHIVE = "svt", "svt_test_words.zip"


def load(config: Config) -> Splits:
    """The 647 test words, in small letters; there is nothing to train on."""
    return Splits([], [], words())


def words() -> list[Example]:
    """The words."""
    return iiit5k.read(SET, ARCHIVE)
