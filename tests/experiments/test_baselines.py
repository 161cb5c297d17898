"""Baselines: that each is what its name says, on data small enough to count by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import Bag, Example, Picture, Splits
from saccade.errors import DataError, UnknownName, UsageError
from saccade.experiments import baselines, table
from saccade.experiments.cell import BaselineCell
from saccade.training.progress import Quiet
from saccade.training.settings import Settings, resolve

TEXTS = Splits(
    [
        Example("good fun", "yes"),
        Example("good", "yes"),
        Example("so good", "yes"),
        Example("bad", "no"),
        Example("so bad", "no"),
    ],
    [Example("good", "yes"), Example("bad", "no")],
    [Example("good so", "yes"), Example("bad so", "no"), Example("bad fun bad", "no"), Example("good fun", "yes")],
)
TABLE = """
about = "A baseline."
metric = "accuracy"
seeds = 2
[settings]
system = "bag_of_words"
[settings.data]
train = "TRAIN"
test = "TEST"
held_out = 0.0
[[row]]
name = "Most frequent"
baseline = "most_frequent"
"""


def labeled(system: str = "bag_of_words") -> Settings:
    return resolve({"system": system})


def test_the_most_frequent_label_and_the_shares_of_all() -> None:
    found = baselines.scored("most_frequent", labeled(), TEXTS, "test")["scores"]["all"]
    assert (found["accuracy"], found["examples"]) == (0.5, 4)
    assert found["loss"] == pytest.approx(-(math.log(0.6) + math.log(0.4)) / 2)


@pytest.mark.parametrize("name", ["logistic_regression", "logistic_regression_bigrams", "nearest_neighbor"])
def test_words_that_tell_labels_apart(name: str) -> None:
    pytest.importorskip("sklearn")
    assert baselines.scored(name, labeled(), TEXTS, "test")["scores"]["all"]["accuracy"] == 1.0


def test_pairs_of_words_see_their_order() -> None:
    pytest.importorskip("sklearn")
    pairs = Splits([Example("a b", "1"), Example("b a", "2")] * 5, [], [Example("a b", "1"), Example("b a", "2")])
    one, two = (baselines.scored(f"logistic_regression{name}", labeled(), pairs, "test") for name in ("", "_bigrams"))
    assert (one["scores"]["all"]["accuracy"], two["scores"]["all"]["accuracy"]) == (0.5, 1.0)


@pytest.mark.parametrize("made", [lambda rows: Bag(rows), lambda rows: Picture((rows * 100).astype(np.uint8))])
def test_bags_and_pictures_are_rows_of_numbers(made: Any) -> None:
    pytest.importorskip("sklearn")
    rows = [np.full((2, 3), number % 2, dtype=np.float32) for number in range(8)]
    examples = [Example(made(part), str(number % 2)) for number, part in enumerate(rows)]
    found = baselines.scored("logistic_regression", labeled("attention_mil"), Splits(examples, [], examples), "test")
    assert found["scores"]["all"]["accuracy"] == 1.0
    with pytest.raises(UsageError, match=r"logistic_regression_bigrams: expected texts"):
        baselines.scored("logistic_regression_bigrams", labeled("attention_mil"), Splits(examples, [], examples), "test")


def test_the_nearest_source_gives_its_translation() -> None:
    pytest.importorskip("sklearn")
    pairs = Splits([Example("ein hund rennt", "a dog runs fast"), Example("zwei katzen", "two cats")], [], [])
    asked = Splits(pairs.train, [], [Example("ein hund", "a dog runs fast"), Example("drei katzen", "three cats")])
    found = baselines.scored("nearest_neighbor", resolve({"system": "bahdanau"}), asked, "test")
    assert found["scores"]["all"]["exact_match"] == 0.5
    assert found["signatures"]["bleu"].startswith("nrefs:1")


def test_probabilities_of_the_n_gram_model_sum_to_one() -> None:
    probability = baselines.interpolated([0, 1, 0, 1, 1, 2, 0, 1], 4)
    for context in ((), (0,), (1,), (3,), (0, 1), (2, 0, 1), (3, 0)):
        assert sum(probability(context, token) for token in range(4)) == pytest.approx(1)
    assert probability((0,), 1) == pytest.approx((3 - 0.75 + 0.75 * ((4 - 0.75 + 0.75 * 3 / 4) / 8)) / 3)


def test_an_n_gram_model_knows_what_it_has_read() -> None:
    settings = resolve({"system": "gpt2", "tokens": {"kind": "char"}})
    train = [Example("", "ab" * 50)]
    known, odd = (
        baselines.ngram_model(settings, Splits(train, [], [Example("", one)]), "test") for one in ("ab" * 20, "bba" * 9)
    )
    assert known["perplexity"] < 1.4 < odd["perplexity"]


def test_a_label_that_training_never_saw_is_told() -> None:
    odd = Splits(TEXTS.train, [], [Example("good", "maybe")])
    with pytest.raises(DataError, match=r"expected labels of the training data, got 'maybe'"):
        baselines.scored("most_frequent", labeled(), odd, "test")


def test_a_baseline_is_a_row_of_a_table(tmp_path: Path) -> None:
    """With one cell for all seeds, and its scores kept; other data is found out."""
    for name, part in (("train", TEXTS.train), ("test", TEXTS.test)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{one.input}\t{one.target}\n" for one in part))
    file = tmp_path / "t.toml"
    file.write_text(TABLE.replace("TRAIN", f"{tmp_path}/train.tsv").replace("TEST", f"{tmp_path}/test.tsv"))
    grid = table.read(str(file))
    (cell,) = grid.cells(grid.row[0], None, [], tmp_path / "out")
    assert isinstance(cell, BaselineCell)
    grid.check([(grid.row[0], [cell])])
    assert cell.due("test")
    assert grid.value(cell.complete("test", Quiet())) == 0.5
    assert not cell.due("test")
    cell.check()
    (other,) = grid.cells(grid.row[0], None, [f"data.test={tmp_path}/train.tsv"], tmp_path / "out")
    with pytest.raises(UsageError, match=r"made with other settings"):
        other.check()
    with pytest.raises(UnknownName, match=r"metric of the table 'bleu'"):
        cell.check_metric("bleu")
    file.write_text(file.read_text().replace("most_frequent", "most_frequented"))
    with pytest.raises(UnknownName, match=r"unknown baseline 'most_frequented'"):
        table.read(str(file))


NUMBERS = Splits(
    [Example("1 1 2", "4"), Example("2 2", "4"), Example("1", "1"), Example("2", "2")], [], [Example("1 2 2 2", "7")]
)


def test_the_mean_of_the_training_numbers() -> None:
    found = baselines.scored("mean_number", labeled("deep_sets"), NUMBERS, "test")["scores"]["all"]
    assert (found["exact_match"], found["mae"]) == (0.0, 7 - 11 / 4)


def test_sums_of_words_are_linear() -> None:
    pytest.importorskip("sklearn")
    chosen = Splits(NUMBERS.train, NUMBERS.train, NUMBERS.test)  # on which the least penalty is the best
    found = baselines.scored("linear_regression", labeled("deep_sets"), chosen, "test")["scores"]["all"]
    assert (found["exact_match"], found["mae"] < 0.1) == (1.0, True)


def test_sums_and_maxima_of_items_are_linear() -> None:
    pytest.importorskip("sklearn")
    dice = np.random.default_rng(0)
    sets = [dice.normal(size=(number % 5 + 1, 2)).astype(np.float32) for number in range(60)]
    examples = [Example(Bag(own), f"{own[:, 0].sum() + own[:, 1].max():.3f}") for own in sets]
    part = Splits(examples[:40], examples[:40], examples[40:])
    assert baselines.scored("linear_regression", labeled("deep_sets"), part, "test")["scores"]["all"]["mae"] < 0.02


def test_the_item_that_is_farthest_from_the_others() -> None:
    """Features count by their spread: the second is large and says little."""
    dice = np.random.default_rng(0)
    examples = []
    for number in range(30):
        items = dice.normal(size=(5, 3)) * (0.3, 0.3, 50)
        items[number % 5, :2] += 3
        examples.append(Example(Bag(items.astype(np.float32), np.eye(5, dtype=np.int64)[number % 5])))
    found = baselines.scored("farthest", labeled("set_outlier"), Splits(examples, [], examples), "test")["scores"]["all"]
    assert found["accuracy"] > 0.8
    assert found["chance"] == pytest.approx(0.2)


WORDS = Splits(
    [Example("salt", "pepper")] * 3 + [Example("salt", "sugar")] * 2 + [Example("sun", "moon")] * 2,
    [Example("sun", "moon")],
    [Example("sun", "moon"), Example("salt sun", "comet")],
)


def test_words_are_ranked_by_how_often_they_come() -> None:
    """Salt 5, pepper 3, sugar and moon 2 each, at the mean of their places; what training never saw is not found."""
    found = baselines.scored("most_frequent_word", labeled("set_expansion"), WORDS, "test")["scores"]["all"]
    assert found["mrr"] == pytest.approx((1 / 3.5 + 0) / 2)


def test_words_are_ranked_by_the_words_beside_them() -> None:
    found = baselines.scored("co_occurrence", labeled("set_expansion"), WORDS, "test")["scores"]["all"]
    assert (found["mrr"], found["recall_10"]) == (0.5, 0.5)


def test_baselines_say_what_they_are_scored_by() -> None:
    names = {"mean_number": "deep_sets", "farthest": "set_outlier", "co_occurrence": "set_expansion"}
    found = [baselines.metrics(name, labeled(system))[0] for name, system in names.items()]
    assert found == ["exact_match", "accuracy", "mrr"]
