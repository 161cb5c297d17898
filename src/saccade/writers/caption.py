"""Captions of pictures: texts of which several may be right, one a line; the first is learned, and each counts in scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from saccade.data import tokenizers
from saccade.data.examples import Example, Splits
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.text_parts import TextParts
from saccade.data.stored.token_rows import rows_of
from saccade.evaluation import caption_scores
from saccade.evaluation.pointing import pointed
from saccade.evaluation.significance import Row
from saccade.evaluation.text_scores import paired_bootstrap, signatures, translation_scores
from saccade.readers.text import places
from saccade.writers import text
from saccade.writers.writer import Floats, Loss, Prediction, parts_of


@dataclass(frozen=True, kw_only=True)
class Config(text.Config):
    """How captions become tokens, what is optimized, and what the best checkpoint is chosen by."""

    metric: Literal["cider", "bleu_4", "bleu", "exact_match", "loss"] = "cider"  # type: ignore[assignment]
    """What the best checkpoint is chosen by: CIDEr-D or BLEU-4 of plain words, BLEU as of translations, the share of exact
    captions, or the loss per token."""


class Writer(text.Writer):
    """Searches for captions, and scores them by BLEU-1 to 4, ROUGE-L, CIDEr-D and METEOR's exact matches."""

    OWN = "caption_files"

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return (*text.Writer.metrics(config), *caption_scores.NAMES, "pointing_accuracy")

    @classmethod
    def texts_of(cls, config: Any, tokens: Any, splits: Splits) -> TextParts:
        return TextParts([reference for example in splits.train for reference in references_of(example)], [])

    def _rows(self, examples: Sequence[Example]) -> Ragged:
        return rows_of([references_of(example)[0] for example in examples], self.tokenizer, self._ended, "end")

    def needs_looks(self, examples: Sequence[Example]) -> bool:
        return any(example.input.boxes is not None for example in examples)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        scores = super().score(examples, predictions, loss)
        groups = parts_of([example.group for example in examples])
        for name, own in groups.items() if self.needs_looks(examples) else ():
            scores[name] |= self._pointing([examples[i] for i in own], [predictions[i] for i in own])
        return scores

    def _pointing(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        """The share of words that name something in a known box, and were written while the model looked into it."""
        found = [hit for pair in zip(examples, predictions, strict=True) for hit in self._hits(*pair)]
        return {"pointing_accuracy": float(np.mean(found))} if found else {}

    def _hits(self, example: Example, prediction: Prediction) -> list[bool]:
        if example.input.boxes is None or not prediction.looks:
            return []
        expected, weights = references_of(example)[0].split(), prediction.looks[0].weights.mean(0)
        numbers, hits = self._word_numbers(prediction), []
        for number, *box in example.input.boxes.tolist():
            if number in numbers and prediction.text.split()[number : number + 1] == expected[number : number + 1]:
                hits.append(pointed(weights[numbers.index(number)], box, example.input.pixels.shape[:2]))
        return hits

    def _word_numbers(self, prediction: Prediction) -> list[int]:
        """Of each token the number of the word that it belongs to."""
        if places(self.tokenizer) == "words":
            return list(range(len(prediction.tokens)))
        written = ("".join(prediction.tokens[: place + 1]) for place in range(len(prediction.tokens)))
        return [len(so_far.split()) - 1 for so_far in written]

    def _references(self, examples: Sequence[Example]) -> list[list[str]]:
        return [references_of(one) for one in examples]

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        if name not in caption_scores.NAMES or name in caption_scores.BLEUS:
            return super().outcomes(name, examples, predictions)
        texts = [one.text for one in predictions]
        return caption_scores.each_caption(texts, self._references(examples))[name]

    def bootstrap(
        self, name: str, examples: Sequence[Example], found: Mapping[str, Sequence[Prediction]], samples: int
    ) -> dict[str, Row] | None:
        if name not in caption_scores.BLEUS:
            return super().bootstrap(name, examples, found, samples)
        texts = caption_scores.plain([[one.text for one in own] for own in found.values()])
        references = caption_scores.plain(self._references(examples))
        return paired_bootstrap(dict(zip(found, texts, strict=True)), references, caption_scores.bleu_metric(name), samples)

    def _match(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[bool]:
        every = [references_of(example) for example in examples]
        rows = iter(list(tokenizers.encoded(self.tokenizer, [one for own in every for one in own])))
        spelled = [[self._spelled(next(rows)) for _ in own] for own in every]
        return [one.text in own for own, one in zip(spelled, predictions, strict=True)]

    def _spelled(self, row: Sequence[int]) -> str | None:
        """What these tokens say; None: they have an unknown one."""
        return None if self.vocabulary.unknown in row else self.tokenizer.decode(row)

    def _overlap(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        every = [one.split("\n") for one in references]
        own = translation_scores(texts, every, self.config.bleu_tokenize) if self.config.metric == "bleu" else {}
        return {**own, **caption_scores.caption_scores(texts, every)}

    def signatures(self) -> dict[str, str]:
        own = signatures(self.config.bleu_tokenize) if self.config.metric == "bleu" else {}
        return {**own, **caption_scores.signatures()}

    def title(self, example: Example, prediction: Prediction) -> str:
        return f"{example.name} → {prediction.text}" if example.name else prediction.text


def references_of(example: Example) -> list[str]:
    """The captions of a picture that count as right."""
    return example.target.split("\n")
