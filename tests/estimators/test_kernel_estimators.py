"""The estimators are scikit-learn's in manner, statsmodels' in numbers, and keep the laws of a weighted mean."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from statsmodels.nonparametric.kernel_regression import KernelReg

from saccade.errors import ShapeError, UnknownName
from saccade.estimators import NadarayaWatsonClassifier, NadarayaWatsonRegressor, picture

Floats = NDArray[np.float64]
KERNELS = ("gaussian", "boxcar", "epanechnikov", "constant")


def _data(points: int, features: int = 1, seed: int = 0) -> tuple[Floats, Floats]:
    dice = np.random.default_rng(seed)
    x = dice.uniform(0, 5, (points, features))
    return x, np.sin(2 * x).sum(1) + 0.3 * dice.normal(size=points)


@pytest.mark.parametrize("kind", [NadarayaWatsonRegressor, NadarayaWatsonClassifier])
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_estimator_of_scikit_learn(kind: type, kernel: str) -> None:
    # The constant kernel predicts no better than the mean, which one of the checks would not have.
    excused = {"check_regressors_train": "the mean", "check_classifiers_train": "the mean"} if kernel == "constant" else {}
    excused |= {"check_classifiers_classes": "the mean"} if excused else {}
    check_estimator(kind(kernel=kernel), expected_failed_checks=excused, on_skip=None, on_fail="raise")


@pytest.mark.parametrize("bandwidth", ["learned", "learned per feature"])
@pytest.mark.parametrize("kind", [NadarayaWatsonRegressor, NadarayaWatsonClassifier])
def test_an_estimator_of_scikit_learn_that_learns(kind: type, bandwidth: str) -> None:
    check_estimator(kind(bandwidth=bandwidth), on_skip=None, on_fail="raise")


@pytest.mark.parametrize(("features", "bandwidth"), [(1, 0.2), (3, 0.4), (2, [0.2, 0.9])])
def test_equals_statsmodels(features: int, bandwidth: float | list[float]) -> None:
    (x, y), (query, _) = _data(400, features), _data(50, features, seed=1)
    x, query = x + 100, query + 100  # far from the origin digits are lost, unless data are centered
    widths = np.broadcast_to(bandwidth, features)
    expected, _ = KernelReg(y, x, var_type="c" * features, reg_type="lc", bw=widths, rng=0).fit(query)
    found = NadarayaWatsonRegressor(bandwidth=bandwidth).fit(x, y).predict(query)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-10, rtol=0)


def test_gaussian_is_softmax_of_distances() -> None:
    (x, y), (query, _) = _data(80), _data(20, seed=1)
    scores = -((query - x.T) ** 2) / (2 * 0.3**2)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    fitted = NadarayaWatsonRegressor(bandwidth=0.3).fit(x, y)
    np.testing.assert_allclose(fitted.predict(query), weights @ y, atol=1e-12, rtol=0)
    np.testing.assert_allclose(fitted.weights(query), weights, atol=1e-12, rtol=0)
    np.testing.assert_allclose(fitted.kernel_matrix(query), np.exp(scores), atol=1e-12, rtol=0)


def test_bounded_kernels_are_their_formulas() -> None:
    (x, y), (query, _) = _data(300), _data(20, seed=1)
    u = np.abs(query - x.T) / 0.4
    for kernel, expected in (("boxcar", (u <= 1).astype(float)), ("epanechnikov", np.maximum(0, 1 - u * u))):
        fitted = NadarayaWatsonRegressor(kernel=kernel, bandwidth=0.4).fit(x, y)
        np.testing.assert_allclose(fitted.kernel_matrix(query), expected, atol=1e-12)
        np.testing.assert_allclose(fitted.predict(query), expected @ y / expected.sum(1), atol=1e-12)


def test_neighbors_at_the_edge_of_a_boxcar_count() -> None:
    x = np.arange(100_000, 100_010.0)[:, None]
    found = NadarayaWatsonRegressor(kernel="boxcar", bandwidth=1).fit(x, x[:, 0] ** 2).predict(x[1:-1])
    np.testing.assert_allclose(found, x[1:-1, 0] ** 2 + 2 / 3, rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laws_of_a_weighted_mean(kernel: str, dtype: type[np.floating[Any]]) -> None:
    x, y = (part.astype(dtype) for part in _data(200, 2))
    query = np.concatenate([_data(30, 2, seed=1)[0], [[1e30, -1e30], [40.0, 3.0]]]).astype(dtype)
    fitted = NadarayaWatsonRegressor(kernel=kernel, bandwidth=0.3).fit(x, y)
    found, order = fitted.predict(query), np.random.default_rng(2).permutation(len(x))
    assert found.dtype == dtype
    assert np.isfinite(found).all()
    assert (found >= y.min()).all()
    assert (found <= y.max()).all()
    near = np.ptp(y) * (1e-4 if dtype is np.float32 else 1e-10)
    np.testing.assert_allclose(clone(fitted).fit(x[order], y[order]).predict(query), found, atol=near)
    np.testing.assert_allclose(fitted.weights(query).sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(fitted.weights(query) @ y, found, atol=near)
    constant = clone(fitted).fit(x, np.full(len(x), 0.1)).predict(query)
    np.testing.assert_array_equal(constant, np.full(len(query), 0.1, dtype))


@pytest.mark.parametrize("kernel", ["gaussian", "boxcar", "epanechnikov"])
@pytest.mark.parametrize("place", [-1e6, 6.0, 1e12, 1e300])
def test_far_from_all_data_the_nearest_answers(kernel: str, place: float) -> None:
    x, y = _data(100)
    fitted = NadarayaWatsonRegressor(kernel=kernel, bandwidth=0.01).fit(x, y)
    nearest = y[np.abs(x[:, 0] - np.clip(place, 0, 5)).argmin()]
    np.testing.assert_allclose(fitted.predict([[place]]), [nearest], atol=1e-6)


def test_extreme_bandwidths() -> None:
    (x, y), (query, _) = _data(100, 2), _data(40, 2, seed=1)
    nearest = ((query[:, None] - x[None]) ** 2).sum(-1).argmin(1)
    np.testing.assert_allclose(NadarayaWatsonRegressor(bandwidth=1e-4).fit(x, y).predict(query), y[nearest], atol=1e-9)
    np.testing.assert_allclose(NadarayaWatsonRegressor(bandwidth=1e6).fit(x, y).predict(query), y.mean(), atol=1e-9)
    np.testing.assert_allclose(NadarayaWatsonRegressor(kernel="constant").fit(x, y).predict(query), y.mean(), atol=1e-9)


def test_float32_keeps_the_digits_of_the_spread() -> None:
    """A large mean of the target, and features far from the origin, cost next to nothing."""
    (x, y), (query, _) = _data(3000, 2), _data(200, 2, seed=1)
    exact = NadarayaWatsonRegressor(bandwidth=0.3).fit(x, y).predict(query)
    found = NadarayaWatsonRegressor(bandwidth=0.3).fit((x - 2.5).astype(np.float32), y + 1000).predict(query - 2.5)
    assert np.abs(found - 1000 - exact).max() < 1e-4 * y.std()


def test_several_outputs_are_each_alone() -> None:
    (x, y), (query, _) = _data(100), _data(10, seed=1)
    both = NadarayaWatsonRegressor(bandwidth=0.3).fit(x, np.stack([y, -3 * y], 1)).predict(query)
    one = NadarayaWatsonRegressor(bandwidth=0.3).fit(x, y).predict(query)
    np.testing.assert_allclose(both, np.stack([one, -3 * one], 1), atol=1e-12)


def test_classes_are_told_by_their_neighbors() -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    names = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    fitted = NadarayaWatsonClassifier(bandwidth=0.3).fit(x, names)
    shares = fitted.predict_proba(x)
    np.testing.assert_allclose(shares[:, 1], fitted.weights(x) @ (names == "same"), atol=1e-12)
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-12)
    assert fitted.score(x, names) > 0.9


def test_in_a_pipeline_and_a_search() -> None:
    x, y = _data(200)
    pipeline = make_pipeline(StandardScaler(), NadarayaWatsonRegressor(bandwidth=1.0))
    grid = {"nadarayawatsonregressor__bandwidth": [0.01, 0.1, 10.0]}
    found = GridSearchCV(pipeline, grid).fit(x, y)
    assert found.best_params_ == {"nadarayawatsonregressor__bandwidth": 0.1}


def test_error_falls_as_theory_says() -> None:
    """With h ~ n^(-1/5) the mean squared error falls as n^(-4/5)."""
    query = np.linspace(1, 4, 200)[:, None]
    counts, errors = [1000, 4000, 16_000], []
    for count in counts:
        trials = []
        for seed in range(40):
            x, y = _data(count, seed=seed)
            fitted = NadarayaWatsonRegressor(bandwidth=0.6 * count**-0.2).fit(x, y)
            trials.append(np.mean((fitted.predict(query) - np.sin(2 * query[:, 0])) ** 2))
        errors.append(np.mean(trials))
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -0.9 <= slope <= -0.7


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"kernel": "gausian"}, UnknownName, "unknown kernel 'gausian'; did you mean 'gaussian'?"),
        ({"bandwidth": "lo"}, UnknownName, "unknown bandwidth 'lo'; did you mean 'loo'?"),
        ({"bandwidth": -1}, ShapeError, "bandwidth must be a number greater than 0, or 2 of them"),
        ({"bandwidth": [1, 2, 3]}, ShapeError, "got [1, 2, 3]"),
        ({"kernel": "boxcar", "bandwidth": "learned"}, ShapeError, "use bandwidth='loo'"),
    ],
)
def test_mistakes_are_told_in_one_line(change: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        NadarayaWatsonRegressor(**change).fit(*_data(20, 2))  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_scikit_learn_the_fix_is_named() -> None:
    code = "import sys; sys.modules['sklearn'] = None\ntry: import saccade.estimators\nexcept ImportError as e: print(e)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "saccade.estimators needs scikit-learn, which is not installed; pip install 'saccade[sklearn]'\n"


def test_picture(tmp_path: Path) -> None:
    x, y = _data(30)
    picture(NadarayaWatsonRegressor(bandwidth=0.3).fit(x, y), tmp_path / "look.svg")
    assert (tmp_path / "look.svg").read_text().startswith("<svg")
    with pytest.raises(ShapeError, match="one feature and one output, got 2 and 1"):
        picture(NadarayaWatsonRegressor(bandwidth=0.3).fit(*_data(30, 2)), tmp_path / "no.svg")
