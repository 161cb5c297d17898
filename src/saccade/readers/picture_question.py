"""A picture and a question about it: the readers of pictures and of words side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.batches import Integers, in_epoch
from saccade.data.examples import Example, Picture, PictureQuestion, Splits
from saccade.data.formats import picture_question_files
from saccade.data.formats.image_files import SUFFIXES
from saccade.data.formats.tables import Table
from saccade.data.tensors import PictureQuestionInput
from saccade.errors import DataError, UsageError
from saccade.readers import picture, reader, words
from saccade.readers.reader import NUMBERED, Column, Load, Note, numbered
from saccade.view.trace import Axis

BETWEEN = "|||"  # of a picture and its question, where both are typed as one text
EXPECTED = f"a picture and a question: 'photo.jpg {BETWEEN} what color is it?'"


@dataclass(frozen=True, kw_only=True)
class Config(picture.Config, words.Config):
    """How pictures are read, and how questions are."""


class PictureQuestionColumn:
    """Pictures, each held once, and questions; `places`: the picture of each question."""

    def __init__(self, pictures: Column, places: Sequence[int] | Integers, questions: Column) -> None:
        self.pictures, self.places, self.questions = pictures, np.asarray(places, dtype=np.int64), questions
        self.lengths = np.ones(len(places), dtype=np.int64)

    def batch(self, indices: Any) -> PictureQuestionInput:
        """The tensors of these."""
        own = np.asarray(indices, dtype=np.int64)
        return PictureQuestionInput(self.pictures.batch(self.places[own]), self.questions.batch(indices))

    def in_epoch(self, seed: int, epoch: int) -> "PictureQuestionColumn":
        """The same as this epoch of training sees it: a picture is changed alike for all questions about it."""
        return PictureQuestionColumn(in_epoch(self.pictures, seed, epoch), self.places, self.questions)


class Reader(reader.Reader):
    """Hands the picture to one reader, and the question to another."""

    INPUT, OWN, TYPED, TOKENIZED = PictureQuestion, "picture_question_files", "test#0", True
    LEARNED, TUPLE = words.Reader.LEARNED, True
    unit, budget = picture.Reader.unit, picture.Reader.budget

    def __init__(self, config: Any, pictures: picture.Reader, questions: words.Reader) -> None:
        super().__init__(config)
        self.pictures, self.questions = pictures, questions

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        pictures = picture.Reader.fit(config, tokens, _pictures_of(splits), ())
        return cls(config, pictures, words.Reader.fit(config, tokens, _questions_of(splits), texts))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        pictures = picture.Reader.fit_from(config, tokens, _pictures_of(splits), (), earlier.pictures)
        return cls(config, pictures, words.Reader.fit_from(config, tokens, _questions_of(splits), texts, earlier.questions))

    def strange(self, earlier: Any) -> set[str]:
        if not self.agrees(type(earlier)):
            return super().strange(earlier)
        return self.pictures.strange(earlier.pictures) | self.questions.strange(earlier.questions)

    def save(self, directory: Path) -> None:
        self.pictures.save(directory)
        self.questions.save(directory)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        return cls(config, picture.Reader.load(config, directory), words.Reader.load(config, directory))

    def sizes(self) -> dict[str, Any]:
        return {**self.pictures.sizes(), **self.questions.sizes()}

    def check(self, example: Example) -> None:
        self.pictures.check(replace(example, input=example.input.picture))
        self.questions.check(replace(example, input=example.input.question))

    def encode(self, inputs: Sequence[PictureQuestion]) -> PictureQuestionColumn:
        pictures, places = _different([one.picture for one in inputs])
        questions = self.questions.encode([one.question for one in inputs])
        return PictureQuestionColumn(self.pictures.encode(pictures), places, questions)

    def prepare(self, model: Any, splits: Splits, column: Any, note: Note) -> None:
        self.pictures.prepare(model, _pictures_of(splits), column.pictures, note)
        self.questions.prepare(model, _questions_of(splits), column.questions, note)

    def typed(self, words: Sequence[str]) -> list[Any]:
        """Pictures, each followed by the questions on it; an example of the run's own data may stand for itself."""
        given: list[Any] = []
        for word in words:
            before = given[-1] if given else ""
            if _names_picture(word) or BETWEEN in word or not (isinstance(before, tuple) or _names_picture(before)):
                given.append(word)
            elif isinstance(before, tuple):
                given.append((before[0], word))
            else:
                given[-1] = (before, word)
        return given

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return picture_question_files.inputs_of(source)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, str) and not typed.strip():
            return None
        if isinstance(typed, str) and BETWEEN not in typed:
            example = numbered(typed, splits)
            if example is None:
                raise DataError(f"expected {EXPECTED}, got {typed.strip()[:60]!r}")
            return replace(example, name=typed.strip())
        shown, question = typed.split(BETWEEN, 1) if isinstance(typed, str) else _both(typed)
        if not question.strip():
            raise DataError(f"expected {EXPECTED}, got no question")
        parsed = self._seen(shown, splits)
        example = Example(PictureQuestion(parsed.input, question.strip()), name=parsed.name)
        self.check(example)
        return example

    def _seen(self, shown: Any, splits: Load) -> Example:
        """The picture alone, which may be that of an example."""
        known = numbered(shown, splits)
        found = (
            self.pictures.parse(shown, splits) if known is None else replace(known, input=known.input.picture, name=shown)
        )
        if found is None:
            raise DataError(f"expected {EXPECTED}, got no picture")
        return found

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        """The picture as `input`, and the words of the `question`."""
        asked = self.questions.axes(replace(example, input=example.input.question))["input"]
        return {**self.pictures.axes(replace(example, input=example.input.picture), grid), "question": asked}

    def notes(self, example: Example) -> dict[str, str | float]:
        asked = self.axes(example)["question"]
        unknown = ", ".join(dict.fromkeys(asked.labels[place] for place in asked.unknown))
        return {"question": example.input.question, **({"words never seen in training": unknown} if unknown else {})}


def _names_picture(word: str) -> bool:
    """Whether a word of a command line is the name of a picture, or of an example."""
    return bool(NUMBERED.fullmatch(word.strip())) or Path(word.strip()).suffix.lower() in SUFFIXES


def _both(typed: Any) -> tuple[Any, str]:
    """Picture and question of what somebody holds."""
    if isinstance(typed, PictureQuestion):
        return typed.picture.pixels, typed.question
    if not (isinstance(typed, tuple | list) and len(typed) == 2 and isinstance(typed[1], str)):
        raise UsageError(f"expected a picture and a question, (picture, text), got {type(typed).__name__}")
    return typed[0], typed[1]


def _different(pictures: Iterable[Picture]) -> tuple[list[Picture], list[int]]:
    """Each picture once, and which of them each one is."""
    numbers: dict[int, int] = {}
    different: list[Picture] = []
    places: list[int] = []
    for one in pictures:
        if id(one) not in numbers:
            numbers[id(one)] = len(different)
            different.append(one)
        places.append(numbers[id(one)])
    return different, places


def _pictures_of(splits: Splits) -> Splits:
    """The different pictures of each part."""
    parts = (_different(one.input.picture for one in part)[0] for _, part in splits.parts())
    return Splits(*([Example(one) for one in part] for part in parts))


def _questions_of(splits: Splits) -> Splits:
    """The questions of each part."""
    return Splits(*([replace(one, input=one.input.question) for one in part] for _, part in splits.parts()))
