"""Spans: the part of a text that answers a question, or that there is none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from saccade import records
from saccade.config import Positive
from saccade.data.examples import Example, Pair, Splits, place
from saccade.data.tensors import Batch, SpanTarget
from saccade.errors import DataError
from saccade.evaluation.spans import answer_f1, normalized
from saccade.readers.reader import Reader
from saccade.view.trace import Axis
from saccade.writers import writer
from saccade.writers.chances import Chances, OutputSlot
from saccade.writers.writer import Floats, Loss, Options, Prediction, parts_of, probable, recording

FILE = "answers.json"
NOTHING = (0, 0)  # where an answer stands that is not there


@dataclass(frozen=True, kw_only=True)
class Config:
    """How long answers are, and what the best checkpoint is chosen by."""

    metric: Literal["answer_f1", "exact_match", "loss"] = "answer_f1"
    "What the best checkpoint is chosen by: answer_f1 (F1 of words, as SQuAD computes it), exact_match or loss."
    max_answer_length: Positive = 30
    "Maximum number of tokens of a predicted answer."


class SpanColumn:
    """Where the answers stand, by token."""

    lengths = np.zeros(0, dtype=np.int64)

    def __init__(self, rows: Sequence[tuple[int, int]]) -> None:
        self.rows = np.array(rows, dtype=np.int64).reshape(-1, 2)

    def batch(self, indices: Any) -> SpanTarget:
        """The tensors of these answers."""
        own = torch.from_numpy(self.rows[list(indices)])
        return SpanTarget(own[:, 0].contiguous(), own[:, 1].contiguous())


class Writer(writer.Writer):
    """Points at answers in the second text of a pair."""

    OWN = "question_files"
    config: Config

    def __init__(self, config: Any, reader: Any, *, some_have_none: bool) -> None:
        super().__init__(config)
        self.reader, self.some_have_none = reader, some_have_none

    @staticmethod
    def metrics(config: Any) -> Sequence[str]:
        return ("exact_match", "answer_f1", "loss")

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, reader: Reader) -> "Writer":
        for _, _, problem in cls.unfit(splits):
            raise DataError(problem)
        return cls(config, reader, some_have_none=any(not example.target for example in splits.train))

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        for name, part in splits.parts():
            for index, example in enumerate(part):
                if problem := _flaw(example):
                    yield name, index, f"{place(example, index + 1)}: {problem}"

    def strange(self, earlier: Any) -> set[str]:
        return set()

    def save(self, directory: Path) -> None:
        records.save(directory / FILE, {"some_have_none": self.some_have_none})

    @classmethod
    def load(cls, config: Any, directory: Path, reader: Reader) -> "Writer":
        known = records.load(directory / FILE)
        if not (isinstance(known, dict) and isinstance(known.get("some_have_none"), bool)):
            raise records.unreadable(directory / FILE, "expected some_have_none")
        return cls(config, reader, some_have_none=known["some_have_none"])

    def sizes(self) -> dict[str, Any]:
        return {"spans": 2}

    def check(self, example: Example) -> None:
        if problem := _flaw(example):
            raise DataError(problem)

    def encode(self, examples: Sequence[Example]) -> SpanColumn:
        for _, problem in self.flaws(examples):
            raise DataError(problem)
        return SpanColumn([self._place(example) for example in examples])

    def _place(self, example: Example) -> tuple[int, int]:
        """The first and last token of an answer."""
        if not example.target:
            return NOTHING
        answer = example.target.split("\n")[0]
        start = example.input.second.find(answer) if example.input.start is None else example.input.start
        return self.reader.located(example.input, start, start + len(answer)) if start >= 0 else NOTHING

    def predict(self, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> list[list[Prediction]]:
        self._require_pairs(batch)
        with recording(model, options.looks) as recorded:
            logits = model.logits(batch.input)
        looks = model.looks(batch.input, batch.input.lengths, recorded) if options.looks else []
        logs = logits.double().log_softmax(1).cpu().numpy()
        offsets = batch.input.offsets.cpu().numpy()
        return [
            self._best(logs[row], offsets[row], text.second, options.search.n_best, [look.of(row) for look in looks])
            for row, text in enumerate(batch.input.texts)
        ]

    def chances(self, model: Any, batch: Batch, options: Options, given: Chances | None = None) -> Chances:
        """Of every token that the answer may begin or end with."""
        self._require_pairs(batch)
        probabilities = model.logits(batch.input).double().softmax(1)[0].cpu().numpy()
        tokens = self.reader.tokenizer.labels(batch.input.tokens[0].tolist())
        name = {0: "first token of the answer", 1: "last token of the answer"}
        return Chances(slots=[OutputSlot(name[side], probabilities[:, side], tokens.__getitem__) for side in name])

    def _require_pairs(self, batch: Batch) -> None:
        for text in batch.input.texts:
            if not isinstance(text, Pair):
                raise DataError(f"expected a question and a text, got {str(text)[:40]!r}; write QUESTION ||| TEXT")

    def _best(self, logs: Floats, offsets: Any, text: str, count: int, looks: Sequence[Any]) -> list[Prediction]:
        """The likeliest answers; of the same text the first."""
        found: dict[str, Prediction] = {}
        for first, last in self._places(logs):
            if len(found) == count:
                break
            own = "" if (first, last) == NOTHING else text[offsets[first, 0] : offsets[last, 1]].strip()
            log = float(logs[first, 0] + logs[last, 1])
            if own not in found:
                found[own] = Prediction(own, log, tokens=[own], token_probabilities=np.exp([log]), looks=looks)
        return list(found.values()) or [Prediction("", looks=looks)]

    def _places(self, logs: Floats) -> Iterator[tuple[int, int]]:
        """First and last tokens of possible answers, the likeliest first."""
        pairs = logs[:, None, 0] + logs[None, :, 1]
        size = len(logs)
        possible = np.triu(np.ones((size, size), bool)) & ~np.triu(
            np.ones((size, size), bool), self.config.max_answer_length
        )
        possible[0] = False
        possible[NOTHING] = self.some_have_none
        possible &= np.isfinite(pairs)
        order = np.argsort(-pairs[possible], kind="stable")
        places = np.argwhere(possible)[order]
        return ((int(first), int(last)) for first, last in places)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], loss: Loss
    ) -> dict[str, dict[str, float]]:
        groups = parts_of([example.group for example in examples])
        names = ("exact_match", "answer_f1")
        own = {name: self.outcomes(name, examples, predictions) for name in names}
        means = {
            group: {"examples": len(part), **{name: float(own[name][part].mean()) for name in names}}  # type: ignore[index]
            for group, part in groups.items()
        }
        total, count, _ = loss(None)
        return {**means, "all": {**means["all"], "loss": total / max(count, 1)}}

    def outcomes(self, name: str, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Floats | None:
        compare = {"exact_match": lambda one, other: float(normalized(one) == normalized(other)), "answer_f1": answer_f1}
        if name not in compare:
            return None
        pairs = zip(predictions, examples, strict=True)
        return np.array([max(compare[name](one.text, known) for known in two.target.split("\n")) for one, two in pairs])

    def brief(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, float]:
        own = {name: self.outcomes(name, examples, predictions) for name in ("exact_match", "answer_f1")}
        return {"examples": len(examples), **{name: float(np.mean(values)) for name, values in own.items()}}  # type: ignore[arg-type]

    def axes(self, prediction: Prediction) -> Mapping[str, Axis]:
        return {"output": probable("answer", prediction)}

    def title(self, example: Example, prediction: Prediction) -> str:
        return f"{prediction.text or '(no answer)'}: {example.input.first}"


def _flaw(example: Example) -> str:
    """What is wrong with an example, if anything is."""
    if not isinstance(example.input, Pair):
        return "expected a question and a text, got one text; give both"
    if example.target and example.target.split("\n")[0] not in example.input.second.replace("\n", " "):
        return f"expected the answer {example.target[:40]!r} in the text; mend it"
    return ""
