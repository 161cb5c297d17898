"""Text to text: sentences to sentences, dates to dates. Tokenizers, batches, prediction, scores and pictures."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from saccade.config import Positive
from saccade.data import batches, imported, tokenizers
from saccade.data.examples import Pair, Splits, place
from saccade.data.imported import Imported
from saccade.data.text import TextBatch, padded, text_batch
from saccade.data.tokenizers import END, SPECIALS, START, UNKNOWN, Tokenizer
from saccade.errors import DataError, UnknownName
from saccade.evaluation.text import Tokenize, signatures, translation_scores
from saccade.layers.linear import at_rest
from saccade.search import Config as SearchConfig
from saccade.search import Hypothesis, search
from saccade.systems.system import System
from saccade.tasks.lengths import bounds
from saccade.tasks.pieces import gathered, pieces
from saccade.tasks.prediction import Prediction, at_line
from saccade.view.trace import Axis, Look, Scene

DATA = "texts"
# Inputs that are sorted by length and searched together; and source tokens of one batch, padding included.
WINDOW, BATCH_TOKENS = 2000, 8000
MANY = 16  # hypotheses of an input, beyond which batches are smaller
WRITTEN = ", written"  # how the names of looks end that are at what was written, and not at the source
PLACES = {"char": "characters", "word": "words", "bpe": "pieces", "imported": "pieces"}


@dataclass(frozen=True, kw_only=True)
class Config:
    """How texts become tokens, and what counts as right."""

    shared: bool = False
    "One tokenizer for both sides."
    longest: Positive = 1000
    "Most tokens of a text; a longer one is refused, or read in pieces by `saccade translate` and `evaluate`."
    metric: Literal["exact", "loss", "bleu"] = "exact"
    "What the best checkpoint is chosen by: share of texts that are exactly right, loss per token, or BLEU."
    bleu_tokens: Tokenize = "13a"
    "How sacreBLEU cuts texts into tokens; none: they are cut already."
    starts: Literal["one", "group"] = "one"
    "one: the writer always starts alike; group: from the token of the pair's group, a language it is to write."
    source_ends: Literal["open", "end"] = "open"
    "end: a source ends with the token of the end, as a target does; models of Marian are trained so."


class TextCorpus:
    """Encoded pairs; `first` is what each target starts from, if that is not START."""

    def __init__(self, sources: list[list[int]], targets: list[list[int]], first: list[int] | None = None) -> None:
        self.sources, self.targets, self.first = sources, targets, first
        sizes = [(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        self.lengths = np.array(sizes, dtype=np.int64).reshape(-1, 2)

    def batch(self, indices: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]]) -> TextBatch:
        """The batch of these examples."""
        first = None if self.first is None else [self.first[i] for i in indices]
        return text_batch([self.sources[i] for i in indices], [self.targets[i] for i in indices], first)


class Task:
    """Everything around a model that reads and writes text."""

    writes_text = True
    counted = "tokens"
    parts = ()

    @staticmethod
    def metrics(config: Config) -> Sequence[str]:
        """The scores that `evaluate` gives, known before anything is trained."""
        likelihood = ("loss",) if config.metric == "exact" else ("loss", "perplexity")
        return ("examples", "exact", *likelihood, *(("bleu", "chrf") if config.metric == "bleu" else ()))

    def __init__(self, config: Config, source: Tokenizer | Imported, target: Tokenizer | Imported) -> None:
        self.config, self.source, self.target = config, source, target

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, splits: Splits) -> "Task":
        """Learn the tokenizers from the training data."""
        sources, targets = [pair.source for pair in splits.train], [pair.target for pair in splits.train]
        if config.starts == "group" and not any(pair.group for pair in splits.train):
            raise DataError("task.starts=group: expected pairs with a group, a language say, in a third column, got none")
        if config.starts == "group":
            targets += [f"<{name}>" for name in _group_names(splits.train)] * tokens.min_count
        if config.shared:
            both = tokenizers.train([*sources, *targets], tokens)
            return cls(config, both, both)
        return cls(config, tokenizers.train(sources, tokens), tokenizers.train(targets, tokens))

    def save(self, run: Path) -> None:
        """Write the tokenizers into the run."""
        if self.config.shared:
            self.source.save(run / "tokenizer.json")
        else:
            self.source.save(run / "source.tokenizer.json")
            self.target.save(run / "target.tokenizer.json")

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read them again."""
        if config.shared:
            both = imported.load(run / "tokenizer.json")
            return cls(config, both, both)
        return cls(config, imported.load(run / "source.tokenizer.json"), imported.load(run / "target.tokenizer.json"))

    def sizes(self) -> dict[str, int]:
        """What a model is made for."""
        return {"source_size": self.source.size, "target_size": self.target.size}

    def corpus(self, pairs: Sequence[Pair]) -> TextCorpus:
        """The pairs as tokens; a target ends with END."""
        sources, targets = self._encoded(pairs)
        for _, problem in self._flaws(pairs, sources, targets):
            raise DataError(problem)
        first = [self.first(pair.group) for pair in pairs] if self.config.starts == "group" else None
        return TextCorpus(sources, targets, first)

    def _encoded(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        sources = self._ended(self.source.encode_batch([pair.source for pair in pairs]))
        return sources, [[*row, END] for row in self.target.encode_batch([pair.target for pair in pairs])]

    @classmethod
    def unfit(cls, splits: Any) -> Iterator[tuple[str, int, str]]:
        """What `fit` refuses: the part and place of each such example, and what is wrong with it; nothing."""
        return iter(())

    def flaws(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, str]]:
        """The place of each pair that could not be scored, and what is wrong with it."""
        for start in range(0, len(pairs), WINDOW):
            window = pairs[start : start + WINDOW]
            yield from self._flaws(window, *self._encoded(window), start)

    def _flaws(
        self, pairs: Sequence[Pair], sources: list[list[int]], targets: list[list[int]], start: int = 0
    ) -> Iterator[tuple[int, str]]:
        for index, (pair, *row) in enumerate(zip(pairs, sources, targets, strict=True), start):
            side = int(len(row[1]) > len(row[0]))
            try:
                if not row[0]:
                    raise DataError("expected a source, got a text without tokens; leave it out")
                self._check(max(map(len, row)))
                self.first(pair.group)
            except (DataError, UnknownName) as error:
                yield index, f"{place(pair, index + 1, side if row[0] else 0)}: {error}"

    def groups(self) -> list[str]:
        """What the writer can be told to write, languages say; one nameless group if it always starts alike."""
        return list(self.target.marks) if self.config.starts == "group" else [""]

    def first(self, group: str) -> int:
        """The token that a text of this group starts from."""
        if self.config.starts == "one":
            return START
        if group not in self.target.marks:
            raise UnknownName("group to write", group, self.target.marks)
        return self.target.encode(f"<{group}>")[0]

    def _ended(self, rows: list[list[int]]) -> list[list[int]]:
        """Sources as the model reads them; one without tokens stays so."""
        return [[*row, END] if row else row for row in rows] if self.config.source_ends == "end" else rows

    def _check(self, length: int) -> None:
        if length > self.config.longest:
            raise DataError(f"{length} tokens, at most {self.config.longest} expected; shorten it, or set task.longest")

    def predict(
        self,
        model: Any,
        texts: Iterable[str],
        search_config: SearchConfig,
        *,
        looks: bool = False,
        groups: Sequence[str] = ("",),
        split: bool = False,
        first: int = 0,
    ) -> Iterator[list[Prediction]]:
        """The best texts for each input, group after group, in the order of the inputs; an empty input gives an empty text.

        Each input is read once for all groups. What is longer than task.longest is refused, or, with `split`, read in
        pieces whose texts are joined. `first` is the number of the first input, where it is not the first of its file.
        """
        left = iter(texts)
        while window := list(islice(left, WINDOW)):
            rows = self.source.encode_batch(["" if text.isspace() else text for text in window])
            for number, row in enumerate(rows, first + 1):
                if not split:
                    with at_line(number):
                        self._check(len(row))
            yield from self._window(model, rows, first, search_config, looks, groups)
            first += len(window)

    def _window(
        self, model: Any, whole: list[list[int]], first: int, config: SearchConfig, looks: bool, groups: Sequence[str]
    ) -> list[list[Prediction]]:
        cut, owners = pieces(whole, self.config.longest)
        rows = self._ended(cut)
        # By piece and group; nothing is asked of the model for an empty one.
        empty = [[Prediction("", 0.0, True, [], {}, group)] * config.n_best for group in groups]
        found: list[list[list[Prediction]]] = [[[] for _ in groups] if row else list(empty) for row in rows]
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        # What a step computes grows with the hypotheses of each input: of very many, fewer inputs are searched together.
        width = config.beam if config.method == "beam" else config.n_best
        budget = BATCH_TOKENS * MANY // max(MANY, width)
        with at_rest():
            for chosen in batches.cut(order, [len(row) for row in rows], budget):
                positions = [first + owners[i] for i in chosen]
                written = self._written_by(model, [rows[i] for i in chosen], positions, config, looks, groups)
                for i, texts in zip(chosen, written, strict=True):
                    found[i] = texts
        return [
            [one for parts in zip(*own, strict=True) for one in _joined(parts)]
            for own in gathered(found, owners, len(whole))
        ]

    def _written_by(
        self,
        model: Any,
        rows: list[list[int]],
        positions: list[int],
        config: SearchConfig,
        looks: bool,
        groups: Sequence[str],
    ) -> list[list[list[Prediction]]]:
        """The texts of one batch, by row and group; it is read once."""
        source, lengths = padded(rows)
        found: list[list[list[Prediction]]] = [[] for _ in rows]
        with torch.inference_mode():
            memory = model.eval().read(source, lengths)
            for group in groups:
                starts = [self.first(group)] * len(rows)
                best = search(model, memory, config, inputs=len(rows), looks=looks, positions=positions, first=starts)
                for texts, row, hypotheses in zip(found, rows, best, strict=True):
                    texts.append([self._told(hypothesis, len(row), group) for hypothesis in hypotheses])
        return found

    def _told(self, hypothesis: Hypothesis, length: int, group: str) -> Prediction:
        labels = self.target.labels([*hypothesis.tokens, END] if hypothesis.finished else hypothesis.tokens)
        # A look at the source has as many keys as its batch's longest; one at what was written has one more at each step.
        looks = {
            name: weights if name.endswith(WRITTEN) else weights[..., :length] for name, weights in hypothesis.looks.items()
        }
        text = self.target.decode(hypothesis.tokens)
        return Prediction(text, hypothesis.log_prob, hypothesis.finished, labels, looks, group)

    def answers(
        self, model: System, pairs: Sequence[Pair], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> list[str]:
        """The best text for each pair's source, in its group."""
        texts = [""] * len(pairs)
        done = 0
        for group in _group_names(pairs) if self.config.starts == "group" else [""]:
            chosen = [i for i, pair in enumerate(pairs) if self.config.starts == "one" or pair.group == group]
            found = self.predict(model, (pairs[i].source for i in chosen), config, groups=(group,), split=True)
            for i, best in zip(chosen, found, strict=True):
                texts[i] = best[0].text if best else ""
                done += 1
                tick(done)
        return texts

    def evaluate(
        self, model: System, pairs: Sequence[Pair], config: SearchConfig, tick: Callable[[int], None] = lambda done: None
    ) -> dict[str, dict[str, float]]:
        """Scores of all pairs ("all") and of each group: how many, exactly right, loss per token, perplexity, and BLEU and
        chrF where that is the metric."""
        return self.scores(model, pairs, self.answers(model, pairs, config, tick))

    def scores(self, model: System, pairs: Sequence[Pair], texts: Sequence[str]) -> dict[str, dict[str, float]]:
        """The scores of these texts for these pairs."""
        if not pairs:
            raise DataError("expected examples to be judged on, got none")
        corpus = self.corpus(pairs)
        right = self._right(corpus.targets, texts)
        parts = {name: [i for i, pair in enumerate(pairs) if pair.group == name] for name in _group_names(pairs)}
        losses = {name: _loss(model, corpus, chosen) for name, chosen in parts.items()}
        loss, tokens = map(sum, zip(*losses.values(), strict=True))
        parts = {"all": list(range(len(pairs)))} | {name: parts[name] for name in parts if name not in ("", "all")}
        losses |= {"all": (loss, int(tokens))}
        return {
            name: {
                "examples": len(chosen),
                "exact": sum(right[i] for i in chosen) / len(chosen),
                **self._likelihood(*losses[name]),
                **self._overlap([texts[i] for i in chosen], [pairs[i].target for i in chosen]),
            }
            for name, chosen in parts.items()
        }

    def by_length(self, pairs: Sequence[Pair], texts: Sequence[str]) -> list[dict[str, float]]:
        """The scores of texts whose sources have about the same number of words: from, to, how many, scores."""
        words = [len(pair.source.split()) for pair in pairs]
        right = self._right(self.target.encode_batch([pair.target for pair in pairs]), texts)
        found = []
        for low, high in bounds(words):
            chosen = [i for i, count in enumerate(words) if low <= count <= high]
            overlap = self._overlap([texts[i] for i in chosen], [pairs[i].target for i in chosen])
            facts = {"shortest": low, "longest": high, "examples": len(chosen)}
            found.append({**facts, "exact": sum(right[i] for i in chosen) / len(chosen), **overlap})
        return found

    def _right(self, targets: Sequence[Sequence[int]], texts: Sequence[str]) -> list[bool]:
        """Whether each text is what the target's tokens spell: words may be spaced and cased otherwise than they were."""
        return [UNKNOWN not in row and text == self.target.decode(row) for row, text in zip(targets, texts, strict=True)]

    def _likelihood(self, total: float, tokens: int) -> dict[str, float]:
        loss = total / tokens
        return {"loss": loss} if self.config.metric == "exact" else {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}

    def _overlap(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        if self.config.metric != "bleu":
            return {}
        return translation_scores(texts, references, self.config.bleu_tokens)

    def signatures(self) -> dict[str, str]:
        """How scores that can be computed in more than one way were computed."""
        return signatures(self.config.bleu_tokens) if self.config.metric == "bleu" else {}

    def bleu_signature(self) -> str:
        """How BLEU is computed, whatever the metric is."""
        return signatures(self.config.bleu_tokens)["bleu"]

    def judged(self, scores: Mapping[str, Mapping[str, float]]) -> list[float]:
        """What the best checkpoint is chosen by, larger is better: the metric, and among equals the loss."""
        whole = scores["all"]
        return [-whole["loss"]] if self.config.metric == "loss" else [whole[self.config.metric], -whole["loss"]]

    def loss(self, model: System, pairs: Sequence[Pair]) -> tuple[float, int]:
        """−log p of all targets together, and the number of their tokens, END included."""
        return _loss(model, self.corpus(pairs), range(len(pairs)))

    def begin(self, model: System, splits: Splits, corpus: Any) -> None:
        """Nothing is known before the first step."""

    def kept(self) -> None:
        """Examples stay in their files."""

    def details(self, pairs: Sequence[Pair], texts: Sequence[str]) -> dict[str, Any]:
        """Nothing beside the scores."""
        return {}

    def reading(self, model: System, text: str) -> dict[str, Tensor]:
        """Where each place of the text looked while it was read, (heads, places, places); empty where none looked."""
        (row,) = self._ended([self.source.encode(text)])
        if not row:
            return {}
        with torch.inference_mode():
            found = model.eval().reading(*padded([row]))
        return {name: weights[0].cpu().float() for name, weights in found.items()}

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of each prediction for this text: its looks at the source, at what stood before each token, and those
        of `reading`, which are the same for all."""
        end = [SPECIALS[END]] if self.config.source_ends == "end" else []
        sides = {"source": Axis(PLACES[kind], [*self.source.pieces(text), *end])}
        own = [Look(name, "source", "source", weights.numpy()) for name, weights in (reading or {}).items()]
        return [
            Scene(
                f"{text} → {prediction.text}",
                {**sides, **self._written(prediction, kind)},
                [*_looks(prediction), *own],
                {"log_prob": prediction.log_prob},
            )
            for prediction in predictions
        ]

    def _written(self, prediction: Prediction, kind: str) -> dict[str, Axis]:
        """What was written; and, where that was looked at, what stood before each of its tokens."""
        sides = {"target": Axis(PLACES[kind], prediction.labels)}
        if any(name.endswith(WRITTEN) for name in prediction.looks):
            start = self.target.labels([self.first(prediction.group)])
            sides["before"] = Axis(PLACES[kind], [*start, *prediction.labels[:-1]])
        return sides


def _looks(prediction: Prediction) -> list[Look]:
    """The looks at the source first, which are what is shown unless another is asked for."""
    order = sorted(prediction.looks, key=lambda name: name.endswith(WRITTEN))
    keys = {name: "before" if name.endswith(WRITTEN) else "source" for name in order}
    return [Look(name, "target", keys[name], prediction.looks[name].numpy()) for name in order]


def _group_names(pairs: Sequence[Pair]) -> list[str]:
    return sorted({pair.group for pair in pairs})


def _joined(parts: Sequence[list[Prediction]]) -> list[Prediction]:
    """The predictions of one input in one group, from those of its pieces: best with best, and so on."""
    return parts[0] if len(parts) == 1 else [_spliced(row) for row in zip(*parts, strict=False)]


def _spliced(parts: Sequence[Prediction]) -> Prediction:
    """The texts of several pieces as one."""
    return Prediction(
        " ".join(part.text for part in parts),
        sum(part.log_prob for part in parts),
        all(part.finished for part in parts),
        [label for part in parts for label in part.labels],
        {},
        parts[0].group,
    )


def _loss(model: System, corpus: TextCorpus, chosen: Sequence[int]) -> tuple[float, int]:
    """−log p of the targets of these examples together, and the number of their tokens."""
    order = sorted(chosen, key=lambda i: (len(corpus.sources[i]), len(corpus.targets[i])))
    total, tokens = 0.0, 0
    model.eval()
    for indices in batches.cut(order, corpus.lengths[:, 0].tolist(), BATCH_TOKENS):
        batch = corpus.batch(indices)
        with torch.inference_mode():
            total += float(model.loss(batch))
        tokens += batch.tokens
    return total, tokens
