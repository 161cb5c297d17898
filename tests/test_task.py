"""A task: reader and writer around a system. Predictions keep their order and their example; each input is computed once."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade import systems
from saccade.data import dataset
from saccade.data.batches import PlannedBatches
from saccade.data.examples import Example, Splits
from saccade.data.tensors import Batch
from saccade.errors import DataError, InputError, UsageError
from saccade.search import Config as SearchConfig
from saccade.systems.system import Output
from saccade.task import Corpus, Kinds, Task
from saccade.training.settings import Settings
from saccade.training.train_config import Config as TrainConfig
from saccade.view.trace import Trace, check_trace
from saccade.writers.writer import Options

from .training import small
from .training.runs import tiny, tiny_transformer

pytestmark = pytest.mark.usefixtures("put_back")

OPTIONS = Options(SearchConfig(max_length=6))
KINDS: dict[str, Callable[[Path], Settings]] = {
    **small.KINDS,
    "dates": lambda folder: tiny(),
    "shared": lambda folder: tiny_transformer(),
}


class Made:
    """A task fitted to its data, and a model with its first parameters."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.splits: Splits = dataset(settings.dataset).load(settings.data)
        self.task = Task.fit(settings, self.splits)
        torch.manual_seed(0)
        self.model = systems.load(settings.system).Model(settings.model, **self.task.sizes()).eval()

    @property
    def examples(self) -> list[Example]:
        return list(self.splits.train)[:12]

    def load(self) -> Splits:
        return self.splits


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """Each kind once."""
    known: dict[str, Made] = {}

    def of(kind: str) -> Made:
        if kind not in known:
            known[kind] = Made(KINDS[kind](tmp_path_factory.mktemp(kind)))
        return known[kind]

    return of


Make = Callable[[str], Made]


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_come_in_order_whatever_stands_together(kind: str, made: Make) -> None:
    one = made(kind)
    examples = one.examples
    rows = one.task.predictions(one.model, examples, OPTIONS)
    turned = one.task.predictions(one.model, examples[::-1], OPTIONS)
    alone = [one.task.predictions(one.model, [example], OPTIONS)[0] for example in examples[:3]]
    assert len(rows) == len(examples)
    assert [row[0].text for row in turned[::-1]] == [row[0].text for row in rows]
    for own, row in zip(alone, rows, strict=False):
        assert own[0].text == row[0].text
        assert own[0].log_prob == pytest.approx(row[0].log_prob, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_predicts_the_same(kind: str, made: Make, tmp_path: Path) -> None:
    one = made(kind)
    one.task.save(tmp_path)
    again = Task.load(one.settings, tmp_path)
    assert again.sizes() == one.task.sizes()
    before, after = (task.predictions(one.model, one.examples, OPTIONS) for task in (one.task, again))
    assert after == before
    corpora = [task.corpus(one.examples) for task in (one.task, again)]
    losses = []
    for corpus in corpora:
        torch.manual_seed(1)  # of systems that draw negatives
        losses.append(one.task.loss(one.model, corpus, range(len(one.examples))))
    assert losses[0] == losses[1]


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_keeps_each_example_with_its_prediction(kind: str, made: Make) -> None:
    one, ticks = made(kind), list[int]()
    found = one.task.evaluate(one.model, one.examples, OPTIONS, ticks.append)
    if not one.task.writer.PREDICTED:  # running text is scored by its loss alone
        assert list(found.predictions) == []
        if kind == "windows":
            assert found["all"]["perplexity"] == pytest.approx(np.exp(found["all"]["loss"]))
        return
    assert [prediction.example for prediction in found.predictions] == one.examples
    assert found["all"]["examples"] == len(one.examples)
    assert ticks == sorted(ticks)
    assert ticks[-1] == len(one.examples)
    best = one.task.best(one.model, one.examples, OPTIONS)
    assert [prediction.text for prediction in found.predictions] == [prediction.text for prediction in best]
    assert {*found["all"]} - {"examples"} <= {*one.task.writer.metrics(one.task.writer.config), "perplexity"}
    assert one.task.writer.main().name in found["all"]
    ranks = one.task.writer.best(found)
    assert all(np.isfinite(ranks))


@pytest.mark.parametrize("kind", ["dates", "shared", "sentences", "bags"])
def test_of_very_many_examples_only_what_is_scored_is_kept(kind: str, made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(kind)
    whole = one.task.evaluate(one.model, one.examples, OPTIONS)
    monkeypatch.setattr("saccade.task.WHOLE", 5)
    found = one.task.evaluate(one.model, one.examples, OPTIONS)
    assert [prediction.text for prediction in found.predictions] == [prediction.text for prediction in whole.predictions]
    for group, scores in whole.items():
        assert dict(found[group]) == pytest.approx(dict(scores), rel=1e-4)
    assert not any(prediction.example or prediction.tokens or prediction.looks for prediction in found.predictions)
    best = one.task.best(one.model, one.examples, OPTIONS)
    assert [prediction.example for prediction in best] == one.examples


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_computed_twice(kind: str, made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input is encoded once, and goes once through what predicts: search or logits, scores, numbers."""
    one = made(kind)
    encoded, predicted = list[int](), list[int]()
    encode, predict = type(one.task.reader).encode, type(one.task.writer).predict

    def counted(self: Any, inputs: Sequence[Any]) -> Any:
        encoded.append(len(inputs))
        return encode(self, inputs)

    def watched(self: Any, model: Any, batch: Batch, options: Options, positions: Sequence[int]) -> Any:
        predicted.extend(positions)
        return predict(self, model, batch, options, positions)

    monkeypatch.setattr(type(one.task.reader), "encode", counted)
    monkeypatch.setattr(type(one.task.writer), "predict", watched)
    one.task.predictions(one.model, one.examples, OPTIONS)
    assert sorted(predicted) == list(range(len(one.examples)))
    assert encoded == [len(one.examples)]


@pytest.mark.parametrize("kind", KINDS)
def test_scenes_are_sound(kind: str, made: Make) -> None:
    one = made(kind)
    if not systems.attends(one.settings.system, one.settings.model):
        pytest.skip("nothing to see")
    options = Options(OPTIONS.search, looks=True)
    examples = one.examples[:6]  # in one batch, and so with padding
    for example, row in zip(examples, one.task.predictions(one.model, examples, options), strict=True):
        scenes = [one.task.scene(one.model, example, shown) for shown in one.task.writer.shown(row)]
        check_trace(Trace(one.settings.system, scenes))
        for scene in scenes:
            assert {name for look in scene.looks for name in (look.queries, look.keys)} == set(scene.axes)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "expansion"])  # whose negatives are drawn by batch
def test_the_loss_is_that_of_the_whole(kind: str, made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the batches are; its count is what the trainer divides by."""
    one = made(kind)
    corpus = one.task.corpus(one.examples)
    every = range(len(corpus.lengths))
    total, count, _ = one.task.loss(one.model, corpus, every)
    with torch.inference_mode():
        output: Output = one.model(corpus.batch(every))
    assert total == pytest.approx(float(output.loss), rel=1e-4)
    assert count == int(output.count)
    monkeypatch.setattr(type(one.task.reader), "budget", 1)
    assert one.task.loss(one.model, corpus, every)[1] == count
    half = [one.task.loss(one.model, corpus, part) for part in (every[:5], every[5:])]
    assert sum(part[0] for part in half) == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("kind", ["dates", "sentences", "bags"])
def test_windows_and_lines(kind: str, made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs are read in windows; the numbers of lines go on through them."""
    one = made(kind)
    typed = [example.input if isinstance(example.input, str) else example.input.items for example in one.examples]
    expected = list(one.task.predict(one.model, typed, OPTIONS, one.load))
    monkeypatch.setattr("saccade.task.WINDOW", 5)
    read: list[int] = []

    def asked() -> Iterator[Any]:
        for number, value in enumerate(typed):
            read.append(number)
            yield value

    outputs = one.task.predict(one.model, asked(), OPTIONS, one.load)
    next(outputs)
    assert read == [0, 1, 2, 3, 4]  # no further
    rest = [row[0].text for _, row in outputs]
    assert rest == [row[0].text for _, row in expected][1:]
    broken = [*typed[:7], 3.5, *typed[7:]]
    with pytest.raises(InputError, match=r"^line 18: ") as error:
        list(one.task.predict(one.model, broken, OPTIONS, one.load, first=10))
    assert isinstance(error.value.cause, UsageError | DataError)


def test_an_empty_line_gives_an_empty_text_for_every_output(made: Make) -> None:
    one = made("dates")
    options = Options(SearchConfig(method="beam", beam=2, n_best=2, max_length=6))
    found = list(one.task.predict(one.model, ["", "<en_US> 3/4/18", "  "], options, one.load))
    assert [example for example, _ in found][::2] == [None, None]
    assert [[row.text for row in rows] for _, rows in found][::2] == [["", ""], ["", ""]]


def test_long_texts_are_refused_or_read_in_pieces(made: Make) -> None:
    one = made("dates")
    long = " ".join(["<en_US> 3/4/18 ."] * 100)
    with pytest.raises(InputError, match=r"^line 1: \d+ tokens, at most 1000"):
        list(one.task.predict(one.model, [long], OPTIONS, one.load))
    ((example, (prediction,)),) = one.task.predict(one.model, [long], OPTIONS, one.load, pieces=True)
    assert example == Example(long)
    assert prediction.text


def test_a_corpus_has_the_lengths_of_both_sides(made: Make) -> None:
    pairs, labels = made("dates"), made("sentences")
    assert pairs.task.corpus(pairs.examples).lengths.shape == (12, 2)
    assert labels.task.corpus(labels.examples).lengths.shape == (12,)
    corpus = pairs.task.corpus(pairs.examples)
    assert Corpus(corpus.inputs).batch([0]).target is None
    batch = corpus.batch([3, 1])
    assert batch.input.lengths.tolist() == corpus.lengths[[3, 1], 0].tolist()
    assert batch.target.lengths.tolist() == corpus.lengths[[3, 1], 1].tolist()


def test_a_reader_may_bring_its_own_batches(made: Make) -> None:
    one = made("dates")
    corpus = one.task.corpus(one.examples)
    assert isinstance(corpus.batches(TrainConfig()), PlannedBatches)

    class Own:
        lengths = corpus.inputs.lengths

        def batch(self, indices: Any) -> Any:
            return None

        def batches(self, config: TrainConfig) -> Any:
            return ["own", config.seed]

    assert Corpus(Own(), corpus.targets).batches(TrainConfig(seed=4)) == ["own", 4]  # type: ignore[comparison-overlap]


def test_flaws_of_both_sides_are_found_once_each_in_order(made: Make) -> None:
    one = made("sentences")
    examples = [*one.examples[:3], Example("a film", "9"), Example("a film", "8")]
    assert [index for index, _ in one.task.flaws(examples)] == [3, 4]
    with pytest.raises(DataError, match="'9'"):
        one.task.corpus(examples)
    assert list(one.task.flaws(one.examples)) == []


def test_evaluating_nothing_is_refused(made: Make) -> None:
    with pytest.raises(DataError, match="expected examples to evaluate, got none"):
        made("dates").task.evaluate(made("dates").model, [], OPTIONS)


def test_scores_by_length_count_every_example_once(made: Make) -> None:
    one = made("sentences")
    examples = list(one.splits.train)
    rows = one.task.by_length(examples, one.task.best(one.model, examples, OPTIONS))
    assert sum(row["examples"] for row in rows) == len(examples)
    assert all(row["shortest"] <= row["longest"] for row in rows)
    with pytest.raises(UsageError, match="expected a run that reads texts"):
        made("bags").task.by_length(made("bags").examples, [])


@pytest.mark.parametrize("system", systems.names())
def test_every_system_names_a_reader_and_a_writer(system: str) -> None:
    kinds = Kinds.of(system)
    assert kinds.reader.INPUT
    assert hasattr(dataset(kinds.reader.OWN), "load")
    assert kinds.writer.metrics is not None
