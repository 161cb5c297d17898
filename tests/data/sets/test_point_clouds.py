"""Clouds of points that lie on their solids."""

import numpy as np
import pytest

from saccade.data.draws import Draws
from saccade.data.sets import point_clouds


def test_points_lie_on_their_solids() -> None:
    far = {"sphere": 1.0, "disk": 1.0, "torus": 1.0, "cube": 3**0.5, "octahedron": 1.0}
    for name, shape in point_clouds.SHAPES.items():
        points = shape(500, Draws(1))
        assert points.shape == (500, 3)
        assert np.isfinite(points).all()
        assert np.linalg.norm(points, axis=1).max() <= far.get(name, 3**0.5) + 1e-9, name
    assert np.linalg.norm(point_clouds.sphere(99, Draws(0)), axis=1) == pytest.approx(np.ones(99))
    assert np.abs(point_clouds.SHAPES["octahedron"](99, Draws(0))).sum(1) == pytest.approx(np.ones(99))
    assert np.abs(point_clouds.SHAPES["cube"](99, Draws(0))).max(1) == pytest.approx(np.ones(99))
    cone = point_clouds.cone(2000, Draws(0))
    base = cone[:, 2] == -1
    assert base.mean() == pytest.approx(1 / (1 + 5**0.5), abs=0.03)
    assert np.hypot(cone[~base, 0], cone[~base, 1]) == pytest.approx((1 - cone[~base, 2]) / 2)


def test_clouds_are_made_again() -> None:
    config = point_clouds.Config(points=20, train_size=30, valid_size=10, test_size=10)
    splits = point_clouds.load(config)
    assert splits.fingerprint() == point_clouds.load(config).fingerprint()
    assert {bag.target for bag in splits.train} == set(point_clouds.SHAPES)
    assert len(point_clouds.SHAPES) >= 8
    assert not np.array_equal(splits.train[0].input.items, splits.test[0].input.items)
