"""Rendered words: words and digits drawn in many fonts, straight and curved, as one trains readers of words in the wild.

What is drawn: words of the Penn Treebank; two words spliced, the beginning of one and the end of another; random letters;
numbers. Every picture depends on nothing but (seed, part, number) and the fonts; all are drawn once and kept.

No word of a test set is in the training set, whatever its case: neither the test words here, which are drawn from words of
their own, nor those of IIIT 5K-word and Street View Text. That holds for the real training words of IIIT 5K-word, too.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL
from numpy.typing import NDArray
from PIL import features

from saccade.config import Count, Positive, Share
from saccade.data.draws import Draws
from saccade.data.examples import Example, Picture, Splits, digest, hash_order
from saccade.data.sets import iiit5k, ptb, svt
from saccade.data.stored import preparations
from saccade.data.word_fonts import FEW, Font, fonts
from saccade.data.word_pictures import FONT_SIZE, word_picture

INPUT, TARGET = Picture, str
LAYOUT = 1  # of what is drawn; another number has all pictures drawn anew
PIXELS, TEXTS = "pixels.npy", "words.txt"
HASHES = Path(__file__).with_name("real_test_words.txt")
WORD = re.compile(r"[a-z]{1,20}")
LETTERS, DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
MARKS = ".,!?:'-"
KINDS = ("straight", "curved")
PURPOSES = {"train": 0, "valid": 1, "test": 2}  # of a stream of random numbers
HELD_OUT = 10  # one of so many words of the list is for validation, another for the test


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many pictures, and what is in them."""

    train_size: Positive = 100_000
    "Training pictures."
    valid_size: Positive = 500
    "Validation pictures of each kind, straight and curved."
    test_size: Positive = 2000
    "Test pictures of each kind."
    curved: Share = 0.4
    "Share of the training words that stand on an arc."
    fonts: str = "published"
    "published: the free fonts of the data set `fonts`; system: those of this machine; else a folder of fonts."
    real: Count = 0
    "How often each training word of IIIT5K is among the training pictures; not 0: its test and SVT are in the test, too."
    height: Positive = 32
    "Height of a picture."
    width: Positive = 100
    "Width of a picture, whatever the word."
    seed: Count = 0
    "Decides the training pictures; the others are always the same."


@dataclass(frozen=True)
class Words:
    """The words of each part, and what is kept out of the training set."""

    parts: dict[str, list[str]]
    banned: frozenset[str]
    "Short names of words that must not be in the training set."


def load(config: Config) -> Splits:
    """All three parts; a group for each kind of picture in validation and test."""
    words, own = word_list(), fonts(config.fonts, FONT_SIZE)
    train = DrawnPart("train", "", config.train_size, config, words, own).examples()
    held = {
        part: [one for kind in KINDS for one in DrawnPart(part, kind, size, config, words, own).examples()]
        for part, size in (("valid", config.valid_size), ("test", config.test_size))
    }
    if config.real:
        train += config.real * [one for one in iiit5k.words("train") if hashed(one.target) not in words.banned]
        held["test"] += [*_grouped(iiit5k.words("test"), "iiit5k"), *_grouped(svt.words(), "svt")]
    return Splits(train, held["valid"], held["test"], notes=_notes(own))


def _grouped(examples: Sequence[Example], group: str) -> Iterator[Example]:
    return (Example(one.input, one.target, group, f"{group} {one.name}") for one in examples)


def _notes(own: Sequence[Font]) -> tuple[str, ...]:
    if len(own) >= FEW:
        return ()
    names = ", ".join(font.name for font in own[:FEW])
    fix = "`saccade data get fonts` and data.fonts=published have more"
    return (
        f"words are drawn in {len(own)} font{'s' * (len(own) > 1)} only ({names}): other fonts will be read badly; {fix}",
    )


def word_list() -> Words:
    """The words of the Penn Treebank, without those of the tests of real words, each in one part by its hash."""
    real = real_test_words()
    listed = {word for sentence in ptb.sentences("train") for word in sentence.split() if WORD.fullmatch(word)}
    parts: dict[str, list[str]] = {"train": [], "valid": [], "test": []}
    for word in sorted(word for word in listed if hashed(word) not in real):
        parts[{0: "valid", 1: "test"}.get(hash_order(word, "rendered words") % HELD_OUT, "train")].append(word)
    return Words(parts, real | {hashed(word) for part in ("valid", "test") for word in parts[part]})


@functools.cache
def real_test_words() -> frozenset[str]:
    """The hashes of the test words of IIIT 5K-word and Street View Text, which are kept out without having those."""
    return frozenset(HASHES.read_text(encoding="ascii").split())


def hashed(word: str) -> str:
    """A short name for a word, whatever its case."""
    return digest([word.lower().encode()])[:8]


def spelled(part: str, words: Words, draws: Draws) -> str:
    """A word to be drawn, in small letters: in training also what no list has."""
    if part != "train":
        return _one(words.parts[part], draws)
    while True:
        text = _made(words.parts["train"], draws)
        if hashed(text) not in words.banned:
            return text


def _made(listed: Sequence[str], draws: Draws) -> str:
    kind = float(draws.uniform())
    if kind < 0.45:
        return _one(listed, draws)
    if kind < 0.75:
        first, second = _one(listed, draws), _one(listed, draws)
        cuts = draws.uniform(2)
        return (first[: 1 + int(cuts[0] * len(first))] + second[int(cuts[1] * len(second)) :])[:20]
    letters = LETTERS if kind < 0.87 else DIGITS if kind < 0.97 else LETTERS + DIGITS
    count = int(draws.whole(1, 8 if letters == LETTERS else 6))
    return "".join(letters[place] for place in draws.whole(0, len(letters) - 1, count))


def cased(text: str, draws: Draws) -> str:
    """The word as it is drawn: in capitals, with one, or in small letters; now and then with a mark, which is not read."""
    kind, marked, mark = draws.uniform(3)
    shown = text.upper() if kind < 0.45 else text.capitalize() if kind < 0.7 else text
    return shown + MARKS[int(mark * len(MARKS))] if marked < 0.06 else shown


def _one(listed: Sequence[str], draws: Draws) -> str:
    return listed[int(draws.whole(0, len(listed) - 1))]


@dataclass(frozen=True)
class DrawnPart:
    """The pictures of a part, of one kind or, where none is named, of both."""

    part: str
    kind: str
    count: int
    config: Config
    words: Words
    fonts: Sequence[Font]

    def examples(self) -> list[Example]:
        """All of them; they are drawn where they were not kept."""
        folder = preparations.prepared(self._name(), self._draw)
        pixels: NDArray[np.uint8] = np.load(folder / PIXELS, mmap_mode="r")
        texts = (folder / TEXTS).read_text(encoding="utf-8").splitlines()
        return [
            Example(Picture(image), text, self.kind, f"{self.kind or 'word'} {number}")
            for number, (image, text) in enumerate(zip(pixels, texts, strict=True))
        ]

    @property
    def _seed(self) -> int:
        return self.config.seed if self.part == "train" else 0

    def _name(self) -> str:
        """All that the pictures depend on."""
        config, words = self.config, self.words
        listed = digest(f"{word}\n".encode() for word in (*words.parts[self.part], *sorted(words.banned)))
        curved = 0 if self.kind else config.curved
        facts = [LAYOUT, self.part, self.kind, self.count, self._seed, curved, config.height, config.width, listed]
        versions = [PIL.__version__, str(features.version("freetype2"))]
        return preparations.name_of("rendered-words", *facts, *versions, *(font.digest for font in self.fonts))

    def _draw(self, folder: Path) -> None:
        shape = (self.count, self.config.height, self.config.width)
        pixels, texts = np.lib.format.open_memmap(folder / PIXELS, "w+", np.uint8, shape), []
        for number in preparations.followed(range(self.count), "drawing words", self.count):
            text, pixels[number] = self._picture(number)
            texts.append(text)
        pixels.flush()
        (folder / TEXTS).write_text("\n".join(texts), encoding="utf-8")

    def _picture(self, number: int) -> tuple[str, NDArray[np.uint8]]:
        """The word of this number, and its picture."""
        draws = Draws(self._seed, PURPOSES[self.part], KINDS.index(self.kind) if self.kind else len(KINDS), number)
        text = spelled(self.part, self.words, draws)
        kind = self.kind or KINDS[int(draws.uniform() < self.config.curved)]
        font = self.fonts[int(draws.whole(0, len(self.fonts) - 1))]
        shape = (self.config.height, self.config.width)
        return text, word_picture(cased(text, draws), font.drawn, shape, draws, curved=kind == "curved")
