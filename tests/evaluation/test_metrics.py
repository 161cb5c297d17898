"""Metrics as values, and scores that print as a table."""

import math

import pytest

from saccade import systems, writers
from saccade.config import Empty
from saccade.errors import UnknownName
from saccade.evaluation.metrics import METRICS, Evaluation, Metric, metric, ranked, shown
from saccade.task import Kinds

SCORES = {
    "all": {"examples": 12_345, "accuracy": 0.5, "loss": 1.25, "auc": 0.75},
    "<short>": {"examples": 2, "accuracy": 1.0, "loss": 0.0},
}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("accuracy", 0.12345, "12.35%"),
        ("exact_match", 1.0, "100.00%"),
        ("bleu", 41.234, "41.23"),
        ("perplexity", 5.5, "5.500"),
        ("loss", 0.00004, "0.0000"),
        ("mae", 12.0, "12.0000"),
        ("loss", "nan", "nan"),  # as a log has it
        ("loss", "inf", "inf"),
    ],
)
def test_a_value_is_printed_in_its_own_way(name: str, value: float | str, text: str) -> None:
    assert metric(name).show(value) == text


def test_a_metric_knows_which_way_is_better() -> None:
    lower = {name for name, one in METRICS.items() if not one.higher}
    assert lower == {"mae", "loss", "masked_loss", "perplexity", "calibration_error", "cer"} | {
        "error",
        "bit_error",
        "bits_per_sequence",
    }
    assert metric("bleu").rank(3.0) == 3.0
    assert metric("loss").rank(3.0) == -3.0
    assert all(name == one.name and one.label for name, one in METRICS.items())


def test_an_unknown_metric_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown metric 'acuracy'; did you mean 'accuracy'"):
        metric("acuracy")


def test_the_best_is_larger_and_what_is_missing_is_worst() -> None:
    assert ranked(SCORES["all"], ["accuracy", "loss"]) == [0.5, -1.25]
    assert ranked(SCORES["<short>"], ["auc", "loss"]) == [-math.inf, 0.0]
    assert ranked(SCORES["all"], ["accuracy"]) < ranked(SCORES["<short>"], ["accuracy"])


def test_scores_on_a_line() -> None:
    assert shown(SCORES["all"]) == "accuracy 50.00%  loss 1.2500  AUC 0.7500"
    assert shown(SCORES["all"], ["loss"]) == "loss 1.2500"


def test_an_evaluation_prints_as_a_table() -> None:
    found = Evaluation(SCORES, title="runs/a at step 7, test")
    assert str(found).splitlines() == [
        "runs/a at step 7, test",
        "           examples  accuracy    loss     AUC",
        "  all        12,345    50.00%  1.2500  0.7500",
        "  <short>         2   100.00%  0.0000",
    ]
    assert repr(found) == str(found)
    assert str(Evaluation(SCORES)).splitlines()[0] == "           examples  accuracy    loss     AUC"


def test_an_evaluation_is_a_mapping_of_its_scores() -> None:
    found = Evaluation(SCORES)
    assert (list(found), len(found), found["all"]["accuracy"]) == (["all", "<short>"], 2, 0.5)
    assert dict(found) == SCORES
    assert found == Evaluation(SCORES)


def test_a_notebook_shows_the_same_table() -> None:
    html = Evaluation(SCORES, title="a & b")._repr_html_()
    assert html.startswith("<table><caption>a &amp; b</caption><tr><th></th><th>examples</th><th>accuracy</th>")
    assert "<td>&lt;short&gt;</td><td>2</td><td>100.00%</td><td>0.0000</td><td></td></tr></table>" in html


@pytest.mark.parametrize("system", systems.names())
def test_every_writer_names_metrics_that_are_known(system: str) -> None:
    """Known before anything is trained, and the best checkpoint is chosen by some of them."""
    kind = writers.load(systems.load(system).WRITES).Config
    writer = Kinds.of(system).writer
    config = kind() if kind is not Empty else Empty()
    names = writer.metrics(config)
    assert names
    assert all(isinstance(metric(name), Metric) for name in names)
    plain = object.__new__(writer)
    plain.config = config
    assert set(plain.choose_by()) <= {*names, "loss"}
    assert plain.main().name in names
