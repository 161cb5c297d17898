"""A trained model: predict, evaluate, look, stream. `saccade.load` opens one, `saccade.train` (new_run.py) makes one."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from saccade import config, data, systems
from saccade.attention.through_layers import METHODS
from saccade.data.examples import PARTS, Example, Pair, Splits, files_of
from saccade.data.formats import running_text, text_files
from saccade.data.formats.python_data import examples_of
from saccade.data.formats.tables import Table, held_table
from saccade.data.formats.text_files import to_stderr
from saccade.errors import DataError, InputError, UnknownName, UsageError
from saccade.evaluation.likelihood import Likelihood
from saccade.evaluation.metrics import Evaluation
from saccade.layers.ablated_heads import without_heads
from saccade.search import Config as SearchConfig
from saccade.search.search_config import MOST
from saccade.task import Kinds, Task
from saccade.training.bad_examples import usable
from saccade.training.checkpoints.manifests import TENSORS
from saccade.training.config_history import CONFIG
from saccade.training.run import Run, Which
from saccade.training.starting import beside
from saccade.view.head_measures import HeadSums, is_measured, rows_of, summed, within
from saccade.view.head_report import HeadReport
from saccade.view.shown import Shown, first_of
from saccade.view.trace import Look, Scene, Trace
from saccade.writers import strided_windows, vector
from saccade.writers.chances import HeadAblation
from saccade.writers.text_stream import TextStream
from saccade.writers.writer import Options, Prediction, with_alternatives

AT_ONCE = 8  # texts whose weights are held at once


class TrainedModel:
    """A run with its model.

    model = saccade.load("runs/dates")
    model.predict("9. März 2029")
    """

    def __init__(
        self, run: Run, checkpoint: Which | None = None, device: str = "auto", note: Callable[[str], None] = to_stderr
    ) -> None:
        self.run, self._checkpoint, self._device = run, checkpoint, device
        self._note = note

    @cached_property
    def task(self) -> Task:
        """Its reader and writer."""
        return self.run.task()

    @cached_property
    def _loaded(self) -> tuple[Any, int, Mapping[str, str], Path]:
        model, checkpoint = self.run.model(self.task, self._checkpoint, self._device, self._note)
        return model, checkpoint.step, checkpoint.state.get("data", {}), checkpoint.path / f"model{TENSORS}"

    @property
    def module(self) -> Any:
        """The model itself, a `torch.nn.Module`."""
        return self._loaded[0]

    @property
    def step(self) -> int:
        """The step of its checkpoint."""
        return self._loaded[1]

    @property
    def data(self) -> Mapping[str, str]:
        """A short name for the examples of each part of the data that it was trained on; none of an imported model."""
        return self._loaded[2]

    @property
    def file(self) -> Path:
        """The file of its parameters; of several whose mean they are, the last."""
        return self._loaded[3]

    @property
    def files(self) -> Sequence[Path]:
        """Files beside its tokenizers, from which they were made."""
        learned = set(self.run.files) - {CONFIG, *self.run.held()}
        return beside(self.task, [self.run.path / name for name in sorted(learned)])

    @property
    def system(self) -> str:
        """The name of its system."""
        return self.run.settings.system

    @property
    def kinds(self) -> Kinds:
        """The classes of its reader and writer, known before it is loaded."""
        return Kinds.of(self.system, self.run.settings.task)

    def __repr__(self) -> str:
        return f"<saccade {self.system} of {self.run.path}>"

    @cached_property
    def splits(self) -> Splits:
        """The data that it was trained and evaluated on."""
        return self.run.own_splits(self.task)

    def search(self, n_best: int = 1, **given: Any) -> SearchConfig:
        """The run's search with these changes; more than one output takes a beam."""
        table = {**config.plain(self.run.settings.search or SearchConfig()), **given}
        if not isinstance(n_best, int) or n_best < 1:
            raise UsageError(f"n_best: expected a whole number from 1, got {n_best!r}")
        if n_best > MOST:
            raise UsageError(f"n_best: expected at most {MOST}, got {n_best}; ask for fewer")
        if n_best > 1:
            table["n_best"] = n_best
            if table["method"] == "greedy" and "method" not in given:
                table["method"] = "beam"
            if "beam" not in given:  # a beam that was asked for stays, and what it is too narrow for is told
                table["beam"] = max(table["beam"], n_best)
        search = config.build(SearchConfig, table, "search")
        search.heed(given)
        return search

    def options(
        self,
        to: str | Sequence[str] | None = None,
        *,
        looks: bool = False,
        stop: str | Sequence[str] = (),
        slide: bool | None = None,
        **search: Any,
    ) -> Options:
        """How predictions are made; `to` is the language, of a run that writes several. `stop` are texts that end an output,
        and `slide` lets a language model go on beyond its context."""
        stop = (stop,) if isinstance(stop, str) else tuple(stop)
        if not all(stop) or (stop and not self.task.writer.SEARCHES):
            raise UsageError(f"stop: expected a run that writes text, and texts that are not empty, got {list(stop)}")
        if slide is not None and not self.task.writer.CONTINUES:
            raise UsageError(f"slide: expected a language model, got {self.system}; leave it out")
        known = self.task.writer.groups()
        groups = [to] if isinstance(to, str) else list(to) if to else known[:1]
        for group in groups:
            if group not in known:
                what = "several languages" if known == [""] else f"one of {', '.join(known)}"
                raise UsageError(f"to: expected a run that writes {what}, got {group!r}; leave it out, or name another")
        return Options(self.search(**search), looks, groups, stop, slide)

    def outputs(
        self, inputs: Iterable[Any], options: Options, *, pieces: bool = False, first: int = 0
    ) -> Iterator[tuple[Example | None, list[Prediction]]]:
        """Of each input its example and all its predictions, as they come; the other methods are made of this."""
        return self.task.predict(self.module, inputs, options, lambda: self.splits, pieces=pieces, first=first)

    @overload
    def predict(
        self,
        inputs: str,
        *,
        n_best: int = 1,
        to: str | None = None,
        stop: str | Sequence[str] = (),
        slide: bool | None = None,
        **search: Any,
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        inputs: Any,
        *,
        n_best: int = 1,
        to: str | None = None,
        stop: str | Sequence[str] = (),
        slide: bool | None = None,
        **search: Any,
    ) -> Any: ...
    def predict(
        self,
        inputs: Any,
        *,
        n_best: int = 1,
        to: str | None = None,
        stop: str | Sequence[str] = (),
        slide: bool | None = None,
        **search: Any,
    ) -> Any:
        """The prediction for one input; for a list, a column of pandas or of `datasets`, or a table with texts in a column,
        a list of them.

        An input is what the system reads: a text, the path of a picture, an image, an array, `test#12` of its own data.
        """
        several, listed = self._listed(inputs)
        best = [
            with_alternatives(predictions, example or Example(""))
            for example, predictions in self._outputs(
                listed, self.options(to, stop=stop, slide=slide, n_best=n_best, **search)
            )
        ]
        return best if several else best[0]

    def listed(self, source: str | Table) -> Iterable[Any] | None:
        """The inputs of a table or its file (CSV, JSON, parquet), from the column that the run has read; None: no table."""
        how = self.run.settings.data
        rows: Iterable[Any] | None = self.task.reader.listed(source, how.text if isinstance(how, text_files.Config) else "")
        return rows

    def _listed(self, inputs: Any) -> tuple[bool, list[Any]]:
        """Whether several inputs were given, and all of them."""
        if _is_table(inputs) and getattr(inputs, "ndim", 2) == 2:
            rows = self.listed(held_table(inputs, "the table"))
            return (False, [inputs]) if rows is None else (True, list(rows))
        one = (str, bytes, Path, Mapping, *((tuple,) if self.task.reader.TUPLE else ()))
        if isinstance(inputs, one) or not isinstance(inputs, Iterable) or _is_array(inputs):
            return False, [inputs]
        return True, list(inputs)

    def _outputs(self, inputs: Sequence[Any], options: Options) -> list[tuple[Example | None, list[Prediction]]]:
        try:
            return list(self.outputs(inputs, options))
        except InputError as error:  # these are no lines of a file
            if len(inputs) == 1:
                raise error.cause from None
            kind = UsageError if isinstance(error.cause, UsageError) else DataError
            raise kind(f"input {error.line} of {len(inputs)}: {error.cause}") from None

    def stream(
        self,
        text: Any,
        *,
        to: str | None = None,
        stop: str | Sequence[str] = (),
        slide: bool | None = None,
        **search: Any,
    ) -> TextStream:
        """The output for one input, piece by piece as it is decided: for piece in model.stream("Once upon a time"): …

        Its `ended` says after the last piece why it ended: "end", "stop", "length", or "context", which is full.
        """
        options = self.options(to, stop=stop, slide=slide, **search)
        return self.task.stream(self.module, text, options, lambda: self.splits)

    def vectors(
        self, inputs: Iterable[Any], *, pool: Literal["mean", "first"] | None = None, normalized: bool | None = None
    ) -> Iterator[NDArray[np.float32]]:
        """A vector for each text, as they come; `pool` and `normalized` are else what the model says."""
        if not hasattr(self.module, "states"):
            raise UsageError(f"{self.run.path}: expected an encoder such as bert, got {self.system}; it makes no vectors")
        own = self.run.settings.writer
        known = own if isinstance(own, vector.Config) else vector.Config()
        normalized = known.normalized if normalized is None else normalized
        if pool not in (None, *vector.POOLS):
            raise UnknownName("pool", str(pool), vector.POOLS)
        made = replace(known, pool=pool or known.pool, normalized=normalized)
        task = Task(self.task.reader, vector.Writer(made))
        rows = task.predict(self.module, inputs, Options(), lambda: self.splits)
        for number, (example, (best, *_)) in enumerate(rows, 1):
            if example is None or best.values is None:
                raise InputError(number, DataError("expected a text, got an empty line; leave it out"))
            yield best.values.astype(np.float32)

    def embed(
        self, inputs: Any, *, pool: Literal["mean", "first"] | None = None, normalized: bool | None = None
    ) -> NDArray[np.float32]:
        """The vector of a text, (D), or of several, (N, D): the mean of its tokens' states, or that of the first token."""
        several, listed = self._listed(inputs)
        rows = np.stack(list(self.vectors(listed, pool=pool, normalized=normalized)))
        found: NDArray[np.float32] = rows if several else rows[0]
        return found

    def evaluate(
        self,
        data: Any = None,
        *,
        split: str | None = None,
        tick: Callable[[int], None] = lambda done: None,
        **search: Any,
    ) -> Evaluation:
        """The scores on a part of its data (test, if there is one, else valid), or on other data: `evaluate("valid")`,
        `evaluate("my.csv")`, `evaluate(df)`, `evaluate([(text, label), …])`."""
        if isinstance(data, str) and (data in PARTS or (data.isalnum() and not Path(data).exists())):
            data, split = None, data
        examples, what = self.examples(split, data)
        evaluation = self.task.evaluate(self.module, examples, self.options(**search), tick)
        return replace(evaluation, title=f"{self.run.path} at {self.place}, {what}")

    @property
    def place(self) -> str:
        """The step of its parameters, and that they are the mean of several checkpoints, if they are."""
        checkpoints = self.run.checkpoints
        count = min(self.run.settings.train.average, sum(map(checkpoints.regular, checkpoints.steps())))
        mean = f", the mean of the last {count} checkpoints" if self._checkpoint in (None, "average") and count > 1 else ""
        return f"step {self.step}{mean}"

    def perplexity(
        self, text: str | Path, *, stride: int | None = None, tick: Callable[[int], None] = lambda done: None
    ) -> Likelihood:
        """How likely a text, or that of a file (a `Path`), is to a language model, per token, word and byte.

        Every token is scored once, with at least the context without `stride` before it, where there is so much; by default
        half the context. `tick` hears how many bytes are read.
        """
        if not self.task.writer.CONTINUES:
            raise UsageError(f"perplexity: expected a language model, got {self.system}; evaluate says its loss")
        with strided_windows.opened(text) as file:
            parts = strided_windows.chunks(file)
            found: Likelihood = self.task.writer.likelihood(self.module, parts, stride, tick)
            return found

    def predictions(self, examples: Sequence[Example], **search: Any) -> list[Prediction]:
        """The best prediction for each example, in its own group."""
        targets = self.task.corpus(examples).targets
        return self.task.best(self.module, examples, self.options(**search), targets=targets)

    def examples(self, split: str | None = None, source: Any = None) -> tuple[Sequence[Example], str]:
        """The examples of a part of its data, or of other data, and what they are called."""
        if source is not None:
            return self._other(source), str(source) if isinstance(source, str | Path) else "given examples"
        splits = self.splits
        split = split or ("test" if len(splits.test) else "valid")
        if split not in PARTS:
            raise UnknownName("split", split, PARTS)
        examples: Sequence[Example] = getattr(splits, split)
        if len(examples) == 0:
            kept = self.task.reader.kept() is not None
            fix = "say in the column split of its nodes which are for what" if kept else "give other data"
            raise DataError(f"{self.run.path}: its {split} data is empty; {fix}, or choose another split")
        if self.data.get(split, now := splits.fingerprint_of(split)) != now:
            where = f" ({files})" if (files := files_of(examples)) else ""
            self._note(f"the {PARTS[split]} data{where} of {self.run.path} has changed since the training")
        if getattr(self.run.settings.data, "skip_bad", False):
            return usable(self.task, examples, split, self.run.settings.data, self._note), split
        return examples, split

    def _other(self, source: Any) -> Sequence[Example]:
        """The examples of the user's own files, read as those of the training, if that was on such files; or of pairs."""
        if self.task.reader.kept() is not None:
            raise UsageError("data: expected a run that reads files, got one that labels the nodes of its graph")
        module, how = data.dataset(self.run.settings.dataset), self.run.settings.data
        if not hasattr(module, "read"):
            module = data.dataset(self.kinds.own)
            how = module.Config()
        texts = isinstance(how, text_files.Config) and module.INPUT in (str, Pair)
        if isinstance(source, str | Path):
            examples: Sequence[Example] = text_files.others_of(source, how) if texts else module.read(str(source), how)
            return examples
        rows = source if _is_table(source) or not isinstance(source, Iterable) else list(source)
        if isinstance(rows, list) and all(isinstance(one, Example) for one in rows):
            return rows
        if texts:
            return text_files.others_of(rows, how)
        if isinstance(how, running_text.Config):
            return examples_of(rows, how)
        if not isinstance(rows, list):
            raise UsageError(f"data: expected a file, or (input, target) pairs, got {type(source).__name__}")
        return [one if isinstance(one, Example) else self._pair(one) for one in rows]

    def _pair(self, pair: Any) -> Example:
        """An input as people hold it, with what is to be predicted, and perhaps a group."""
        if not (isinstance(pair, tuple | list) and len(pair) in (2, 3)):
            raise UsageError(f"data: expected (input, target) pairs, got {type(pair).__name__}")
        given, target, group = (*pair, "")[:3]
        example = self.task.reader.parse(given, lambda: self.splits) or Example("")
        return replace(example, target=str(target), group=group)

    def look(
        self,
        inputs: Any,
        *,
        n_best: int = 1,
        to: str | None = None,
        reading: bool = False,
        rollout: bool = False,
        flow: bool = False,
        **search: Any,
    ) -> Shown:
        """Where the model looked, a scene for each input (and for each of n_best outputs); it draws itself in a notebook.

        With `reading` a language model writes nothing, and the looks are those of the text to itself. `rollout` and `flow`
        add attention rollout and attention flow through all layers (Abnar & Zuidema 2020), of a language model as it reads.
        """
        through = [name for name, wanted in (("rollout", rollout), ("flow", flow)) if wanted]
        listed, options = self._looking(inputs, to, reading or bool(through), n_best=n_best, **search)
        if reading and not self.task.writer.CONTINUES:
            raise UsageError(f"reading: expected a language model, got {self.system}; leave it out")
        scenes = [with_paths(scene, through) for scene in self._scenes(listed, options)]
        return Shown(Trace(self.system, scenes), first_of(scenes, through))

    def heads(self, inputs: Any, *, to: str | None = None, **search: Any) -> HeadReport:
        """What each head attends to, measured on a text or on several: shares of its weight on the previous token, the same,
        the next, the first and on separators, entropy and distance. Of a language model, on the texts as it reads them."""
        listed, options = self._looking(inputs, to, reading=True, **search)
        sums, texts, tokens = dict[str, HeadSums](), 0, 0
        for start in range(0, len(listed), AT_ONCE):  # so that the weights of few texts are held
            scenes = list(self._scenes(listed[start : start + AT_ONCE], options))
            sums, texts, tokens = summed(scenes, sums), texts + len(scenes), tokens + rows_of(scenes)
        if not sums:
            raise UsageError(f"heads: expected a system whose attention is a matrix, got {self.system}; see its look")
        return HeadReport(self.system, sums, texts, tokens)

    @contextmanager
    def without(self, *heads: str) -> Iterator[None]:
        """Inside, these heads add nothing to anything that the model does: "3.5" is head 5 (from 0) of layer 3 (from 1),
        "3" the whole layer.

        with model.without("3.5", "4"):
            model.evaluate()
        """
        with without_heads(self.module, heads):
            yield

    def ablation(self, inputs: Any, without: Sequence[str], *, to: str | None = None) -> Any:
        """What these heads change in the output for an input, a `HeadAblation`; for a list, a list of them.

        Of a language model the log-probability of each token of the text and the next token; of others what is filled in,
        labels, tags, the ends of answers, the text that all heads write, or the vector.
        """
        several, listed = self._listed(inputs)
        options, made = self.options(to), []
        for each in listed:
            example = self.task.reader.parse(each, lambda: self.splits)
            if example is None:
                raise DataError("there is nothing to compare: the input is empty")
            self.task.reader.check(example)
            before = self.task.chances(self.module, example, options)
            with self.without(*without):
                after = self.task.chances(self.module, example, options, before)
            made.append(HeadAblation(str(example.input), list(without), before, after))
        return made if several else made[0]

    def _looking(self, inputs: Any, to: str | None, reading: bool, **search: Any) -> tuple[list[Any], Options]:
        """The inputs, and how predictions are made of them that tell where was looked."""
        if not systems.attends(self.system, self.run.settings.model):
            what = f"{self.system}, as this run is configured, has no attention to show"
            raise UsageError(f"{self.run.path}: {what}; see: saccade systems")
        _, listed = self._listed(inputs)
        slide = True if self.task.writer.CONTINUES else None  # of a text longer than the context, its end is seen
        options = self.options(to, looks=True, slide=slide, **search)
        return listed, replace(options, reading=reading and self.task.writer.CONTINUES)

    def _scenes(self, listed: Sequence[Any], options: Options) -> Iterator[Scene]:
        for example, predictions in self._outputs(listed, options):
            if example is None:
                raise DataError("there is nothing to look at: the input is empty")
            yield from (self.task.scene(self.module, example, one) for one in self.task.writer.shown(predictions))


def with_paths(scene: Scene, methods: Sequence[str]) -> Scene:
    """The scene with looks through all layers, of each stack of layers in which places of a text look at each other."""
    stacks: dict[tuple[str, str], list[Look]] = {}
    for look in scene.looks if methods else []:
        if is_measured(look) and within(look) and look.weights.shape[1] == look.weights.shape[2]:
            stacks.setdefault((look.queries, look.keys), []).append(look)
    if methods and not stacks:
        raise UsageError(f"{methods[0]}: expected layers in which all of a text looks at itself, got none")
    added = []
    for (queries, keys), layers in stacks.items():
        which = f", {layers[0].name.partition(' self-attention')[0]}" if len(stacks) > 1 else ""
        for method in methods:
            weights = METHODS[method]([look.weights for look in layers])
            added.append(Look(f"attention {method}{which}", queries, keys, weights, kind=method))
    return replace(scene, looks=[*scene.looks, *added])


def _is_table(value: Any) -> bool:
    """A DataFrame or a `datasets.Dataset`."""
    return hasattr(value, "iloc") or hasattr(value, "column_names")


def _is_array(value: Any) -> bool:
    """Arrays of numbers, tensors, images and whole tables are one input; a column of a table, or of texts, is several."""
    if hasattr(value, "iloc"):  # of pandas
        return bool(value.ndim > 1)
    texts = getattr(getattr(value, "dtype", None), "kind", "") in ("O", "S", "T", "U")
    return hasattr(value, "data_ptr") or (hasattr(value, "__array_interface__") and not texts)
