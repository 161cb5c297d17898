"""Content words of image descriptions: those of a caption but one, and the one that is held out (Multi30k, in English)."""

from collections.abc import Iterator
from dataclasses import dataclass

from saccade.config import Count, Positive
from saccade.data import known
from saccade.data.draws import Draws
from saccade.data.examples import Example, Splits
from saccade.data.sets.multi30k import NAMES

INPUT, TARGET = str, str


# Words that say how others belong together.
FUNCTION = frozenset(
    [
        "a",
        "about",
        "above",
        "across",
        "after",
        "against",
        "all",
        "along",
        "alongside",
        "also",
        "am",
        "among",
        "an",
        "and",
        "another",
        "any",
        "are",
        "around",
        "as",
        "at",
        "away",
        "back",
        "be",
        "because",
        "been",
        "before",
        "behind",
        "being",
        "below",
        "beneath",
        "beside",
        "between",
        "beyond",
        "both",
        "but",
        "by",
        "can",
        "do",
        "does",
        "doing",
        "down",
        "during",
        "each",
        "either",
        "for",
        "from",
        "front",
        "get",
        "gets",
        "getting",
        "has",
        "have",
        "having",
        "he",
        "her",
        "hers",
        "herself",
        "him",
        "himself",
        "his",
        "how",
        "i",
        "if",
        "in",
        "inside",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "like",
        "many",
        "more",
        "most",
        "near",
        "next",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "one",
        "onto",
        "or",
        "other",
        "others",
        "out",
        "outside",
        "over",
        "past",
        "she",
        "so",
        "some",
        "someone",
        "something",
        "such",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "themselves",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "together",
        "top",
        "toward",
        "towards",
        "two",
        "three",
        "four",
        "five",
        "under",
        "underneath",
        "until",
        "up",
        "upon",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "will",
        "with",
        "within",
        "without",
        "you",
        "your",
    ]
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which captions."""

    fewest: Positive = 3
    "Content words of a caption, at least; one of them is held out."
    seed: Count = 0
    "Decides which word of a caption is held out for validation and test; in training, each of them is in turn."


def load(config: Config) -> Splits:
    """All three parts; of the tests, that of 2016."""
    train = [_without(words, place) for words in _captions("train", config) for place in range(len(words))]
    return Splits(train, *(_one_each(split, config, part) for part, split in enumerate(("val", "test_2016_flickr"))))


def content_words(caption: str) -> list[str]:
    """The words of a tokenized caption that say what there is to see, each once."""
    words = (word for word in caption.lower().split() if word.replace("-", "").isalpha() and word not in FUNCTION)
    return list(dict.fromkeys(words))


def _captions(split: str, config: Config) -> Iterator[list[str]]:
    text = known.unzipped(known.find("multi30k", NAMES["tok"].format(split=split, language="en"))).decode()
    return (words for line in text.splitlines() if len(words := content_words(line)) >= config.fewest)


def _one_each(split: str, config: Config, part: int) -> list[Example]:
    captions = list(_captions(split, config))
    chances = Draws(config.seed, part).uniform(len(captions)).tolist()
    return [_without(words, int(chance * len(words))) for words, chance in zip(captions, chances, strict=True)]


def _without(words: list[str], place: int) -> Example:
    return Example(" ".join(words[:place] + words[place + 1 :]), words[place])
