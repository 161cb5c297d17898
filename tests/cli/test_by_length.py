"""Scores by length as they are told: shares in percent, differences with their sign, and means by how many there are."""

from pathlib import Path

import pytest

from saccade.cli import by_length
from saccade.evaluation.metrics import METRICS

EXACT = METRICS["exact_match"]

FIRST = [
    {"shortest": 1, "longest": 1, "examples": 30, "exact_match": 0.5},
    {"shortest": 2, "longest": 5, "examples": 1200, "exact_match": 0.25},
]
SECOND = [{**row, "exact_match": share} for row, share in zip(FIRST, (0.75, 0.125), strict=True)]


def test_the_whole_is_the_mean_over_examples_and_not_over_bins() -> None:
    assert by_length.overall(FIRST, EXACT) == pytest.approx((30 * 0.5 + 1200 * 0.25) / 1230)


def test_a_difference_is_that_of_the_other_to_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    by_length.show_table({"first": FIRST, "second": SECOND}, EXACT)
    told = [line.split() for line in capsys.readouterr().out.splitlines()[-2:]]
    assert told == [
        ["1", "30", "50.00", "75.00", "(+25.00)"],
        ["2–5", "1,200", "25.00", "12.50", "(−12.50)"],
    ]


def test_a_bar_is_as_long_as_its_score(capsys: pytest.CaptureFixture[str]) -> None:
    by_length.show_bars(FIRST, EXACT)
    by_length.show_bars([{"shortest": 6, "longest": 9, "examples": 2, "bleu": 20.0}], METRICS["bleu"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("█") for line in lines] == [20, 10, 8]
    assert lines[0].split()[:7] == ["1", "words", "30", "examples", "exact", "match", "50.00%"]
    assert lines[1].split()[:7] == ["2–5", "words", "1,200", "examples", "exact", "match", "25.00%"]
    assert lines[2].split()[:6] == ["6–9", "words", "2", "examples", "BLEU", "20.00"]


def test_where_nothing_is_the_most_the_longest_bar_is_the_largest_value(capsys: pytest.CaptureFixture[str]) -> None:
    by_length.show_bars([{**FIRST[0], "mae": 0.5}, {**FIRST[1], "mae": 2.0}], METRICS["mae"])
    assert [line.count("█") for line in capsys.readouterr().out.splitlines()] == [10, 40]
    by_length.show_bars([{**FIRST[0], "mae": 0.0}], METRICS["mae"])
    assert "█" not in capsys.readouterr().out


def test_a_picture_names_each_run_with_its_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a.svg"
    by_length.draw({"one": FIRST, "two": SECOND}, {"one": 0.2561, "two": 0.1402}, EXACT, "", [target], quiet=True)
    drawing = target.read_text()
    assert "one · 25.61 on all" in drawing
    assert "two · 14.02 on all" in drawing
    assert "1,200" in drawing
    assert capsys.readouterr().out == ""
