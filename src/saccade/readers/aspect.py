"""A text and an aspect of it: `sentence | aspect`, with the aspect after the last ` | `."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, place
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.stored_examples import StoredTexts
from saccade.data.stored.token_rows import rows_of
from saccade.data.tensors import FAR, AspectInput, filled
from saccade.errors import DataError
from saccade.readers import words
from saccade.readers.spelling import Spelling
from saccade.readers.words import Config as Config
from saccade.readers.words import WordsColumn
from saccade.view.trace import Axis

SEPARATOR = " | "


def parted(text: str, where: str = "") -> tuple[str, str]:
    """The sentence and its aspect; of an empty text both are empty."""
    sentence, bar, aspect = text.rpartition(SEPARATOR)
    if text.strip() and not aspect.strip():
        end = text if len(text) <= 40 else "…" + text[-40:]
        raise DataError(f"{where}expected an aspect behind the last ' | ', got nothing in {end!r}; write it there")
    if not bar and text.strip():
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise DataError(
            f"{where}expected a sentence and its aspect as 'sentence | aspect', got {shown!r}; add ' | ' and the aspect"
        )
    return sentence, aspect


def distances(tokens: Sequence[str], aspect: Sequence[str]) -> list[int]:
    """How many words each is away from the nearest occurrence of the aspect: 0 within it, below 0 before it."""
    size = len(aspect)
    starts = [
        start for start in range(len(tokens) - size + 1) if size and list(tokens[start : start + size]) == list(aspect)
    ]
    if not starts:
        return [FAR] * len(tokens)
    return [min((_away(index, start, start + size - 1) for start in starts), key=abs) for index in range(len(tokens))]


def _away(index: int, first: int, last: int) -> int:
    return min(index - first, 0) + max(index - last, 0)


class StoredSide(StoredTexts):
    """The sentences (0) of stored texts, or their aspects (1)."""

    def __init__(self, texts: StoredTexts, side: int) -> None:
        super().__init__(texts.examples, texts.field)
        self.side = side

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return StoredSide(found, self.side) if isinstance(index, slice) else found

    def name(self, *facts: Any) -> str:
        return super().name("aspect" if self.side else "sentence", *facts)

    def _texts(self, rows: Integers) -> Iterator[str]:
        return (parted(text)[self.side] for text in super()._texts(rows))


class AspectColumn(WordsColumn):
    """Texts with their aspects, and how far each word is from those, counted from -FAR."""

    def __init__(
        self,
        rows: tuple[Ragged, Ragged, Ragged],
        spelling: tuple[Spelling | None, Spelling | None],
        longer: int,
    ) -> None:
        super().__init__(rows[0], spelling[0], longer)
        self.aspects, self.away, self.aspect_spelling = *rows[1:], spelling[1]

    def batch(self, indices: Any) -> AspectInput:
        """The tensors of these texts."""
        own = super().batch(indices)
        aspect, aspect_lengths = self.wide(*filled(*self.aspects.together(indices)))
        counted, lengths = self.away.together(indices)
        away, _ = self.wide(*filled(counted - FAR, lengths))
        letters = self.spelled(self.aspect_spelling, indices, aspect)
        return AspectInput(
            own.tokens,
            own.lengths,
            spelling=own.spelling,
            aspect=aspect,
            aspect_lengths=aspect_lengths,
            aspect_spelling=letters,
            distance=away,
        )


class Reader(words.Reader):
    """Encodes texts and their aspects."""

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        for name, part in splits.parts():
            for index, example in enumerate(part):
                try:
                    parted(example.input, f"{place(example, index + 1)}: ")
                except DataError as error:
                    yield name, index, str(error)

    def check(self, example: Example) -> None:
        parted(example.input)

    @classmethod
    def texts(cls, examples: Sequence[Example]) -> list[str]:
        """A sentence that comes with several aspects counts once."""
        pairs = [parted(example.input, f"{place(example, number)}: ") for number, example in enumerate(examples, 1)]
        return list(dict.fromkeys(text for pair in pairs for text in pair))

    def encode(self, inputs: Sequence[str]) -> AspectColumn:
        sides = self._sides(inputs)
        tokens, aspects = (rows_of(side, self.tokenizer, self.tokenizer.encode_batch) for side in sides)
        away = rows_of(inputs, self.tokenizer, self._away, "away", self.config.max_length, limit=2 * FAR + 1)
        rows, longer = self.cut(tokens)
        return AspectColumn((rows, aspects, away), (self.spelled(sides[0]), self.spelled(sides[1])), longer)

    @staticmethod
    def _sides(texts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        if isinstance(texts, StoredTexts):
            return StoredSide(texts, 0), StoredSide(texts, 1)
        pairs = [parted(text, f"example {number}: ") for number, text in enumerate(texts, 1)]
        return [sentence for sentence, _ in pairs], [aspect for _, aspect in pairs]

    def _away(self, texts: Sequence[str]) -> list[list[int]]:
        """How far the words of each text are from its aspect, those that are read."""
        pieces = ([self.tokenizer.pieces(part) for part in parted(text)] for text in texts)
        found = (distances(tokens[: self.config.max_length], aspect) for tokens, aspect in pieces)
        return [[FAR + number for number in row] for row in found]

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        return super().axes(Example(parted(example.input)[0]))

    def notes(self, example: Example) -> dict[str, str | float]:
        return {"aspect": parted(example.input)[1]}
