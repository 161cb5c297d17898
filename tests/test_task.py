"""A task: reader and writer around a system. Predictions keep their order and their example; each input is computed once."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade import systems
from saccade import task as tasks
from saccade.data import dataset
from saccade.data.batches import PlannedBatches
from saccade.data.examples import Example, Splits
from saccade.data.tensors import Batch
from saccade.errors import DataError, InputError, UsageError
from saccade.readers.text import Reader
from saccade.search import Config as SearchConfig
from saccade.systems.system import Output
from saccade.task import Corpus, Kinds, Task
from saccade.training.config import Config as TrainConfig
from saccade.training.settings import Settings
from saccade.view.trace import Trace, check_trace
from saccade.writers.writer import Options, Prediction
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions

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
    for example in one.examples[:3]:
        (row,) = one.task.predictions(one.model, [example], options)
        scenes = [one.task.scene(one.model, example, shown) for shown in one.task.writer.shown(row)]
        check_trace(Trace(one.settings.system, scenes))
        for scene in scenes:
            assert {name for look in scene.looks for name in (look.queries, look.keys)} == set(scene.axes)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "expansion"])  # whose negatives are drawn by batch
def test_the_loss_is_that_of_the_whole(kind: str, made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the batches are; its count is what the trainer divides by."""
    one = made(kind)
    corpus = one.task.corpus(one.examples)
    total, count = one.task.loss(one.model, corpus, range(len(one.examples)))
    with torch.inference_mode():
        output: Output = one.model(corpus.batch(range(len(one.examples))))
    assert total == pytest.approx(float(output.loss), rel=1e-4)
    assert count == int(output.count)
    monkeypatch.setattr(type(one.task.reader), "budget", 1)
    assert one.task.loss(one.model, corpus, range(len(one.examples)))[1] == count
    half = [one.task.loss(one.model, corpus, part) for part in (range(5), range(5, len(one.examples)))]
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


# Texts, of which a task reads windows, batches and pieces

SYSTEM = "bahdanau"


SIZES = ("model.embedding_size=12", "model.hidden_size=16", "model.readout_size=8", "tokens.size=300")


EXAMPLES = [
    Example("ein Haus", "a house", "short"),
    Example("das alte Haus am See", "the old house at the lake", "long"),
    Example("See", "lake", "short"),
    Example("alt", "old"),
    Example("ein See am alten Haus", "a lake at the old house", "long"),
]


GREEDY = options(max_length=12)


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, EXAMPLES, *SIZES, *words)


def model(task: Task, *words: str) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, *words, seed=3, loud=2.5)


def texts(count: int = 40, seed: int = 1) -> list[str]:
    """Inputs of very different lengths, in no order, some of them empty."""
    dice = random.Random(seed)
    return ["".join(dice.choice("einHausmSlt d") for _ in range(dice.choice([0, 1, 3, 9, 25]))) for _ in range(count)]


def same(one: list[Prediction], other: list[Prediction]) -> bool:
    return len(one) == len(other) and all(
        (a.text, a.finished, a.tokens) == (b.text, b.finished, b.tokens)
        and math.isclose(a.log_prob, b.log_prob, abs_tol=1e-4)
        and [look.name for look in a.looks] == [look.name for look in b.looks]
        and all(equal(x.weights, y.weights) for x, y in zip(a.looks, b.looks, strict=True))
        for a, b in zip(one, other, strict=True)
    )


def equal(one: Any, other: Any) -> bool:
    """But for the padding of a batch."""
    keys = min(one.shape[-1], other.shape[-1])
    return np.allclose(one[..., :keys], other[..., :keys], atol=1e-4) and not one[..., keys:].any()


@pytest.mark.parametrize(
    "how",
    [
        options(max_length=12, looks=True),
        options(2, beam=3, max_length=12, looks=True),
        options(method="sample", n_best=2, max_length=12, seed=5, looks=True),
    ],
    ids=lambda how: how.search.method,
)
def test_order_windows_and_batches_change_nothing(how: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, given = model(task), texts()
    whole = predictions(task, made, iter(given), how)
    assert len(whole) == len(given)
    assert len({best[0].text for best in whole}) > 5
    monkeypatch.setattr(tasks, "WINDOW", 7)
    for budget in (60, 1):
        monkeypatch.setattr(Reader, "budget", budget)
        small = predictions(task, made, iter(given), how)
        assert all(same(one, other) for one, other in zip(small, whole, strict=True))


def test_each_input_gets_what_it_would_get_alone() -> None:
    task = fitted()
    made, given = model(task), texts()
    for text, best in zip(given, predictions(task, made, given, GREEDY), strict=True):
        assert same(best, predictions(task, made, [text], GREEDY)[0])


def test_predictions_come_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long file is not read to its end first; and a list does as well as a stream."""
    monkeypatch.setattr(tasks, "WINDOW", 2)
    task, read = fitted(), list[str]()

    def stream() -> Iterator[str]:
        for text in ["Haus", "See", "alt", "am"]:
            read.append(text)
            yield text

    found = task.predict(model(task), stream(), GREEDY, nothing)
    assert read == []
    next(found)
    assert read == ["Haus", "See"]
    assert len(predictions(task, model(task), ["Haus", "See", "alt"], GREEDY)) == 3
    assert predictions(task, model(task), iter([]), GREEDY) == []


@pytest.mark.parametrize("window", [2, 3, 100])
def test_an_input_that_is_too_long_is_refused_by_its_line(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "WINDOW", window)
    task = fitted("reader.max_length=6")
    lines = ["Haus", "See", "alt", "", "Haus am See", "alt"]
    with pytest.raises(InputError, match="line 5: 11 tokens, at most 6 expected"):
        predictions(task, model(task), lines, GREEDY)
    with pytest.raises(InputError, match="line 105: 11 tokens"):
        list(task.predict(model(task), lines, GREEDY, nothing, first=100))


def test_an_input_that_is_too_long_is_read_in_pieces_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted("reader.max_length=6")
    made, given = model(task), ["Haus", "Haus am See", "", "alt"]
    for window in (100, 2):
        monkeypatch.setattr(tasks, "WINDOW", window)
        whole = [best for _, best in task.predict(made, given, GREEDY, nothing, pieces=True)]
        assert [len(best) for best in whole] == [1, 1, 1, 1]
        parts = [best[0] for best in predictions(task, made, ["Haus a", "m See"], GREEDY)]
        assert whole[1][0].text == " ".join(one.text for one in parts)
        assert whole[1][0].log_prob == pytest.approx(sum(one.log_prob for one in parts), abs=1e-4)
        assert [*whole[1][0].tokens] == [token for one in parts for token in one.tokens]
        alone = [best[0].text for best in predictions(task, made, ["Haus", "", "alt"], GREEDY)]
        assert [whole[i][0].text for i in (0, 2, 3)] == alone


def test_sampling_depends_on_the_number_of_an_input() -> None:
    """A file that is read in two parts gives what it gives at once."""
    task, how = fitted(), options(method="sample", max_length=12, seed=5)
    made, given = model(task), texts(12)
    whole = predictions(task, made, given, how)
    parts = [list(task.predict(made, part, how, nothing, first=first)) for first, part in ((0, given[:5]), (5, given[5:]))]
    assert all(same(best, other) for (_, best), other in zip([*parts[0], *parts[1]], whole, strict=True))
    assert not all(same(best, other) for best, other in zip(predictions(task, made, given[5:], how), whole[5:], strict=True))


def test_with_very_many_hypotheses_fewer_inputs_are_searched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    task, sizes = fitted(), list[int]()
    made = model(task)
    read = type(made).read

    def counted(self: Any, given: Any) -> object:
        sizes.append(len(given.lengths))
        return read(self, given)

    monkeypatch.setattr(type(made), "read", counted)
    for width in (4, 16, 64, 1000):
        predictions(task, made, ["ein Haus"] * 64, options(method="beam", beam=width, max_length=1))
        assert sum(sizes) == 64
        assert max(sizes) == (64 if width <= 16 else min(64, 8000 * 16 // width // 8))
        sizes.clear()


def test_a_text_comes_piece_by_piece() -> None:
    task = fitted()
    made = model(task)
    for text in ("Haus am See", "alt"):
        pieces = list(task.stream(made, text, GREEDY, nothing))
        assert "".join(pieces) == predictions(task, made, [text], GREEDY)[0][0].text
    assert any(len(list(task.stream(made, text, GREEDY, nothing))) > 1 for text in ("Haus am See", "alt", "See"))
    with pytest.raises(DataError, match="nothing to go on from"):
        task.stream(made, " ", GREEDY, nothing)
    short = fitted("reader.max_length=6")
    with pytest.raises(DataError, match="12 tokens, at most 6"):
        short.stream(model(short), "x" * 12, GREEDY, nothing)
    labels = made_tasks.fitted("document_attention", [Example("a", "1"), Example("b", "2")])
    with pytest.raises(UsageError, match="expected a system that writes text"):
        labels.stream(made_tasks.model("document_attention", labels), "a", options(), nothing)


def test_the_corpus_holds_inputs_and_targets() -> None:
    task = fitted()
    corpus = task.corpus(EXAMPLES)
    assert corpus.lengths.tolist() == [[len(one.input), len(one.target) + 1] for one in EXAMPLES]
    batch = corpus.batch([2, 1])
    reader, writer = task.reader.tokenizer, task.writer.tokenizer
    assert [reader.decode(row) for row in batch.input.tokens.tolist()] == ["See", "das alte Haus am See"]
    assert [writer.decode(row) for row in batch.target.tokens.tolist()] == ["lake", "the old house at the lake"]
    assert (batch.input.lengths.tolist(), batch.target.lengths.tolist()) == ([3, 20], [5, 26])
    assert len(task.corpus([]).lengths) == 0


def test_examples_that_cannot_be_read_or_scored_are_named() -> None:
    task = fitted("reader.max_length=15", "writer.max_length=15")
    examples = [Example("a", "a"), Example("", "x"), Example("a" * 16, "x" * 20), Example("a", "x" * 20)]
    assert list(task.flaws(examples)) == [
        (1, "example 2: expected a source, got a text without tokens; leave it out"),
        (2, "example 3: 16 tokens, at most 15 expected; shorten it, or set reader.max_length"),
        (3, "example 4: 21 tokens, at most 15 expected; shorten it, or set writer.max_length"),
    ]
    for part, told in ((examples[:2], "example 2: expected a source"), (examples[3:], "example 1: 21 tokens")):
        with pytest.raises(DataError, match=told) as error:
            task.corpus(part)
        assert error.value.exit_code == 3


def test_what_cannot_be_learned_from_is_told_before() -> None:
    with pytest.raises(DataError, match="label '3' is in the test data"):
        made_tasks.fitted("document_attention", Splits([Example("a", "1"), Example("b", "2")], [], [Example("c", "3")]))


def test_the_model_is_run_once_for_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [Example(f"{word} film", word) for word in ("good", "bad", "dull")]
    task = made_tasks.fitted("document_attention", examples)
    made, calls = made_tasks.model("document_attention", task), list[int]()
    logits = type(made).logits
    monkeypatch.setattr(type(made), "logits", lambda self, given: calls.append(1) or logits(self, given))
    task.evaluate(made, examples, options())
    assert calls == [1]


def test_scores_do_not_depend_on_dropout_or_on_gradients() -> None:
    task = fitted()
    made = model(task, "model.dropout=0.5").train()
    first = task.evaluate(made, EXAMPLES, GREEDY)
    assert task.evaluate(made.train(), EXAMPLES, GREEDY).scores == first.scores
    assert all(weight.grad is None for weight in made.parameters())


def test_loss_is_that_of_the_examples_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, corpus = model(task), task.corpus(EXAMPLES)
    with torch.no_grad():
        alone = [float(made(corpus.batch([i])).loss) for i in range(5)]
    for budget in (8000, 25):
        monkeypatch.setattr(Reader, "budget", budget)
        total, tokens = task.loss(made, corpus, None)
        assert total == pytest.approx(sum(alone), rel=1e-5)
        assert tokens == sum(len(one.target) + 1 for one in EXAMPLES)
        assert task.loss(made, corpus, [3, 1])[0] == pytest.approx(alone[1] + alone[3], rel=1e-5)
    assert task.loss(made, task.corpus(EXAMPLES[::-1]), None)[0] == pytest.approx(sum(alone), rel=1e-5)


def test_what_is_wrong_with_an_example_is_told_by_its_own_number() -> None:
    task = fitted("reader.max_length=15", "writer.max_length=15")
    examples = [Example("a", "a", "b"), Example("a", "a", "a"), Example("a", "a house at the lake", "a")]
    with pytest.raises(DataError, match="example 3: 20 tokens"):
        task.evaluate(model(task), examples, GREEDY)


def test_scores_by_length_are_of_the_examples_of_that_length() -> None:
    task = fitted()
    texts = [one.target for one in EXAMPLES[:2]] + ["no"] * 3
    rows = task.by_length(EXAMPLES, [Prediction(text) for text in texts])
    assert [(row["shortest"], row["longest"], row["examples"], row["exact_match"]) for row in rows] == [
        (1, 1, 2, 0.0),
        (2, 2, 1, 1.0),
        (3, 5, 2, 0.5),
    ]


def test_a_scene_has_the_places_of_its_looks_and_no_others() -> None:
    task = fitted()
    made = model(task)
    drawn = made_tasks.scene(task, made, "Haus é", options(max_length=12, looks=True))
    assert set(drawn.axes) == {"input", "output"}
    assert list(drawn.axes["input"].labels) == list("Haus é")
    plain = task.scene(made, Example("Haus"), predictions(task, made, ["Haus"], GREEDY)[0][0])
    assert (plain.looks, plain.axes) == ([], {})
