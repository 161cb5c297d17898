"""Hidden tokens of running text, and whether one part of it follows another: what encoders are pre-trained with."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from saccade.config import Share
from saccade.data.batches import ALL
from saccade.data.draws import Draws
from saccade.data.examples import Example
from saccade.data.masking import SentenceStore, masked
from saccade.data.tensors import Batch, MaskedTarget
from saccade.errors import DataError, UsageError
from saccade.evaluation.text_scores import perplexity
from saccade.readers.pieces import PiecesRow, pieces_input
from saccade.readers.sentence_splitting import sentences
from saccade.view.output.display_text import percent
from saccade.writers import writer
from saccade.writers.chances import Chances, OutputSlot
from saccade.writers.writer import Loss, Options, Prediction, recording

CHECKED = 1  # what validation data draws its masks by: always the same


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is hidden, and what else is learned."""

    masked_share: Share = 0.15
    "Share of the tokens that are to be predicted: 8 of 10 are hidden, 1 is replaced by any token, 1 stays."
    next_sentence: bool = True
    "Whether to learn, too, if the second part of an example follows its first (BERT), or is taken from elsewhere."

    def __post_init__(self) -> None:
        if not self.masked_share:
            raise UsageError("masked_share: expected more than 0, or nothing is learned, got 0.0")


class MaskedTexts:
    """Running text as examples: in order for evaluation, from random sentences for training."""

    def __init__(self, store: SentenceStore, reader: Any, config: Any, *, paired: bool) -> None:
        self.store, self.reader, self.config, self.paired = store, reader, config, paired
        self.room: int = reader.room(pair=paired)
        self.context, self.tokens = self.room, store.tokens
        self.limit = f"reader.max_length={reader.config.max_length}"
        self.firsts = self._in_order()
        self.lengths = np.full(len(self.firsts), reader.config.max_length, dtype=np.int64)
        self.inputs, self.targets = store, None

    def _in_order(self) -> list[int]:
        """The first sentence of each example, so that together they hold all of the text, or nearly so."""
        firsts, reached = [], -1
        for number, start in enumerate(self.store.starts[:-1].tolist()):
            if start >= reached or (self.paired and self.store.texts[number] != self.store.texts[number - 1]):
                firsts.append(number)
                reached = start + self.room
        return firsts

    def batch(self, indices: Any) -> Batch:
        """The examples with these numbers, one after the other in the text."""
        return self._batch([self._row(self.firsts[i], Draws(CHECKED, int(i))) for i in indices])

    def drawn(self, seed: int, numbers: Sequence[int], batch: int) -> Batch:
        """These examples of a batch that is drawn."""
        draws = [Draws(seed, batch, int(number)) for number in numbers]
        return self._batch([self._row(int(one.whole(0, len(self.store) - 1, 1)[0]), one) for one in draws])

    def _row(self, first: int, draws: Draws) -> Any:
        """The tokens of an example, how many belong to its first part, and whether the second is a stranger."""
        if self.paired:
            parts = self.store.parts(first, self.room, draws)
            row, stranger = self.reader.row(parts.first, parts.second), parts.stranger
        else:
            row, stranger = self.reader.row(self.store.window(first, self.room), None), False
        ids = np.array(row.ids, dtype=np.int64)
        return masked(ids, self.config.masked_share, self.reader.vocabulary, draws), row.first, stranger

    def _batch(self, rows: Sequence[Any]) -> Batch:
        own = pieces_input([PiecesRow(row.tokens.tolist(), first) for row, first, _ in rows], self.reader.vocabulary)
        places = [torch.from_numpy(row.places) for row, _, _ in rows]
        numbers = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor([len(one) for one in places]))
        strangers = torch.tensor([int(stranger) for *_, stranger in rows]) if self.paired else None
        truth = torch.from_numpy(np.concatenate([row.truth for row, _, _ in rows]))
        return Batch(replace(own, rows=numbers, places=torch.cat(places)), MaskedTarget(truth, strangers))

    def batches(self, config: Any) -> "DrawnTexts":
        """Where training batches come from."""
        size = config.batch_size or max(1, config.batch_tokens // self.reader.config.max_length)
        return DrawnTexts(self, size, config.seed)


class DrawnTexts:
    """Examples from random sentences: those of batch n, and what is hidden in them, depend on the seed and n alone."""

    def __init__(self, texts: MaskedTexts, size: int, seed: int) -> None:
        self.texts, self.size, self.seed, self.drawn = texts, size, seed, 0
        self.part = ALL

    @property
    def epoch(self) -> int:
        """How often as many tokens as there are were read."""
        read: int = self.drawn * self.size * self.texts.room
        return read // max(len(self.texts.tokens), 1)

    def next(self) -> Batch:
        """The next batch."""
        number = self.drawn
        self.drawn += 1
        batch: Batch = self.part.batch(np.arange(self.size), lambda own: self.texts.drawn(self.seed, own, number))
        return batch

    def state(self) -> dict[str, int]:
        """Where it stands."""
        return {"drawn": self.drawn}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from there."""
        self.drawn = state["drawn"]

    def steps(self, epochs: float) -> int:
        """How many batches read so many times as many tokens as there are."""
        return max(1, math.ceil(epochs * len(self.texts.tokens) / (self.size * self.texts.room)))


class Writer(writer.Writer):
    """Fills in what is hidden."""

    VERB, PREDICTED, OWN = "fill", False, "running_text"
    config: Config

    def __init__(self, config: Any, reader: Any) -> None:
        super().__init__(config)
        self.reader = reader
        if reader.vocabulary.mask is None:
            raise UsageError("start: expected a tokenizer with a mask token, got one without; train from nothing instead")

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        own = ("loss", "masked_loss", "perplexity", "masked_accuracy")
        return (*own, "next_sentence_accuracy") if config.next_sentence else own

    @classmethod
    def texts(cls, config: Any, tokens: Any, splits: Any) -> list[str]:
        return [example.target for example in splits.train]

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Any, reader: Any) -> "Writer":
        return cls(config, reader)

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Any) -> "Writer":
        return cls(config, reader)

    def sizes(self) -> dict[str, Any]:
        return {"next_sentence": self.config.next_sentence}

    def strange(self, earlier: Any) -> set[str]:
        return set()

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        return iter(())

    def corpus(self, examples: Sequence[Example]) -> MaskedTexts:
        """All texts, sentence by sentence."""
        paired = self.config.next_sentence
        return MaskedTexts(self._store(examples, paired=paired), self.reader, self.config, paired=paired)

    def _store(self, examples: Sequence[Example], *, paired: bool) -> SentenceStore:
        """The sentences of all texts; where examples are no pairs of them, an end token stands between texts."""
        between = [] if paired else [[self.reader.vocabulary.end]]
        cut = [sentences(example.target) for example in examples]
        # Within a text a space stands before a sentence, which is part of its first token with byte pairs and characters.
        spaced = [" " * (number > 0) + sentence for text in cut for number, sentence in enumerate(text)]
        rows = iter(self.reader.tokenizer.encode_batch(spaced))
        return SentenceStore([[*(next(rows) for _ in text), *between] for text in cut])

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        with recording(model, options.looks) as recorded:
            logits = self._logits(model, batch)
        looks = model.looks(batch.input, batch.input.lengths, recorded) if options.looks else []
        logs, tokens = logits.log_softmax(-1).topk(min(options.search.n_best, logits.shape[-1]))
        rows = batch.input.rows.cpu()
        found = []
        for row, text in enumerate(batch.input.texts):
            own = rows == row
            best = self._filled(text, logs[own].numpy(), tokens[own].tolist())
            shown = [look.of(row) for look in looks if own.any() or look.queries == "input"]
            found.append([replace(one, looks=shown) for one in best])
        return found

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        """Of every hidden token."""
        if not len(batch.input.rows):
            fix = f"write {self.reader.mask} where one is to be filled in"
            raise DataError(f"expected a text with a hidden token, got {str(batch.input.texts[0])[:40]!r}; {fix}")
        rows = self._logits(model, batch).softmax(-1).numpy()
        return Chances(slots=[OutputSlot(f"filled in {number}", row, self._name) for number, row in enumerate(rows, 1)])

    def _name(self, token: int) -> str:
        name: str = self.reader.tokenizer.labels([token])[0]
        return name.strip() or name

    def _logits(self, model: Any, batch: Batch) -> Any:
        """Of each hidden token, where no special token can stand."""
        logits = model.logits(batch.input).double().cpu()
        logits[:, list(self.reader.vocabulary.special)] = -torch.inf
        return logits

    def _filled(self, text: Any, logs: Any, tokens: Sequence[Sequence[int]]) -> list[Prediction]:
        """The text with the likeliest tokens, with the second of each, and so on; without hidden ones, as it is."""
        if not tokens:
            return [Prediction(str(text))]
        names = [self.reader.tokenizer.labels(own) for own in tokens]
        found = []
        for rank, chosen in enumerate(zip(*names, strict=True)):
            words = [word.strip() or word for word in chosen]
            own = logs[:, rank]
            text_of = self._spelled(str(text), words)
            found.append(Prediction(text_of, float(own.sum()), tokens=words, token_probabilities=np.exp(own)))
        return found

    def _spelled(self, text: str, words: Sequence[str]) -> str:
        parts = text.split(self.reader.mask)
        filled = "".join(part + word for part, word in zip(parts, words, strict=False))
        return f"{filled}{self.reader.mask.join(parts[len(words) :])}"

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        total, count, metrics = loss(None)
        means = {name: value / max(count, 1) for name, value in metrics.items()}
        scores = {"examples": len(examples), "loss": total / max(count, 1), **means}
        return {"all": {**scores, "perplexity": perplexity(means["masked_loss"])}}

    def choose_by(self) -> Sequence[str]:
        return ["loss"]

    def lengths(self, examples: Sequence[Example]) -> list[int]:
        raise UsageError("scores by length: expected a run that reads texts one by one, got one of running text")

    def title(self, example: Example, prediction: Prediction) -> str:
        return " ".join(prediction.text.split())

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        known = prediction.token_probabilities
        best = [] if known is None else zip(prediction.tokens, known.tolist(), strict=True)
        return {f"filled in {number}": f"{word} ({percent(share)})" for number, (word, share) in enumerate(best, 1)}
