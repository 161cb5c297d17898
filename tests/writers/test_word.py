"""Words that belong to a set: ranked among all that were not given, beside two controls; the lecture's own example."""

from itertools import permutations
from typing import Any

import pytest
import torch

from saccade.data.examples import Example
from saccade.task import Task
from saccade.writers.word import Writer
from tests import made_tasks
from tests.made_tasks import options, predictions, scene
from tests.writers.trained import trained

SYSTEM = "set_expansion"
SIZES = ("model.embedding_size=8", "model.negatives=30")
# Who is with whom, and what goes with them.
SHOPPING = [("man woman man", "apple"), ("man woman man", "banana"), ("dog", "bone"), ("cat", "fish"), ("cat dog", "bone")]
EXAMPLES = [Example(source, target) for source, target in SHOPPING for _ in range(4)]

Shop = tuple[Task, Any]


@pytest.fixture(scope="module")
def shop() -> Shop:
    task = made_tasks.fitted(SYSTEM, EXAMPLES, *SIZES)
    return task, trained(made_tasks.model(SYSTEM, task, *SIZES, loud=1.0), task, EXAMPLES, 300, 0.05)


def test_the_example_of_the_lecture(shop: Shop) -> None:
    """f([man, woman, man]) = [apple, banana], in whatever order they come."""
    task, model = shop
    orders = sorted({" ".join(order) for order in permutations(["man", "woman", "man"])})
    assert len(orders) == 3
    assert [{one.text for one in best} for best in predictions(task, model, orders, options(2))] == [{"apple", "banana"}] * 3
    best = [[one.text for one in found] for found in predictions(task, model, orders, options(4))]
    assert best[0] == best[1] == best[2]


def test_what_was_given_or_never_seen_does_not_come(shop: Shop) -> None:
    task, model = shop
    (best,) = predictions(task, model, ["cat dog zebra"], options(20))
    assert best[0].text == "bone"
    assert not {one.text for one in best} & {"cat", "dog", "<unk>", "<pad>", ""}
    (empty,) = predictions(task, model, [""])
    assert empty[0].text in {"apple", "banana", "bone", "fish"}


def test_probabilities_are_over_all_candidates(shop: Shop) -> None:
    task, model = shop
    (best,) = predictions(task, model, ["dog"], options(20))
    words = task.reader.tokenizer.size - 4
    assert len(best) == words - 1
    assert sum(one.probability for one in best) == pytest.approx(1, abs=1e-6)
    assert [one.log_prob for one in best] == sorted((one.log_prob for one in best), reverse=True)


def test_ranks_stand_beside_two_controls(shop: Shop) -> None:
    task, model = shop
    found = task.evaluate(model, [Example("dog", "bone"), Example("cat", "fish"), Example("cat", "zebra")], options())
    assert list(found) == ["all", *Writer.parts] == ["all", "by frequency", "by chance"]
    assert set(found["all"]) == {"examples", *task.writer.metrics(task.writer.config)}
    assert found["all"]["mrr"] == pytest.approx(2 / 3)  # what was never seen cannot be found
    assert max(found["by chance"]["mrr"], found["by frequency"]["mrr"]) < found["all"]["mrr"]
    assert [one.text for one in task.best(model, [Example("dog", "")], options())] == ["bone"]
    assert task.writer.best(found) == [found["all"]["mrr"]]


def test_ranks_are_among_the_words_that_were_not_given(shop: Shop) -> None:
    """By hand from the model's own scores: special tokens and given words are no candidates, for the controls as well."""
    task, model = shop
    tokenizer = task.reader.tokenizer
    examples = [Example("dog", "fish"), Example("man woman", "banana"), Example("cat", "zebra")]
    own, frequent = [], []
    for one in examples[:2]:
        given = tokenizer.encode(one.input)
        with torch.no_grad():
            scores = model.scores(task.corpus([one]).batch([0]).input)[0].tolist()
        target = tokenizer.encode(one.target)[0]
        others = [word for word in range(4, tokenizer.size) if word not in given]
        own.append(1 + sum(scores[word] > scores[target] for word in others))
        frequent.append(1 + sum(word < target for word in others))
    found = task.evaluate(model, examples, options())
    assert found["all"]["mrr"] == pytest.approx(sum(1 / rank for rank in own) / 3)
    assert found["by frequency"]["mrr"] == pytest.approx(sum(1 / rank for rank in frequent) / 3)
    words = tokenizer.size - 4
    assert found["by chance"]["mrr"] == pytest.approx(2 / 3 * sum(1 / rank for rank in range(1, words + 1)) / words)


def test_scores_are_the_same_however_many_words_are_searched_for(shop: Shop) -> None:
    task, model = shop
    examples = [Example("dog", "bone"), Example("cat", "bone")]
    assert task.evaluate(model, examples, options()).scores == task.evaluate(model, examples, options(4)).scores


def test_the_words_that_belong_are_shown(shop: Shop) -> None:
    task, model = shop
    drawn = scene(task, model, "dog")
    assert drawn.axes["output"].labels[0] == "bone"
    assert list(drawn.axes["set"].labels) == ["the set"]
    weights = list(drawn.looks[0].weights[0, 0])
    assert weights == sorted(weights, reverse=True)
    assert drawn.title == "dog + bone"
    (best,) = predictions(task, model, ["dog"], options(4, looks=True))
    assert len(task.writer.shown(best)) == 1  # one picture shows all
