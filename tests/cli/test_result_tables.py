"""Numbers in tables: means and deviations are numpy's, in percent where the metric is, and minutes are those of a run."""

import numpy as np
import pytest

from saccade.cli import result_tables
from saccade.experiments.table import Grid, Line, Row

ROW = Row(name="A", paper=70.1)
SHARES: list[float | None] = [0.7512, 0.7034, None, 0.7213]


def grid(metric: str) -> Grid:
    return Grid(about="Some.", metric=metric, row=(ROW,))


def cells(metric: str, values: list[float | None], minutes: list[float]) -> list[str]:
    """What stands in the line of a table, column by column."""
    return [
        cell.strip()
        for cell in result_tables.markdown("x", grid(metric), [Line(ROW, values, minutes, "")]).split("|")[-7:-1]
    ]


@pytest.mark.parametrize(
    ("metric", "scale", "digits"),
    [
        ("exact_match", 100, 2),
        ("accuracy", 100, 2),
        ("macro_f1", 100, 2),
        ("bleu", 1, 2),
        ("auc", 1, 4),
        ("mae", 1, 3),
        ("loss", 1, 4),
    ],
)
def test_means_and_deviations_are_those_of_the_seeds(metric: str, scale: int, digits: int) -> None:
    done = np.array([value for value in SHARES if value is not None]) * scale
    name, seeds, spread, each, minutes, paper = cells(metric, SHARES, [1.0, 2.0, 6.0])
    assert (name, seeds, minutes, paper) == ("A", "3 of 4", "3.0", "70.1")
    assert spread == f"{done.mean():.{digits}f} ± {done.std(ddof=1):.{digits}f}"
    assert each == f"{done[0]:.{digits}f} {done[1]:.{digits}f} – {done[2]:.{digits}f}"


def test_one_seed_has_no_deviation_and_none_has_no_mean() -> None:
    assert cells("bleu", [31.456], [2.0])[1:5] == ["1", "31.46", "31.46", "2.0"]
    assert cells("bleu", [None], [])[1:5] == ["0 of 1", "–", "–", "–"]


def test_of_many_seeds_the_least_and_the_most_are_told() -> None:
    values: list[float | None] = [float(number) for number in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5)]
    assert cells("bleu", values, [1.0])[3] == "1.00 … 9.00"


def test_the_terminal_has_the_same_numbers() -> None:
    told = result_tables.text("t", grid("exact_match"), [Line(ROW, SHARES, [1.0, 2.0, 6.0], "nrefs:1|tok:13a")])
    assert "exact %, mean ± sd" in told
    line = "A 3 of 4 72.53 ± 2.41 75.12 70.34 – 72.13 3.0 70.1"
    assert told.splitlines()[3].split() == line.split()
    assert told.endswith("nrefs:1|tok:13a")
