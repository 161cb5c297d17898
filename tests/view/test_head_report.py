"""A report of heads sorts by any column, prints, and is saved as numbers and as a picture."""

import csv
import json
from pathlib import Path

import pytest

from saccade.errors import UnknownName, UsageError
from saccade.view import Shown

from .traces import caption, glimpses, layered, plain, trace


def test_it_sorts_by_any_column() -> None:
    report = Shown(trace(layered())).heads()
    assert [(row["layer"], row["head"]) for row in report.table()] == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    for measure in ("previous", "same", "next", "first", "separator", "entropy", "distance"):
        values = [row[measure] for row in report.sorted(measure).table()]
        assert values == sorted(values, reverse=True)
        assert [row[measure] for row in report.sorted(measure, ascending=True).table()] == sorted(values)
    best = report.sorted("previous").table()[0]
    assert (best["look"], best["layer"], best["head"], best["previous"]) == ("self-attention, layer 2", 2, 1, 1.0)
    with pytest.raises(UnknownName, match="unknown measure 'previos'; did you mean 'previous'"):
        report.sorted("previos")


def test_it_prints_a_table() -> None:
    report = Shown(trace(layered())).heads().sorted("previous")
    lines = str(report).splitlines()
    assert lines[0] == "dates: 6 heads on 1 text, 5 tokens, sorted by previous"
    assert lines[1].split() == ["head", "previous", "same", "next", "first", "separator", "entropy", "distance"]
    assert lines[2].split()[:2] == ["2.1", "1.000"]
    assert len(lines) == 8
    assert max(map(len, lines)) <= 80
    assert report.terminal(2).splitlines()[-1] == "4 more heads"
    assert max(map(len, report.terminal(width=40).splitlines())) <= 40


def test_several_stacks_have_their_names_and_no_separator_no_column() -> None:
    lines = str(Shown(trace(plain())).heads()).splitlines()
    assert lines[1].split() == ["head", "previous", "same", "next", "first", "entropy", "distance", "stack"]
    assert lines[2].split()[:3] == ["1.0", "-", "-"]
    assert [line.split()[-1] for line in lines[2:]] == ["cross", "cross", "self"]


def test_it_is_saved(tmp_path: Path) -> None:
    report = Shown(trace(layered())).heads().sorted("entropy")
    table = json.loads(report.save(tmp_path / "a.json").read_text())
    assert (table["texts"], table["tokens"], table["sorted_by"]) == (1, 5, "entropy")
    assert table["heads"] == report.table()
    rows = list(csv.DictReader(report.save(tmp_path / "a.csv").read_text().splitlines()))
    assert [float(row["entropy"]) for row in rows] == [row["entropy"] for row in report.table()]
    whole, one = report.save(tmp_path / "a.svg").read_text(), report.save(tmp_path / "b.svg", "previous").read_text()
    assert all(f">{name}<" in whole for name in ("previous", "separator", "distance"))
    assert ">previous<" in one
    assert ">distance<" not in one
    assert report.save(tmp_path / "a.png").stat().st_size > 300
    assert "<svg" in report.save(tmp_path / "a.html").read_text()
    assert report._repr_html_().startswith("<img")
    with pytest.raises(UnknownName, match="unknown measure"):
        report.svg("color")
    with pytest.raises(UsageError, match=r"a\.txt: expected a name that ends in"):
        report.save(tmp_path / "a.txt")


def test_a_path_of_glimpses_has_no_heads_and_a_caption_no_order() -> None:
    with pytest.raises(UsageError, match="heads: expected attention as a matrix, got none"):
        Shown(trace(glimpses())).heads()
    assert Shown(trace(caption())).heads().table()[0]["previous"] is None
