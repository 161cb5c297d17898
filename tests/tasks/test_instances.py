"""The scale of instances: mean 0 and deviation 1, and as far from 0 as it may be."""

import json
from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import Bag
from saccade.tasks.instances import FILE, Scale

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
    del told["farthest"]
    (tmp_path / FILE).write_text(json.dumps(told))
    assert Scale.load(tmp_path) == Scale.of(BAGS)
