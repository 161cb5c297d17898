"""A text and an aspect of it to a label: `sentence | aspect`, with the aspect after the last ` | `."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from saccade.data import tokenizers
from saccade.data.aspects import distances
from saccade.data.batches import Integers
from saccade.data.examples import Pair, Splits, place
from saccade.data.spelling import Spelling
from saccade.data.text import LabeledAspects, padded
from saccade.errors import DataError
from saccade.tasks import text_to_label
from saccade.tasks.prediction import Prediction
from saccade.tasks.text_to_label import Config as Config
from saccade.tasks.text_to_label import TextCorpus
from saccade.view.trace import Scene

DATA = "texts"
TOKENS = "word"
BETWEEN = " | "


def parted(text: str, where: str = "") -> tuple[str, str]:
    """The sentence and its aspect; where nothing is written, both are empty."""
    sentence, bar, aspect = text.rpartition(BETWEEN)
    if text.strip() and not aspect.strip():
        raise DataError(f"{where}expected an aspect behind the last ' | ', got nothing in {_end(text)!r}; write it there")
    if not bar and text.strip():
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise DataError(
            f"{where}expected a sentence and its aspect as 'sentence | aspect', got {shown!r}; add ' | ' and the aspect"
        )
    return sentence, aspect


def without_aspect(splits: Splits) -> Iterator[tuple[str, int, str]]:
    """The part and place of each example that has none, and what is wrong with it."""
    for name, part in splits.parts():
        told = "to learn from" if name == "train" else f"of the {name} data"
        for index, pair in enumerate(part):
            try:
                parted(pair.source, f"{pair.where() or f'example {index + 1} {told}'}: ")
            except DataError as error:
                yield name, index, str(error)


def _end(text: str) -> str:
    return text if len(text) <= 40 else "…" + text[-40:]


class AspectCorpus(TextCorpus):
    """Encoded texts with their aspects, how far each word is from those, labels and, if letters are read, the spelling."""

    def __init__(
        self,
        sources: list[list[int]],
        aspects: list[list[int]],
        away: list[list[int]],
        labels: Integers,
        spelling: Spelling | None,
        aspect_spelling: Spelling | None,
        longer: int,
    ) -> None:
        super().__init__(sources, labels, spelling, longer)
        self.aspects, self.away, self.aspect_spelling = aspects, away, aspect_spelling

    def batch(self, indices: Any) -> LabeledAspects:
        """The batch of these examples."""
        texts = super().batch(indices)
        aspect, lengths = padded([self.aspects[i] or [0] for i in indices])
        lengths = torch.tensor([len(self.aspects[i]) for i in indices])
        letters = self.aspect_spelling.batch(indices, aspect.shape[1]) if self.aspect_spelling else None
        given = (texts.source, texts.lengths, texts.label, aspect, lengths)
        away = padded([self.away[i] or [0] for i in indices])[0]
        return LabeledAspects(*given, spelled=texts.spelled, aspect_spelled=letters, distance=away)


class Task(text_to_label.Task):
    """Everything around a model that reads a text and says the label of one aspect of it."""

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """As of any text; aspects of what is judged on are missed now, not at the first validation."""
        for _, _, problem in without_aspect(splits):
            raise DataError(problem)
        return cast("Task", super().fit(config, tokens, splits))

    @classmethod
    def unfit(cls, splits: Any) -> Iterator[tuple[str, int, str]]:
        """What `fit` refuses: texts without an aspect, and labels that none of those to learn from has."""
        yield from without_aspect(splits)
        yield from super().unfit(splits)

    def require_sound(self, example: Any) -> None:
        """Refuse a sentence without an aspect, and a label that the run does not know."""
        super().require_sound(example)
        parted(example.source)

    @staticmethod
    def read(pairs: Sequence[Pair]) -> list[str]:
        """The texts whose words are learned: a sentence that comes with several aspects counts once."""
        places = (pair.where() or f"example {number} to learn from" for number, pair in enumerate(pairs, 1))
        found = [parted(pair.source, f"{where}: ") for pair, where in zip(pairs, places, strict=True)]
        return list(dict.fromkeys(text for pair in found for text in pair))

    def check(self, text: str) -> None:
        """Refuse a sentence without an aspect."""
        parted(text)

    def corpus(self, pairs: Sequence[Pair]) -> Any:
        """The texts as tokens; one without an aspect is told by its place."""
        for number, pair in enumerate(pairs, 1):
            parted(pair.source, f"{place(pair, number)}: ")
        return super().corpus(pairs)

    def encoded(self, texts: Sequence[str], labels: Integers) -> AspectCorpus:
        """These texts and their aspects, with the numbers of their labels."""
        found = [parted(text, f"example {number}: ") for number, text in enumerate(texts, 1)]
        sides = [[pair[side] for pair in found] for side in (0, 1)]
        sources, aspects = map(self.tokenizer.encode_batch, sides)
        rows, longer = self.cut(sources)
        cut = [list(map(self.tokenizer.pieces, side)) for side in sides]
        away = [distances(words[: len(row)], aspect) for row, words, aspect in zip(rows, *cut, strict=True)]
        spelling, aspect_spelling = map(self.spelled, cut)
        return AspectCorpus(rows, aspects, away, labels, spelling, aspect_spelling, longer)

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of each prediction: how much each word was for this aspect."""
        sentence, aspect = parted(text)
        found = super().scenes(sentence, predictions, kind, reading)
        return [
            Scene(f"{one.text}: {text}", scene.axes, scene.looks, {"aspect": aspect, **scene.notes})
            for one, scene in zip(predictions, found, strict=True)
        ]
