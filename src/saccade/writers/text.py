"""Texts, written token by token: translations, normalized dates, captions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from saccade.config import Count, Positive, Share
from saccade.data import imported, tokenizers
from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, groups_of, place, targets_of
from saccade.data.stored.ragged import Ragged
from saccade.data.stored.text_parts import TextParts
from saccade.data.stored.token_rows import rows_of
from saccade.data.tensors import Batch, TextTarget, filled
from saccade.data.tokenizers import Tokenizer
from saccade.errors import DataError, UnknownName, UsageError
from saccade.evaluation.significance import Row, Score
from saccade.evaluation.text_scores import (
    Tokenize,
    character_error_rate,
    edits,
    paired_bootstrap,
    perplexity,
    signatures,
    text_metric,
    translation_scores,
)
from saccade.readers.text import places
from saccade.search import Hypothesis, forced, search, stream
from saccade.view.trace import Axis, Look
from saccade.writers import writer
from saccade.writers.chances import Chances
from saccade.writers.text_stream import Ended, TextStream, stop_place, stopped_tokens
from saccade.writers.writer import Floats, Loss, Options, Prediction, parts_of, probable

FILE = "target.tokenizer.json"
OVERLAPS = {"bleu": ("bleu", "chrf"), "cer": ("cer",)}  # what is computed beside exact matches, by the chosen metric
MANY = 16  # hypotheses of an input, beyond which batches are smaller


@dataclass(frozen=True, kw_only=True)
class Config:
    """How targets become tokens, what is optimized, and what the best checkpoint is chosen by."""

    metric: Literal["exact_match", "loss", "bleu", "cer"] = "exact_match"
    "What the best checkpoint is chosen by: texts that match exactly, loss per token, BLEU, or the character error rate."
    label_smoothing: Share = 0.0
    "Share of the target probability that is spread over all tokens in training."
    share_tokenizer: bool = False
    "Whether targets are read by the tokenizer of the inputs, trained on both."
    max_length: Positive = 1000
    "Maximum number of tokens of a training target; a longer one is refused."
    start: Literal["one", "group"] = "one"
    "one: every text starts from the same token; group: from the token of its example's group, a language say."
    tokens: Literal["same", "char", "word", "bpe"] = "same"
    "Kind of the targets' tokens, where they have a tokenizer of their own; same: as tokens.kind."
    tokens_size: Count = 0
    "Largest vocabulary of targets that have a tokenizer of their own; 0: as tokens.size."
    bleu_tokenize: Tokenize = "13a"
    "How sacreBLEU tokenizes; none: texts are tokenized already."

    def __post_init__(self) -> None:
        for key, given in (("tokens", self.tokens != "same"), ("tokens_size", self.tokens_size > 0)):
            if given and self.share_tokenizer:
                fix = "add writer.share_tokenizer=false (and to a transformer model.embeddings=output)"
                raise UsageError(f"{key}: has no effect where inputs and targets share a tokenizer; {fix}")

    def own_tokens(self, tokens: tokenizers.Config) -> tokenizers.Config:
        """How a tokenizer of the targets alone is trained."""
        return replace(
            tokens, kind=tokens.kind if self.tokens == "same" else self.tokens, size=self.tokens_size or tokens.size
        )


class TextTargets:
    """Token ids of targets, each with its end token, and the token that each starts from."""

    def __init__(self, rows: Ragged, first: Integers, pad: int, label_smoothing: float) -> None:
        self.rows, self.first, self.pad, self.label_smoothing = rows, first, pad, label_smoothing
        self.lengths = rows.lengths

    def batch(self, indices: Any) -> TextTarget:
        """The tensors of these targets."""
        first = torch.from_numpy(self.first[np.asarray(indices, dtype=np.int64)].astype(np.int64))
        return TextTarget(*filled(*self.rows.together(indices), self.pad), first, self.label_smoothing)


class Writer(writer.Writer):
    """Searches for texts, and scores them by exact match, loss, perplexity, BLEU and chrF."""

    TOKENIZED = SEARCHES = True
    LEARNED = ("tokens", "tokens_size")
    config: Config

    def __init__(self, config: Any, tokenizer: Tokenizer) -> None:
        super().__init__(config)
        self.tokenizer, self.vocabulary = tokenizer, tokenizer.vocabulary

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        likelihood = ("loss",) if config.metric in ("exact_match", "cer") else ("loss", "perplexity")
        return ("exact_match", *likelihood, *OVERLAPS.get(config.metric, ()))

    @classmethod
    def texts(cls, config: Any, tokens: Any, splits: Splits) -> Iterable[str]:
        return cls.texts_of(config, tokens, splits) if config.share_tokenizer else []

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Any) -> "Writer":
        _require_groups(config, splits)
        if config.share_tokenizer:
            return cls(config, _shared(reader))
        return cls(config, tokenizers.train(cls.texts_of(config, tokens, splits), config.own_tokens(tokens)))

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, reader: Any, earlier: "Writer") -> "Writer":
        _require_groups(config, splits)
        return cls(config, _shared(reader) if config.share_tokenizer else earlier.tokenizer)

    def strange(self, earlier: Any) -> set[str]:
        return {"target"} if self.tokenizer is not getattr(earlier, "tokenizer", None) else set()

    @classmethod
    def texts_of(cls, config: Any, tokens: Any, splits: Splits) -> TextParts:
        """The texts that a tokenizer of targets is trained on, with a mark for each group if texts start from one."""
        marks = [f"<{name}>" for name in groups_of(splits.train)] * tokens.min_count if config.start == "group" else []
        return TextParts(targets_of(splits.train), marks)

    def save(self, directory: Path) -> None:
        if not self.config.share_tokenizer:
            self.tokenizer.save(directory / FILE)

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Any) -> "Writer":
        return cls(config, reader.tokenizer if config.share_tokenizer else imported.load(directory / FILE))

    def sizes(self) -> dict[str, Any]:
        return {"target": self.vocabulary}

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        return self._flaws(examples, self._rows(examples))

    def _flaws(self, examples: Sequence[Example], rows: Ragged) -> Iterator[tuple[int, str]]:
        problems: dict[int, str] = {}
        for index, length in rows.outside(0, self.config.max_length):
            most = f"at most {self.config.max_length} expected; shorten it, or set writer.max_length"
            problems[index] = f"{length} tokens, {most}"
        if self.config.start == "group" and not {*groups_of(examples)} <= {*self.tokenizer.marks}:
            for index, example in enumerate(examples):
                try:
                    self.first(example.group)
                except UnknownName as error:
                    problems.setdefault(index, str(error))
        for index in sorted(problems):
            yield index, f"{place(examples[index], index + 1, 1)}: {problems[index]}"

    def _rows(self, examples: Sequence[Example]) -> Ragged:
        return rows_of(targets_of(examples), self.tokenizer, self._ended, "end")

    def _ended(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*row, self.vocabulary.end] for row in self.tokenizer.encode_batch(texts)]

    def encode(self, examples: Sequence[Example]) -> TextTargets:
        rows = self._rows(examples)
        for _, problem in self._flaws(examples, rows):
            raise DataError(problem)
        return TextTargets(rows, self._first(examples), self.vocabulary.pad, self.config.label_smoothing)

    def _first(self, examples: Sequence[Example]) -> Integers:
        """The token that each starts from."""
        if self.config.start == "one":
            return np.broadcast_to(np.int64(self.first("")), len(examples))
        known = {group: self.first(group) for group in groups_of(examples)}
        return np.fromiter((known[example.group] for example in examples), np.int64, len(examples))

    def groups(self) -> list[str]:
        return list(self.tokenizer.marks) if self.config.start == "group" else [""]

    def first(self, group: str) -> int:
        """The token that a text of this group starts from."""
        if self.config.start == "one":
            return self.vocabulary.start
        if group not in self.tokenizer.marks:
            raise UnknownName("group to write", group, self.tokenizer.marks)
        return self.tokenizer.encode(f"<{group}>")[0]

    def budget(self, budget: int, options: Options) -> int:
        # What a step computes grows with the hypotheses of each input: of very many, fewer inputs are searched together.
        width = options.search.beam if options.search.method == "beam" else options.search.n_best
        return budget * MANY // max(MANY, width)

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        predictions: list[list[Prediction]] = [[] for _ in positions]
        memory = model.read(batch.input)
        known = model.reading(batch.input) if options.looks else []
        for group in options.groups:
            best = search(
                model,
                memory,
                options.search,
                inputs=len(positions),
                start=[self.first(group)] * len(positions),
                end=self.vocabulary.end,
                banned=self.vocabulary.banned,
                looks=options.looks,
                positions=positions,
                device=next(model.parameters()).device,
            )
            for i, (texts, hypotheses) in enumerate(zip(predictions, best, strict=True)):
                read = [look.of(i) for look in known]
                texts += [self._prediction(hypothesis, group, read, options.stop) for hypothesis in hypotheses]
        return predictions

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        memory, device, start = model.read(batch.input), next(model.parameters()).device, self.first(options.groups[0])
        if given is None:
            end, banned = self.vocabulary.end, self.vocabulary.banned
            places = {"inputs": 1, "start": [start], "end": end, "banned": banned, "positions": [1], "device": device}
            best = search(model, memory, options.search, **places)[0][0]
            given = Chances([*best.tokens, end] if best.finished else best.tokens)
        (known,) = forced(model, memory, [given.ids], start=start, device=device)
        return Chances(given.ids, self.tokenizer.labels(given.ids), known.log_probs.double().numpy())

    def stream(self, model: Any, batch: Batch, options: Options) -> TextStream:
        memory = model.read(batch.input)
        pieces = stream(
            model,
            memory,
            options.search,
            inputs=1,
            start=self.first(options.groups[0]),
            end=self.vocabulary.end,
            banned=self.vocabulary.banned,
            device=next(model.parameters()).device,
        )
        limit = options.search.max_length
        return TextStream(self.tokenizer, (new for (new,) in pieces), limit=limit, stop=options.stop)

    def _prediction(self, hypothesis: Hypothesis, group: str, read: Sequence[Look], stop: Sequence[str] = ()) -> Prediction:
        size = stopped_tokens(self.tokenizer, hypothesis.tokens, stop) if stop else None
        if size is not None:
            hypothesis = hypothesis.until(size)
        ended: Ended = "stop" if size is not None else "end" if hypothesis.finished else "length"
        ids = [*hypothesis.tokens, self.vocabulary.end] if hypothesis.finished else hypothesis.tokens
        # Looks at the input first: they are what is shown unless another is asked for.
        own = sorted(hypothesis.looks, key=lambda look: look.keys != "input")
        looks = [Look(look.name, "output", look.keys, look.weights.numpy()) for look in own]
        text = self.tokenizer.decode(hypothesis.tokens)
        text = text if size is None else text[: stop_place(text, stop)]
        start = self.tokenizer.labels([self.first(group)])
        return Prediction(
            text,
            hypothesis.log_prob,
            ended in ("end", "stop"),
            self.tokenizer.labels(ids),
            start,
            [*looks, *read],
            group,
            np.exp(np.minimum(hypothesis.log_probs, 0.0)),
            ended=ended,
        )

    def empty(self, options: Options) -> list[Prediction]:
        return [Prediction("", group=group) for group in options.groups for _ in range(options.search.n_best)]

    def joined(self, parts: Sequence[Prediction]) -> Prediction:
        """The texts of several pieces of one input as one."""
        return (
            parts[0]
            if len(parts) == 1
            else Prediction(
                " ".join(part.text for part in parts),
                sum(part.log_prob for part in parts),
                all(part.finished for part in parts),
                [token for part in parts for token in part.tokens],
                group=parts[0].group,
            )
        )

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        texts, match = [one.text for one in predictions], self._match(examples, predictions)
        groups = [example.group for example in examples]
        # Every group's own loss is computed alone, so that it does not depend on the others, and added up.
        own = {name: [i for i, group in enumerate(groups) if group == name] for name in groups_of(examples)}
        losses = {name: loss(indices)[:2] for name, indices in own.items()}
        losses["all"] = (sum(total for total, _ in losses.values()), sum(count for _, count in losses.values()))
        return {
            name: {
                "examples": len(part),
                "exact_match": sum(match[i] for i in part) / len(part),
                **self._likelihood(*losses[name]),
                **self._overlap([texts[i] for i in part], [examples[i].target for i in part]),
            }
            for name, part in parts_of(groups).items()
        }

    def brief(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        match = self._match(examples, predictions)
        overlap = self._overlap([one.text for one in predictions], [one.target for one in examples])
        return {"examples": len(examples), "exact_match": sum(match) / len(match), **overlap}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        return np.array(self._match(examples, predictions), np.float64) if name == "exact_match" else None

    def whole(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Score | None:
        if name != "cer":
            return None
        references = self._prepared(targets_of(examples))
        wrong = np.array([edits(one.text, known) for one, known in zip(predictions, references, strict=True)])
        sizes = np.array([len(known) for known in references])
        return lambda indices: float(wrong[indices].sum() / max(1, sizes[indices].sum()))

    def bootstrap(
        self, name: str, examples: Sequence[Example], found: Mapping[str, Sequence[Prediction]], samples: int
    ) -> dict[str, Row] | None:
        if name not in OVERLAPS["bleu"]:
            return None
        texts = {run: [one.text for one in own] for run, own in found.items()}
        metric = text_metric(name, self.config.bleu_tokenize)
        return paired_bootstrap(texts, self._references(examples), metric, samples)

    def _references(self, examples: Sequence[Example]) -> list[list[str]]:
        """Of each example the texts that count as right."""
        return [[one.target] for one in examples]

    def _prepared(self, references: Sequence[str]) -> list[str]:
        lower = getattr(self.tokenizer, "lower", False)
        return [tokenizers.prepared(text, lower) for text in references]

    def _match(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[bool]:
        """Whether each text is what the target's tokens spell: words may be spaced and cased otherwise than they were."""
        rows, unknown = tokenizers.encoded(self.tokenizer, targets_of(examples)), self.vocabulary.unknown
        pairs = zip(rows, predictions, strict=True)
        return [unknown not in row and one.text == self.tokenizer.decode(row) for row, one in pairs]

    def _likelihood(self, total: float, tokens: int) -> dict[str, float]:
        loss = total / tokens
        known = "perplexity" in self.metrics(self.config)
        return {"loss": loss, "perplexity": perplexity(loss)} if known else {"loss": loss}

    def _overlap(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        if self.config.metric == "cer":
            return {"cer": character_error_rate(texts, self._prepared(references))}
        every = [[one] for one in references]
        return translation_scores(texts, every, self.config.bleu_tokenize) if self.config.metric == "bleu" else {}

    def signatures(self) -> dict[str, str]:
        return signatures(self.config.bleu_tokenize) if self.config.metric == "bleu" else {}

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        kind = places(self.tokenizer)
        before = Axis(kind, [*prediction.context, *prediction.tokens[:-1]])
        return {"output": probable(kind, prediction), "written": before}

    def title(self, example: Example, prediction: Prediction) -> str:
        return f"{example.input if isinstance(example.input, str) else example.name} → {prediction.text}"

    def notes(self, example: Example, prediction: Prediction) -> dict[str, str | float]:
        return {"log_prob": prediction.log_prob}


def _require_groups(config: Any, splits: Splits) -> None:
    """Refuse to start texts from their group where none has one."""
    if config.start == "group" and not any(groups_of(splits.train)):
        raise DataError("writer.start=group: expected pairs with a group, a language say, in a third column, got none")


def _shared(reader: Any) -> Tokenizer:
    """The tokenizer of the inputs."""
    if not hasattr(reader, "tokenizer"):
        raise UsageError("writer.share_tokenizer: expected a system that reads text, got one that does not; leave it out")
    tokenizer: Tokenizer = reader.tokenizer
    return tokenizer
