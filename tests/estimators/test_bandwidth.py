"""The bandwidth that is searched or learned is the best one of its kind."""

import numpy as np
import pytest
import torch
from torch import Tensor

from saccade.estimators import NadarayaWatsonRegressor
from saccade.estimators.bandwidth import LeaveOneOut, learn, search


def _data(points: int, features: int = 1) -> tuple[Tensor, Tensor]:
    x = 5 * torch.rand(points, features, dtype=torch.float64)
    return x, (2 * x[:, :1]).sin() + 0.3 * torch.randn(points, 1, dtype=torch.float64)


def _grid_best(x: Tensor, y: Tensor, kernel: str) -> tuple[float, float]:
    error = LeaveOneOut(x, y, kernel)
    grid = np.geomspace(0.02, 5, 400)
    errors = [error(float(width)).item() for width in grid]
    return float(grid[int(np.argmin(errors))]), min(errors)


def test_error_is_leave_one_out() -> None:
    x, y = _data(40)
    total = 0.0
    for left in range(40):
        rest = np.arange(40) != left
        fitted = NadarayaWatsonRegressor(bandwidth=0.4).fit(x.numpy()[rest], y.numpy()[rest, 0])
        total += (fitted.predict(x.numpy()[left : left + 1])[0] - y[left, 0].item()) ** 2
    expected = total / 40 / y.numpy().var()
    assert LeaveOneOut(x, y, "gaussian")(0.4).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_searched_and_learned_are_the_best(kernel: str) -> None:
    x, y = _data(300)
    best, least = _grid_best(x, y, kernel)
    assert search(x, y, kernel) == pytest.approx(best, rel=0.02)
    learned = learn(x, y, kernel, per_feature=False)
    assert LeaveOneOut(x, y, kernel)(learned).item() <= 1.001 * least


def test_searched_boxcar_is_as_good_as_the_best() -> None:
    """Its error has steps: bandwidths far apart may be equally good."""
    x, y = _data(300)
    _, least = _grid_best(x, y, "boxcar")
    assert LeaveOneOut(x, y, "boxcar")(search(x, y, "boxcar")).item() <= 1.02 * least


def test_a_feature_that_says_nothing_is_smoothed_away() -> None:
    x, y = _data(400, features=2)
    widths = learn(x, y, "gaussian", per_feature=True)
    assert widths[1] > 4 * widths[0]


@pytest.mark.parametrize(("bandwidth", "count"), [(0.3, 0), ("loo", 1), ("learned", 1), ("learned per feature", 2)])
def test_numbers_chosen_by_the_data_are_counted(bandwidth: float | str, count: int) -> None:
    x, y = _data(60, features=2)
    assert NadarayaWatsonRegressor(bandwidth=bandwidth).fit(x.numpy(), y.numpy()[:, 0]).parameter_count_ == count


def test_of_many_points_some_are_left_out_in_turn() -> None:
    x, y = _data(30_000)
    error = LeaveOneOut(x, y, "gaussian")
    assert error.left_out == 3333
    assert error(0.1).item() == pytest.approx(LeaveOneOut(x[:9000], y[:9000], "gaussian")(0.1).item(), rel=0.1)
