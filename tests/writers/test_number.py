"""Tasks on sets: numbers as they are written, odd items by their marks, words that belong; the lecture's own example."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from saccade.tasks import sets_to_items, sets_to_numbers, sets_to_words
from saccade.tasks.sets_to_numbers import Numbers

from saccade.data import tokenizers
from saccade.data.examples import Bag, Pair, Splits
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.systems import deep_sets, set_expansion, set_outlier
from saccade.view.trace import check

WORDS = tokenizers.Config(kind="word")
GREEDY = SearchConfig()
# Who is with whom, and what goes with them.
SHOPPING = [("man woman man", "apple"), ("man woman man", "banana"), ("dog", "bone"), ("cat", "fish"), ("cat dog", "bone")]


def pairs(count: int = 40) -> list[Pair]:
    return [Pair(" ".join(str(n % 3) for _ in range(1 + n % 4)), f"{(n % 3) * (1 + n % 4)}") for n in range(count)]


def bags(shape: tuple[int, ...] = (3,), count: int = 12) -> list[Bag]:
    dice = np.random.default_rng(0)
    marks = np.eye(4, dtype=np.int64)
    return [Bag(dice.random((4, *shape)).astype(np.float32), f"{n / 4}", marks[n % 4], name=str(n)) for n in range(count)]


def trained(model: Any, task: Any, examples: Any, steps: int, rate: float = 0.05) -> Any:
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    batch = task.corpus(examples).batch(range(len(examples)))
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * (1 - step / steps)
        optimizer.zero_grad()
        (model.loss(batch) / batch.tokens).backward()
        optimizer.step()
    return model.eval()


# Numbers


@pytest.mark.parametrize(
    ("targets", "digits", "text"),
    [
        (["8", "-3"], 0, "2"),
        (["0.5", "2"], 1, "2.3"),
        (["1e3", "2.25e-1"], 2, "2.35"),
        (["3.14159265358979"], 6, "2.345678"),
    ],
)
def test_numbers_are_written_as_those_to_learn_from(targets: list[str], digits: int, text: str) -> None:
    found = Numbers.of([Pair("a", target) for target in targets])
    assert found.digits == digits
    assert found.text(2.345678) == text
    assert found.text(-1e-9) == f"{0:.{digits}f}"


@pytest.mark.parametrize("target", ["many", "nan", "inf", ""])
def test_what_is_no_number_is_told(target: str) -> None:
    with pytest.raises(DataError, match="example 2: expected a number"):
        Numbers.of([Pair("a", "1"), Pair("b", target)])


@pytest.mark.parametrize("kind", ["words", "instances"])
def test_a_task_comes_back_from_its_run(kind: str, tmp_path: Path) -> None:
    examples: list[Any] = pairs() if kind == "words" else bags()
    task = sets_to_numbers.Task.fit(sets_to_numbers.Config(), WORDS, Splits(examples, [], []))
    task.save(tmp_path)
    again = sets_to_numbers.Task.load(task.config, tmp_path)
    assert again.sizes() == task.sizes()
    model = deep_sets.Model(deep_sets.Config(widths=(5, 4)), **task.sizes())
    assert again.answers(model, examples, GREEDY) == task.answers(model, examples, GREEDY)
    (tmp_path / "numbers.json").write_text("[]")
    with pytest.raises(DataError, match=r"numbers\.json: cannot be read"):
        sets_to_numbers.Task.load(task.config, tmp_path)


def test_scores_come_apart_by_group_in_their_order() -> None:
    examples = [Pair(p.source, p.target, f"size {len(p.source.split())}") for p in reversed(pairs())]
    task = sets_to_numbers.Task.fit(sets_to_numbers.Config(), WORDS, Splits(examples, [], []))
    model = trained(deep_sets.Model(deep_sets.Config(widths=(8, 6)), **task.sizes()), task, examples, 60)
    scores = task.evaluate(model, examples, GREEDY)
    assert set(scores["all"]) == set(task.metrics(task.config))
    assert list(scores) == ["all", "size 4", "size 3", "size 2", "size 1"]
    said = task.answers(model, examples, GREEDY)
    right = np.mean([own.target == text for own, text in zip(examples, said, strict=True)])
    assert scores["all"]["exact"] == pytest.approx(right)
    assert sum(part["examples"] for name, part in scores.items() if name != "all") == 40
    assert task.judged(scores) == [scores["all"]["exact"], -scores["all"]["mae"]]
    bins = task.by_length(examples, said)
    assert [(row["shortest"], row["examples"]) for row in bins] == [(1, 10), (2, 10), (3, 10), (4, 10)]


def test_errors_of_numbers_are_in_their_own_units_and_those_of_each_size_too() -> None:
    """What a plain loop over single sets finds; numbers are learned divided by their size, but not told so."""
    examples = [Pair(pair.source, f"{100 * int(pair.target)}") for pair in pairs()]
    task = sets_to_numbers.Task.fit(sets_to_numbers.Config(), WORDS, Splits(examples, [], []))
    model = deep_sets.Model(deep_sets.Config(widths=(8, 6)), **task.sizes()).eval()
    with torch.no_grad():
        alone = [float(model(task.corpus([one]).batch([0]))) * task.scale.size for one in examples]
    errors = [abs(value - float(one.target)) for value, one in zip(alone, examples, strict=True)]
    assert task.evaluate(model, examples, GREEDY)["all"]["mae"] == pytest.approx(np.mean(errors), rel=1e-4)
    said = task.answers(model, examples, GREEDY)
    for row in task.by_length(examples, said):
        own = [n for n, one in enumerate(examples) if row["shortest"] <= len(one.source.split()) <= row["longest"]]
        gaps = [abs(float(said[n]) - float(examples[n].target)) for n in own]
        assert row["examples"] == len(own)
        assert row["mae"] == pytest.approx(np.mean(gaps))


def test_choices_are_scored_set_by_set() -> None:
    found = bags()
    task = sets_to_items.Task.fit(sets_to_items.Config(), WORDS, Splits(found, [], []))
    model = set_outlier.Model(set_outlier.Config(width=6), **task.sizes()).eval()
    corpus = task.corpus(found)
    with torch.no_grad():
        batches = [corpus.batch([n]) for n in range(len(found))]
        right = [int(model(batch).argmax()) == int(batch.label) for batch in batches]
        losses = [float(model.loss(batch)) for batch in batches]
    scores = task.evaluate(model, found, GREEDY)["all"]
    assert scores["accuracy"] == pytest.approx(np.mean(right))
    assert scores["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert scores["chance"] == 0.25


def test_a_line_is_a_set_and_an_empty_line_the_empty_one() -> None:
    task = sets_to_numbers.Task.fit(sets_to_numbers.Config(), WORDS, Splits(pairs(), [], []))
    model = trained(deep_sets.Model(deep_sets.Config(widths=(8, 6)), **task.sizes()), task, pairs(), 300, 0.02)
    found = [best[0].text for best in task.predict(model, ["2 2 1", "1 2 2", "2 2 2 2"], GREEDY)]
    assert found[0] == found[1] == "5"
    assert found[2] == "8"
    ((empty,),) = task.predict(model, [""], GREEDY)
    # What is said of nothing is what the model makes of a sum of 0: its last layer's bias, scaled back.
    assert empty.text == task.scale.text(model.output(torch.zeros(1, 6)).item() * task.scale.size)
    assert abs(int(empty.text)) <= 1
    ((one,),) = task.predict(model, ["2 1"], GREEDY, looks=True)
    (scene,) = task.scenes("2 1", [one], "word")
    check(scene)
    assert scene.looks[0].weights.tolist() == [[[1.0, 1.0]]]


def test_bags_are_asked_for_by_their_number() -> None:
    found = bags((6, 6))
    task = sets_to_numbers.Task.fit(sets_to_numbers.Config(), WORDS, Splits(found, [], found))
    task.examples = lambda: Splits(found, [], found)
    assert task.sizes() == {"words": 0, "shape": (6, 6)}
    with pytest.raises(DataError, match="got words"):
        task.corpus(pairs())
    with pytest.raises(DataError, match=r"got items of shape \(3,\)"):
        task.corpus(bags())
    side = task.items.side(found[3])
    assert side.kind == "instances"
    assert side.images is not None
    assert side.images.shape == (4, 6, 6)


# The odd one


def odd_task() -> sets_to_items.Task:
    found = bags()
    task = sets_to_items.Task.fit(sets_to_items.Config(), WORDS, Splits(found, [], found))
    task.examples = lambda: Splits(found, [], found)
    return task


def test_the_odd_one_is_learned_and_shown() -> None:
    task = odd_task()
    found = [Bag(bag.items + 3 * np.asarray(bag.marks)[:, None].astype(np.float32), "", bag.marks) for bag in bags()]
    task.examples = lambda: Splits(found, [], found)
    model = trained(set_outlier.Model(set_outlier.Config(width=8), **task.sizes()), task, found, 60, 0.01)
    scores = task.evaluate(model, found, GREEDY)["all"]
    assert set(scores) == set(task.metrics(task.config))
    assert (scores["accuracy"], scores["chance"], scores["examples"]) == (1.0, 0.25, 12)
    assert task.answers(model, found, GREEDY) == [str(n % 4) for n in range(12)]
    best, empty = task.predict(model, ["test#2", ""], SearchConfig(method="beam", n_best=2), looks=True)
    assert (best[0].text, empty[0].text) == ("2", "")
    scene = task.scenes("test#2", best, "")[0]
    check(scene)
    assert scene.axes["set"].labels == ["0", "1", "2 *", "3"]
    assert scene.looks[0].weights.sum() == pytest.approx(1, abs=1e-5)
    assert int(scene.looks[0].weights.argmax()) == 2
    with pytest.raises(DataError, match=r"expected test#0 to test#11"):
        list(task.predict(model, ["test#12"], GREEDY))


@pytest.mark.parametrize("marks", [None, [0, 0, 0, 0], [1, 0, 1, 0]])
def test_one_item_must_be_marked(marks: list[int] | None) -> None:
    told = None if marks is None else np.array(marks)
    with pytest.raises(DataError, match="one of them marked"):
        odd_task().corpus([Bag(np.zeros((4, 3), np.float32), "", told)])


# What belongs


@pytest.fixture(scope="module")
def shop() -> tuple[sets_to_words.Task, set_expansion.Model]:
    examples = [Pair(source, target) for source, target in SHOPPING for _ in range(4)]
    task = sets_to_words.Task.fit(sets_to_words.Config(), WORDS, Splits(examples, [], []))
    model = set_expansion.Model(set_expansion.Config(width=8, negatives=30), **task.sizes())
    return task, trained(model, task, examples, 300, 0.05)


def test_the_example_of_the_lecture(shop: tuple[sets_to_words.Task, set_expansion.Model]) -> None:
    """f([man, woman, man]) = [apple, banana], in whatever order they come."""
    task, model = shop
    orders = sorted({" ".join(order) for order in permutations(["man", "woman", "man"])})
    assert len(orders) == 3
    answers = [{one.text for one in best} for best in task.predict(model, orders, SearchConfig(method="beam", n_best=2))]
    assert answers == [{"apple", "banana"}] * 3
    best = [[one.text for one in found] for found in task.predict(model, orders, SearchConfig(method="beam", n_best=4))]
    assert best[0] == best[1] == best[2]


def test_what_was_given_or_never_seen_does_not_come(shop: tuple[sets_to_words.Task, set_expansion.Model]) -> None:
    task, model = shop
    (best,) = task.predict(model, ["cat dog zebra"], SearchConfig(method="beam", beam=20, n_best=20))
    assert best[0].text == "bone"
    assert not {one.text for one in best} & {"cat", "dog", "<unk>", "<pad>", ""}
    (empty,) = task.predict(model, [""], GREEDY)
    assert empty[0].text in {"apple", "banana", "bone", "fish"}


def test_ranks_stand_beside_two_controls(shop: tuple[sets_to_words.Task, set_expansion.Model]) -> None:
    task, model = shop
    scores = task.evaluate(model, [Pair("dog", "bone"), Pair("cat", "fish"), Pair("cat", "zebra")], GREEDY)
    assert set(scores) == {"all", *task.parts}
    assert set(scores["all"]) == set(task.metrics(task.config))
    assert list(scores) == ["all", "by frequency", "by chance"]
    assert scores["all"]["mrr"] == pytest.approx(2 / 3)  # what was never seen cannot be found
    assert max(scores["by chance"]["mrr"], scores["by frequency"]["mrr"]) < scores["all"]["mrr"]
    assert task.answers(model, [Pair("dog", "")], GREEDY) == ["bone"]


def test_ranks_are_among_the_words_that_were_not_given(shop: tuple[sets_to_words.Task, set_expansion.Model]) -> None:
    """By hand from the model's own scores: special tokens and given words are no candidates, for the controls as well."""
    task, model = shop
    examples = [Pair("dog", "fish"), Pair("man woman", "banana"), Pair("cat", "zebra")]
    own, frequent = [], []
    for one in examples[:2]:
        given = task.tokenizer.encode(one.source)
        with torch.no_grad():
            scores = model(task.corpus([one]).batch([0]))[0].tolist()
        target = task.tokenizer.encode(one.target)[0]
        others = [word for word in range(4, task.tokenizer.size) if word not in given]
        own.append(1 + sum(scores[word] > scores[target] for word in others))
        frequent.append(1 + sum(word < target for word in others))
    found = task.evaluate(model, examples, GREEDY)
    assert found["all"]["mrr"] == pytest.approx(sum(1 / rank for rank in own) / 3)
    assert found["by frequency"]["mrr"] == pytest.approx(sum(1 / rank for rank in frequent) / 3)
    words = task.tokenizer.size - 4
    assert found["by chance"]["mrr"] == pytest.approx(2 / 3 * sum(1 / rank for rank in range(1, words + 1)) / words)


def test_the_words_that_belong_are_shown(shop: tuple[sets_to_words.Task, set_expansion.Model]) -> None:
    task, model = shop
    (best,) = task.predict(model, ["dog"], GREEDY, looks=True)
    (scene,) = task.scenes("dog", best, "word")
    check(scene)
    assert scene.axes["words"].labels[0] == "bone"
    assert list(scene.looks[0].weights[0, 0, :4]) == sorted(scene.looks[0].weights[0, 0, :4], reverse=True)
