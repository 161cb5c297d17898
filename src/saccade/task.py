"""A task is a reader and a writer around a system: encoding, prediction, evaluation and looks, each in one pass."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from saccade import processes, readers, systems, writers
from saccade.data.batches import BatchSource, Integers, PlannedBatches, Reordered, cut, in_epoch
from saccade.data.examples import Example, Splits, groups_of, inputs_of
from saccade.data.tensors import Batch
from saccade.errors import DataError, InputError, UsageError
from saccade.evaluation.length_bins import bounds
from saccade.evaluation.metrics import Evaluation
from saccade.layers.linear import at_rest
from saccade.readers.reader import Column, Load, Note, Reader
from saccade.view.trace import Axis, Look, Scene
from saccade.writers.chances import Chances
from saccade.writers.text_stream import TextStream
from saccade.writers.writer import Options, Prediction, Writer

WINDOW = 2000  # inputs that are sorted by length and read together
STEPS = ("hop", "glimpse")  # axes of what a system does one after the other, whose places are called so, from 1 on
WHOLE = 1 << 15  # examples up to which all are evaluated together, and everything is kept of their predictions

Tick = Callable[[int], None]


def _silent(done: int) -> None:
    """Nobody is told."""


def _all(prediction: Prediction) -> Prediction:
    """The prediction as it is."""
    return prediction


def _scored(prediction: Prediction) -> Prediction:
    """What scores need of a prediction: its text and numbers, and looks where these are scored."""
    return replace(prediction, tokens=(), context=(), token_probabilities=None, alternatives=(), example=None)


@dataclass(frozen=True)
class Corpus:
    """Encoded examples: the lengths that batches are planned by, and the batch of some of them.

    Shapes: lengths (N), or (N, 2), input and target, where targets have a length, too
    """

    inputs: Column
    targets: Column | None = None

    @property
    def lengths(self) -> Integers:
        """How long each example is."""
        return self.lengths_of(np.arange(len(self)))

    def __len__(self) -> int:
        return len(self.inputs.lengths)

    def lengths_of(self, indices: Integers) -> Integers:
        """How long these examples are."""
        sides = (self.inputs,) if self.targets is None or not len(self.targets.lengths) else (self.inputs, self.targets)
        own = [np.asarray(side.lengths[indices], dtype=np.int64) for side in sides]
        return own[0] if len(own) == 1 else np.stack(own, 1)

    def batches(self, config: Any) -> BatchSource:
        """Where training batches come from: examples of like length, or what the reader makes of its inputs."""
        order = getattr(self.targets, "order", None)
        if hasattr(self.inputs, "batches"):
            if order is not None:
                raise UsageError("writer.balanced_batches: this system makes batches of its own; use writer.class_weight")
            batches: BatchSource = self.inputs.batches(config)
            return batches
        corpus = self if order is None else Reordered(self, order)
        return PlannedBatches(corpus, batch_tokens=config.batch_tokens, batch_size=config.batch_size, seed=config.seed)

    def batch(self, indices: Any) -> Batch:
        """The batch of these examples."""
        return Batch(self.inputs.batch(indices), None if self.targets is None else self.targets.batch(indices))

    def in_epoch(self, seed: int, epoch: int) -> "Corpus":
        """The same as this epoch of training sees it."""
        return replace(self, inputs=in_epoch(self.inputs, seed, epoch))


@dataclass(frozen=True)
class Chosen:
    """Some targets of a column."""

    column: Column
    indices: Integers

    @property
    def lengths(self) -> Integers:
        """How long each is."""
        every = self.column.lengths
        return every[self.indices] if len(every) else every

    def batch(self, indices: Any) -> Any:
        """The tensors of these, counted among the chosen."""
        return self.column.batch(self.indices[indices])


@dataclass(frozen=True)
class Task:
    """Everything around a model."""

    reader: Any
    writer: Any

    @classmethod
    def fit(cls, settings: Any, splits: Splits, start: "Task | None" = None) -> "Task":
        """Learn what reader and writer must from the training data; what those of `start` have learned is kept."""
        kinds = Kinds.of(settings.system, settings.task)
        for _, _, problem in kinds.unfit(splits):
            skip = ", or data.skip_bad=true" if hasattr(settings.data, "skip_bad") else ""
            raise DataError(f"{problem}{skip}")
        texts = kinds.writer.texts(settings.writer, settings.tokens, splits)
        read, written = (settings.reader, settings.tokens, splits), (settings.writer, settings.tokens, splits)
        if start is not None and kinds.reader.agrees(type(start.reader)):
            reader = kinds.reader.fit_from(*read, texts, start.reader)
        else:
            reader = kinds.reader.fit(*read, texts)
        if start is not None and kinds.writer.agrees(type(start.writer)):
            return cls(reader, kinds.writer.fit_from(*written, reader, start.writer))
        return cls(reader, kinds.writer.fit(*written, reader))

    def strange(self, start: "Task") -> set[str]:
        """Of `sizes`, those that do not count what they count in `start`."""
        return {*self.reader.strange(start.reader), *self.writer.strange(start.writer)}

    def save(self, directory: Path) -> None:
        """Write it into the run."""
        self.reader.save(directory)
        self.writer.save(directory)

    @classmethod
    def load(cls, settings: Any, directory: Path) -> "Task":
        """Read it again."""
        kinds = Kinds.of(settings.system, settings.task)
        reader = kinds.reader.load(settings.reader, directory)
        return cls(reader, kinds.writer.load(settings.writer, directory, reader))

    def sizes(self) -> dict[str, Any]:
        """What a model is made for, by the names of its arguments."""
        return {**self.reader.sizes(), **self.writer.sizes()}

    def corpus(self, examples: Sequence[Example]) -> Corpus:
        """Examples as numbers."""
        if hasattr(self.writer, "corpus"):  # which makes examples of its own
            corpus: Corpus = self.writer.corpus(examples)
            return corpus
        for _, problem in self.reader.flaws(examples):
            raise DataError(problem)
        return Corpus(self.reader.encode(inputs_of(examples)), self.writer.encode(examples))

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        """The index of each example that cannot be read or scored, and what is wrong with it."""
        problems: dict[int, str] = {}
        # Examples of running text have no input of their own.
        for side in (self.writer,) if hasattr(self.writer, "corpus") else (self.reader, self.writer):
            for index, problem in side.flaws(examples):
                problems.setdefault(index, problem)
        return iter(sorted(problems.items()))

    def prepare(self, model: Any, splits: Splits, corpus: Corpus, note: Note) -> None:
        """What is done to a new model before its first step."""
        self.reader.prepare(model, splits, corpus.inputs, note)

    def predict(
        self, model: Any, inputs: Iterable[Any], options: Options, splits: Load, *, pieces: bool = False, first: int = 0
    ) -> Iterator[tuple[Example | None, list[Prediction]]]:
        """Of each input that a person gives the example and its predictions, in order; an empty line gives an empty text.

        What a text reader finds too long is refused or, with `pieces`, read in pieces whose outputs are joined. `first` is
        the number of the first input, where it is not the first of its file.
        """
        left = iter(inputs)
        while window := list(islice(left, WINDOW)):
            examples = [self._parsed(typed, number, splits, pieces) for number, typed in enumerate(window, first + 1)]
            given = [(i, example) for i, example in enumerate(examples) if example is not None]
            rows = self.predictions(model, [one for _, one in given], options, [first + i for i, _ in given], pieces=pieces)
            own = dict(zip((i for i, _ in given), rows, strict=True))
            for i, example in enumerate(examples):
                yield example, own[i] if i in own else self.writer.empty(options)
            first += len(window)

    def _parsed(self, typed: Any, number: int, splits: Load, pieces: bool) -> Example | None:
        with at_line(number):
            example: Example | None = self.reader.parse(typed, splits)
            if example is not None and not pieces:
                self.reader.check(example)
            return example

    def predictions(
        self,
        model: Any,
        examples: Sequence[Example],
        options: Options,
        positions: Sequence[int] | None = None,
        *,
        pieces: bool = False,
        targets: Column | None = None,
        tick: Tick = _silent,
    ) -> list[list[Prediction]]:
        """The predictions for each example: one pass over batches of like length, shared out where processes are several."""
        own = processes.share(range(len(examples)))
        numbers = range(len(examples)) if positions is None else positions
        known: Any = targets
        if targets is not None and len(own) < len(examples):
            known = Chosen(targets, np.array(own, dtype=np.int64))
        mine = [examples[i] for i in own]
        return processes.whole(self._predictions(model, mine, options, [numbers[i] for i in own], pieces, known, tick))

    def _predictions(
        self,
        model: Any,
        examples: Sequence[Example],
        options: Options,
        numbers: Sequence[int],
        pieces: bool,
        targets: Column | None,
        tick: Tick,
    ) -> list[list[Prediction]]:
        if not examples:
            return []
        inputs = [example.input for example in examples]
        column = self.reader.encode_in_pieces(inputs) if pieces else self.reader.encode(inputs)
        owners: Sequence[int] = getattr(column, "owners", range(len(examples)))
        corpus, sizes = Corpus(column, targets), getattr(column, "sizes", column.lengths)
        predictions: dict[int, list[Prediction]] = {}
        device = next(model.parameters()).device
        order = np.argsort(sizes, kind="stable").tolist()
        with at_rest(), torch.inference_mode():
            model.eval()
            for indices in cut(order, sizes.tolist(), self.writer.budget(self.reader.budget, options)):
                batch = corpus.batch(indices).to(device)
                rows = self.writer.predict(model, batch, options, [numbers[owners[i]] for i in indices])
                predictions |= zip(indices, rows, strict=True)
                tick(len(predictions))
        if not pieces:
            return [predictions[i] for i in range(len(examples))]
        parts: list[list[list[Prediction]]] = [[] for _ in examples]
        for i, owner in enumerate(owners):
            parts[owner].append(predictions[i])
        return [[self.writer.joined(same) for same in zip(*own, strict=False)] for own in parts]

    def stream(self, model: Any, typed: Any, options: Options, splits: Load) -> TextStream:
        """The output for one input, piece by piece as it is decided."""
        example = self.reader.parse(typed, splits)
        if example is None:
            raise DataError("there is nothing to go on from: the input is empty")
        self.reader.check(example)
        batch = Batch(self.reader.encode([example.input]).batch([0])).to(next(model.parameters()).device)
        with torch.inference_mode():
            pieces: TextStream = self.writer.stream(model.eval(), batch, options)
        return pieces

    def chances(self, model: Any, example: Example, options: Options, given: Chances | None = None) -> Chances:
        """How likely everything is that could be put out for an example."""
        batch = Batch(self.reader.encode([example.input]).batch([0])).to(next(model.parameters()).device)
        with torch.inference_mode():
            found: Chances = self.writer.chances(model.eval(), batch, options, given)
        return found

    def evaluate(self, model: Any, examples: Sequence[Example], options: Options, tick: Tick = _silent) -> Evaluation:
        """Scores of all examples and of each group, with the predictions that they are of."""
        if len(examples) == 0:
            raise DataError("expected examples to evaluate, got none")
        corpus = self.corpus(examples)
        predicted = self.writer.PREDICTED
        keep = _scored if len(examples) > WHOLE else _all
        predictions = self.best(model, examples, options, targets=corpus.targets, tick=tick, keep=keep) if predicted else []
        scores = self.writer.score(examples, predictions, lambda indices: self.loss(model, corpus, indices))
        return Evaluation(scores, self.writer.signatures(), self.writer.details(examples, predictions), predictions)

    def best(
        self,
        model: Any,
        examples: Sequence[Example],
        options: Options,
        *,
        targets: Column | None = None,
        tick: Tick = _silent,
        keep: Callable[[Prediction], Prediction] = _all,
    ) -> list[Prediction]:
        """The best prediction for each example, in its own group, and of it what is to be kept; of very many examples some
        are read together."""
        looks = self.writer.needs_looks(examples)
        grouped, pieces = self.writer.groups() != [""], hasattr(self.reader, "encode_in_pieces")
        best: dict[int, Prediction] = {}
        for group in groups_of(examples) if grouped else [""]:
            of_group = [i for i, example in enumerate(examples) if not grouped or example.group == group]
            wanted = replace(options, groups=(group,), looks=looks)
            empty = self.writer.empty(wanted)
            for start in range(0, len(of_group), WHOLE):
                indices = of_group[start : start + WHOLE]
                own = [examples[i] for i in indices]
                known: Any = None if len(of_group) < len(examples) or pieces else targets
                if known is not None and len(own) < len(examples):
                    known = Chosen(known, np.array(indices, dtype=np.int64))
                rows = self.predictions(model, own, wanted, pieces=pieces, targets=known, tick=_after(tick, len(best)))
                filled = (replace((row or empty)[0], example=one) for one, row in zip(own, rows, strict=True))
                best |= zip(indices, map(keep, filled), strict=True)
        return [best[i] for i in range(len(examples))]

    def loss(self, model: Any, corpus: Corpus, indices: Sequence[int] | None) -> tuple[float, int, dict[str, float]]:
        """The summed loss of these examples, or of all, how many things they predict, and the sums of other metrics."""
        lengths = corpus.lengths
        rows = np.arange(len(lengths)) if indices is None else np.array(indices, dtype=np.int64)
        keys = lengths.reshape(len(lengths), -1)
        total, count, metrics = 0.0, 0, defaultdict[str, float](float)
        device = next(model.parameters()).device
        model.eval()
        own = processes.share(rows[np.lexsort(keys[rows].T[::-1])].tolist())
        for batch_indices in cut(own, keys[:, 0].tolist(), self.reader.budget):
            with torch.inference_mode():
                output = model(corpus.batch(batch_indices).to(device))
            total += float(output.loss)
            count += int(output.count)
            for name, value in output.metrics.items():
                metrics[name] += float(value)
        names = sorted({name for known in processes.everyone(list(metrics)) for name in known})
        summed, counted, *others = processes.total([total, count, *(metrics[name] for name in names)])
        return summed, round(counted), dict(zip(names, others, strict=True))

    def by_length(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[dict[str, float]]:
        """Scores of examples of about the same length: from, to, how many, scores."""
        lengths = self.writer.lengths(examples)
        rows = []
        for low, high in bounds(lengths):
            own = [i for i, length in enumerate(lengths) if low <= length <= high]
            scores = self.writer.brief([examples[i] for i in own], [predictions[i] for i in own])
            rows.append({"shortest": low, "longest": high, **scores})
        return rows

    def scene(self, model: Any, example: Example, prediction: Prediction) -> Scene:
        """A picture of one prediction: the places of its input and output, and the looks between them."""
        own, of_input = model.axes(), self.reader.axes(example, getattr(model, "grid", None))
        axes: dict[str, Axis] = {**own, **of_input, **self.writer.axes(prediction)}
        looks = [_fitted(look, axes) for look in prediction.looks]
        used = {name for look in looks for name in (look.queries, look.keys)}
        notes = {**self.reader.notes(example), **self.writer.notes(example, prediction)}
        return Scene(
            self.writer.title(example, prediction), {name: axis for name, axis in axes.items() if name in used}, looks, notes
        )


def _fitted(look: Look, axes: dict[str, Axis]) -> Look:
    """A look without its padding; an axis that nobody named gets numbers."""
    if look.places is not None:
        axes.setdefault(look.queries, Axis(look.queries, [str(number) for number in range(1, len(look.places) + 1)]))
    if look.places is not None or look.edges is not None:
        return look
    if look.queries in STEPS:
        axes.setdefault(look.queries, Axis(look.queries, [f"{look.queries} {n + 1}" for n in range(look.weights.shape[1])]))
    for name, size in ((look.queries, look.weights.shape[1]), (look.keys, look.weights.shape[2])):
        axes.setdefault(name, Axis(name.split()[-1], [str(number) for number in range(size)]))
    queries, keys = len(axes[look.queries].labels), len(axes[look.keys].labels)
    return replace(look, weights=look.weights[:, :queries, :keys])


def _after(tick: Tick, before: int) -> Tick:
    """Counts on from so many."""
    return lambda done: tick(before + done)


@dataclass(frozen=True)
class Kinds:
    """The classes of reader and writer of a system, for one of its tasks."""

    reader: type[Reader]
    writer: type[Writer]

    @property
    def own(self) -> str:
        """The format of the user's own files."""
        return self.writer.OWN or self.reader.OWN

    @classmethod
    def of(cls, system: str, task: str = "") -> "Kinds":
        """Those that the system names."""
        reader, writer = systems.sides(system, task)
        return cls(readers.load(reader).Reader, writers.load(writer).Writer)

    def unfit(self, splits: Splits) -> Iterator[tuple[str, int, str]]:
        """The part and index of each example that cannot be learned from, and what is wrong with it."""
        yield from self.reader.unfit(splits)
        yield from self.writer.unfit(splits)


@contextmanager
def at_line(number: int) -> Iterator[None]:
    """What is wrong with an input is told with the number of its line."""
    try:
        yield
    except (DataError, UsageError) as error:
        raise InputError(number, error) from error
