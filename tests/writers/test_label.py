"""Labels: in their order, kept with the run, and scores of a model that puts out what is given, by scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics
from sklearn.utils.class_weight import compute_class_weight

from saccade.data.examples import Bag, Example, Splits
from saccade.data.tensors import Batch
from saccade.errors import DataError, UsageError
from saccade.readers.reader import Reader
from saccade.task import Task
from saccade.training.train_config import Config as TrainConfig
from saccade.writers.label import Config, Writer
from saccade.writers.writer import Prediction
from tests import made_tasks
from tests.made_tasks import options, settings

NAMES = ["a", "b", "c"]


class Numbers(Reader):
    """Inputs are the numbers of rows of logits; their lengths are in no order."""

    budget = 12

    def encode(self, inputs: Any) -> Any:
        return Column([int(one) for one in inputs])


class Column:
    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        self.lengths = np.array([1 + 7 * row % 5 for row in rows], dtype=np.int64)

    def batch(self, indices: Any) -> list[int]:
        return [self.rows[i] for i in indices]


class Given(torch.nn.Module):
    """Puts out the row that it is given the number of."""

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(table, requires_grad=False)

    def logits(self, rows: list[int]) -> torch.Tensor:
        return self.table[rows]


def logits(count: int = 40) -> torch.Tensor:
    return torch.randn(count, len(NAMES), generator=torch.Generator().manual_seed(1)) * 2


def examples(count: int = 40) -> list[Example]:
    """Labels that the logits know something of, in two groups and none."""
    dice = np.random.default_rng(2)
    best = logits(count).argmax(1).tolist()
    labels = [place if dice.random() < 0.6 else int(dice.integers(3)) for place in best]
    return [Example(str(row), NAMES[label], ("", "one", "two")[row % 3]) for row, label in enumerate(labels)]


def writer(metric: Any = "accuracy", **keys: Any) -> Writer:
    return Writer(Config(metric=metric, **keys), NAMES)


def task() -> Task:
    return Task(Numbers(None), writer())


@pytest.mark.parametrize("group", ["all", "one", "two"])
def test_scores_of_each_group_are_scikit_learns(group: str) -> None:
    scores = task().evaluate(Given(logits()), examples(), options())
    assert list(scores) == ["all", "one", "two"]
    chosen = [one for one in examples() if group in ("all", one.group)]
    truth = [NAMES.index(one.target) for one in chosen]
    shares = logits()[[int(one.input) for one in chosen]].double().softmax(-1).numpy()
    best = shares.argmax(1)
    assert scores[group]["examples"] == len(chosen)
    assert scores[group]["accuracy"] == pytest.approx(metrics.accuracy_score(truth, best))
    assert scores[group]["macro_f1"] == pytest.approx(metrics.f1_score(truth, best, average="macro"))
    assert scores[group]["loss"] == pytest.approx(metrics.log_loss(truth, shares, labels=range(3)))
    assert scores[group]["auc"] == pytest.approx(metrics.roc_auc_score(truth, shares, multi_class="ovr"))
    assert set(scores[group]) <= {"examples", *Writer.metrics(Config())}


def test_the_confusion_matrix_has_targets_down_and_predictions_across() -> None:
    found = task().evaluate(Given(logits()), examples(), options())
    texts = [one.text for one in found.predictions]
    expected = metrics.confusion_matrix([one.target for one in examples()], texts, labels=NAMES)
    assert (expected != expected.T).any()
    assert found.details["confusion"] == {"labels": NAMES, "counts": expected.tolist()}


def test_predictions_are_ranked_and_carry_all_probabilities() -> None:
    how = options(3)
    (best,) = writer().predict(Given(logits()), Batch([7]), how, [0])
    shares = logits()[7].double().softmax(-1)
    order = shares.argsort(descending=True).tolist()
    assert [one.text for one in best] == [NAMES[place] for place in order]
    assert [one.probability for one in best] == pytest.approx(shares[order].tolist(), abs=1e-6)
    assert all(np.allclose(one.values, shares) for one in best)  # type: ignore[arg-type]
    (more,) = writer().predict(Given(logits()), Batch([7]), options(9), [0])
    assert len(more) == 3


def test_progress_counts_examples() -> None:
    done: list[int] = []
    task().evaluate(Given(logits()), examples(), options(), done.append)
    assert done == sorted(done)
    assert done[-1] == 40


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "auc", "loss"])
def test_the_best_is_chosen_by_the_metric(metric: str) -> None:
    better = {"all": {"accuracy": 0.9, "macro_f1": 0.9, "auc": 0.9, "loss": 0.1}}
    worse = {"all": {"accuracy": 0.8, "macro_f1": 0.8, "auc": 0.8, "loss": 0.2}}
    assert writer(metric).best(better) > writer(metric).best(worse)


def test_among_equals_the_lower_loss_is_better_and_what_is_missing_is_worst() -> None:
    assert writer("auc").best({"all": {"auc": 0.7, "loss": 2.0}}) == [0.7, -2.0]
    assert writer("auc").best({"all": {"loss": 2.0}}) < writer("auc").best({"all": {"auc": 0.0, "loss": 3.0}})
    assert writer("loss").best({"all": {"auc": 0.7, "loss": 2.0}}) == [-2.0]
    assert writer("loss").main().name == "accuracy"
    assert writer("auc").main().name == "auc"


def test_accuracy_by_length_is_of_the_words_of_the_text() -> None:
    texts = ["a good film", "a bad film with no end to its length", "good and bad", "the end is good , the rest is not"]
    given = [Example(text, label) for text, label in zip(texts, ["b", "a", "b", "c"], strict=True)]
    bins = Task(Numbers(None), writer()).by_length(given, [Prediction(text) for text in ("b", "c", "b", "b")])
    assert bins == [
        {"shortest": 1, "longest": 3, "examples": 2, "accuracy": 1.0},
        {"shortest": 4, "longest": 9, "examples": 2, "accuracy": 0.0},
    ]


def fitted(train: list[str], valid: list[str] | None = None, test: list[str] | None = None, **keys: Any) -> Writer:
    parts = ([Example("x", label) for label in labels or []] for labels in (train, valid, test))
    found = Writer.fit(Config(), None, Splits(*parts, **keys), Reader(None))
    assert isinstance(found, Writer)
    return found


def test_labels_are_in_order_and_come_back_from_the_run(tmp_path: Path) -> None:
    known = fitted(["2", "10", "2", "1"])
    assert known.names == ["1", "2", "10"]
    assert fitted(["b", "a"], labels=("b", "c", "a")).names == ["b", "c", "a"]  # the order of the data set
    known.save(tmp_path)
    again = Writer.load(Config(), tmp_path, Reader(None))
    assert again.names == known.names
    assert again.sizes() == {"labels": 3}
    for damaged in ("{", '{"a": 1}', "[1, 2]", "null"):
        (tmp_path / "labels.json").write_text(damaged)
        with pytest.raises(DataError, match=r"labels\.json: cannot be read"):
            Writer.load(Config(), tmp_path, Reader(None))


def test_one_label_cannot_be_learned() -> None:
    with pytest.raises(DataError, match="at least 2 different labels in the training data, got 2"):
        fitted(["2", "2"])


@pytest.mark.parametrize(
    ("valid", "test", "words"),
    [
        (["11"], [], r"label '11' is in the validation data.*no training example.*data\.valid"),
        ([], ["11"], r"label '11' is in the test data.*name other data\.test"),
        (["10"], [], r"label '10' is in .* \(held out, or data\.valid\).*data\.held_out=0"),
    ],
)
def test_a_label_that_is_not_in_the_training_data_is_told(valid: list[str], test: list[str], words: str) -> None:
    with pytest.raises(DataError, match=words):
        fitted(["1", "2"], valid, test)


def test_unfit_examples_are_listed() -> None:
    parts = [[Example("x", label) for label in labels] for labels in (["1", "2"], ["1", "3"], ["4", "2", "5"])]
    assert [(part, index) for part, index, _ in Writer.unfit(Splits(*parts))] == [("valid", 1), ("test", 0), ("test", 2)]


def test_an_unknown_label_is_told_with_its_place_once() -> None:
    known = fitted(["1", "2", "10"])
    odd = Example("good", "11", files=("judged.tsv",), number=3)
    assert [(index, line.count("judged.tsv:3: ")) for index, line in known.flaws([Example("x", "1"), odd])] == [(1, 1)]
    with pytest.raises(DataError, match=r"^judged\.tsv:3: unknown label '11'"):
        known.encode([Example("x", "1"), odd])
    with pytest.raises(DataError, match="example 1: unknown label '11'; did you mean '1'"):
        known.encode([Example("good", "11")])


def test_targets_carry_what_training_makes_of_them() -> None:
    known = Writer(Config(label_smoothing=0.1, agreement=2.0), NAMES)
    batch = known.encode([Example("x", label) for label in "cab"]).batch([2, 0])
    assert (batch.labels.tolist(), batch.label_smoothing, batch.agreement, len(batch)) == ([1, 2], 0.1, 2.0, 2)


def test_balanced_classes_weigh_as_in_scikit_learn() -> None:
    labels = "aaabbc"
    column = Writer(Config(class_weight="balanced"), NAMES).encode([Example("x", label) for label in labels])
    expected = compute_class_weight("balanced", classes=np.array(NAMES), y=list(labels))
    assert column.weights is not None
    assert column.batch([0]).weights is column.weights
    assert column.weights.numpy() == pytest.approx(expected)
    assert writer().encode([Example("x", "a")]).batch([0]).weights is None


@pytest.mark.parametrize("agreement", [0.0, 1.0])
def test_class_weights_count_in_training_only(agreement: float) -> None:
    quiet = ("model.dropout=0.0", "model.word_dropout=0.0", "reader.spelling=0")
    words = ("model.embedding_size=4", *quiet, f"writer.agreement={agreement}")
    known = [Example(f"word{n} other", "a" if n % 4 else "b") for n in range(12)]
    losses = {}
    for weight in ("none", "balanced"):
        task = made_tasks.fitted("document_attention", known, *words, f"writer.class_weight={weight}")
        model, batch = made_tasks.model("document_attention", task, *words), task.corpus(known).batch(range(12))
        losses[weight] = [model.train(mode)(batch).loss.item() for mode in (True, False)]
    logs = model.eval().logits(batch.input).log_softmax(-1).detach()
    rows = [float(-logs[n, label]) for n, label in enumerate(batch.target.labels.tolist())]
    own = [sum(row for n, row in enumerate(rows) if (n % 4 > 0) == frequent) for frequent in (False, True)]
    assert losses["none"] == pytest.approx([sum(rows)] * 2, rel=1e-5)
    assert losses["balanced"] == pytest.approx([2 * own[0] + 2 / 3 * own[1], sum(rows)], rel=1e-5)


def test_balanced_batches_read_every_label_as_often() -> None:
    known = [Example(f"word{n}", "a" if n % 5 else "b") for n in range(20)]
    task = made_tasks.fitted("document_attention", known, "writer.balanced_batches=true")
    plan = task.corpus(known).batches(TrainConfig(batch_size=8))
    seen = torch.cat([plan.next().target.labels for _ in range(plan.steps(1))])
    assert torch.bincount(seen).tolist() == [16, 16]
    texts = task.corpus(known).batches(TrainConfig(batch_size=32)).next().input.tokens.tolist()
    assert len({tuple(row) for row in texts}) == 20, "none is left out"
    with pytest.raises(UsageError, match=r"writer\.balanced_batches: with writer\.class_weight=balanced"):
        settings("document_attention", "writer.balanced_batches=true", "writer.class_weight=balanced")


def test_a_picture_says_the_label_and_what_is_known() -> None:
    one = Prediction("b", np.log(0.5), tokens=["b"])
    assert writer().title(Example("a  text\n"), one) == "b: a text"
    assert writer().title(Example(Bag(np.zeros((1, 1), np.float32)), name="test#0"), one) == "b: test#0"
    assert writer().notes(Example("x"), one) == {"probability": "50%"}
    assert writer().notes(Example("x", "c"), one)["known label"] == "c"


# Bags


def bags() -> list[Example]:
    """Of many sizes; some with marks on some, on all or on none of their instances, and some that nobody marked."""
    dice, found = np.random.default_rng(0), []
    for number in range(24):
        size = int(dice.integers(2, 7))
        kinds: list[Any] = [dice.integers(0, 2, size), np.ones(size, np.int64), np.zeros(size, np.int64), None]
        items = dice.normal(size=(size, 3)).astype(np.float32)
        bag = Bag(items, kinds[number % 4 if number % 3 else 0])
        found.append(Example(bag, ("no", "yes")[number % 2], name=str(number)))
    return found


@pytest.mark.parametrize("budget", [4, 4000])
def test_the_area_of_instances_is_the_mean_over_bags_that_have_both(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("model.hidden_sizes=[6]", "model.attention_size=4")
    task = made_tasks.fitted("attention_mil", bags(), *words)
    monkeypatch.setattr(type(task.reader), "budget", budget)
    model = made_tasks.model("attention_mil", task, *words)
    areas = []
    for example in bags():
        marks = example.input.marks
        if marks is not None and len(set(marks.tolist())) == 2:
            ((found, *_),) = task.predictions(model, [example], options(looks=True))
            areas.append(metrics.roc_auc_score(marks, found.looks[0].weights.reshape(-1)))
    scores = task.evaluate(model, bags(), options())["all"]
    assert len(areas) > 5
    assert scores["instance_auc"] == pytest.approx(np.mean(areas))
    assert scores["examples"] == 24
    unmarked = [example for example in bags() if example.input.marks is None]
    assert "instance_auc" not in task.evaluate(model, unmarked, options())["all"]


def test_a_system_that_weighs_nothing_has_no_area_of_instances() -> None:
    words = ("model.hidden_sizes=[6]", "model.pool=mean")
    task = made_tasks.fitted("attention_mil", bags(), *words)
    scores = task.evaluate(made_tasks.model("attention_mil", task, *words), bags(), options())["all"]
    assert "instance_auc" not in scores


def test_settings_of_the_writer_reach_it() -> None:
    found = settings("document_attention", "writer.metric=auc", "writer.label_smoothing=0.2", "writer.agreement=1")
    assert (found.writer.metric, found.writer.label_smoothing, found.writer.agreement) == ("auc", 0.2, 1.0)
