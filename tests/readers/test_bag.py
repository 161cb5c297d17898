"""The scale of instances: mean 0 and deviation 1, and as far from 0 as it may be."""

import json
from pathlib import Path

import numpy as np
import pytest
from saccade.tasks.instances import FILE, Scale

from saccade.data.examples import Bag, Columns, Splits
from saccade.errors import DataError

ROWS = np.array([[0, 5, 1], [0, 5, 2], [0, 5, 3], [0, 5, 90]], dtype=np.float32)
BAGS = [Bag(ROWS[:1], "a"), Bag(ROWS[1:], "b")]


def test_features_are_scaled_each_by_itself() -> None:
    scaled = Scale.of(BAGS)(ROWS)
    assert scaled.dtype == np.float32
    assert np.array_equal(scaled[:, :2], np.zeros((4, 2)))  # a feature that never changes says nothing
    assert scaled[:, 2].mean() == pytest.approx(0, abs=1e-6)
    assert scaled[:, 2].std() == pytest.approx(1, abs=1e-6)


def test_a_rare_large_value_is_brought_back() -> None:
    scaled, tamed = Scale.of(BAGS)(ROWS), Scale.of(BAGS, 1.5)(ROWS)
    assert scaled[3, 2] > 1.7
    assert tamed[3, 2] == 1.5
    assert np.array_equal(tamed[:3], scaled[:3])


def test_it_is_kept_with_the_run_and_older_ones_are_read(tmp_path: Path) -> None:
    scale = Scale.of(BAGS, 1.5)
    scale.save(tmp_path)
    assert Scale.load(tmp_path) == scale
    told = json.loads((tmp_path / FILE).read_text())
    del told["farthest"], told["names"]
    (tmp_path / FILE).write_text(json.dumps(told))
    assert Scale.load(tmp_path) == Scale.of(BAGS)


def table(*names: str) -> Bag:
    """A bag of one instance, whose numbers are those of its features' names."""
    return Bag(np.array([[float(name[-1]) for name in names]], dtype=np.float32), "a", columns=Columns(names, "new.csv"))


def test_features_come_in_the_order_that_was_learned(tmp_path: Path) -> None:
    Scale.of([table("f1", "f2", "f3")]).save(tmp_path)
    scale = Scale.load(tmp_path)
    assert scale.names == ("f1", "f2", "f3")
    assert scale.fitting(table("f3", "f1", "f2")).items.tolist() == [[1, 2, 3]]
    twice = Scale.of([table("b1", "a2", "a2")])
    own = Bag(np.array([[7, 1, 8]], dtype=np.float32), "a", columns=Columns(("a2", "b1", "a2"), "new.csv"))
    assert twice.fitting(own).items.tolist() == [[1, 7, 8]]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("f1", "f2", "x4"), r"new\.csv: expected the features .* \(f1, f2, f3\); missing: f3; unknown: x4; rename"),
        (("f1", "f2"), r"new\.csv: .*; missing: f3; add them"),
        (("f1", "f2", "f3", "f3", "x4"), r"new\.csv: .*; unknown: f3, x4; leave them out"),
        (tuple(f"x{place}" for place in range(8)), r"unknown: x0, x1, x2, x3, x4 and 3 more; "),
    ],
)
def test_other_features_are_refused(names: tuple[str, ...], words: str) -> None:
    scale = Scale.of([table("f1", "f2", "f3")])
    with pytest.raises(DataError, match=words):
        scale.fitting(table(*names))
    for splits in (Splits([], [table(*names)], []), Splits([], [], [table(*names)])):
        with pytest.raises(DataError, match=words):
            scale.check(splits)


def test_where_names_are_not_known_only_the_number_counts() -> None:
    scale = Scale.of(BAGS)
    assert scale.fitting(table("x3", "x1", "x2")).items.tolist() == [[3, 1, 2]]
    with pytest.raises(DataError, match=r"new\.csv: expected items of shape \(3,\).*got items of shape \(2,\)"):
        scale.fitting(table("x1", "x2"))
