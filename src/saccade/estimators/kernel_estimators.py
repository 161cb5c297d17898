"""Nadaraya–Watson regression and classification (Nadaraya 1964, Watson 1964) as estimators of scikit-learn.

Reads: rows of numbers. Attends: each query to all training points, near ones more. Writes: the mean of their targets under
these weights. No query × point matrix is ever held, unless somebody asks to see the weights.
"""

from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from saccade.errors import ShapeError, UnknownName
from saccade.estimators.bandwidth import learn, search
from saccade.estimators.smoothing import kernel_matrix, look, smooth, smoother, within_sight

Array = NDArray[Any]
WORDS = ("loo", "learned", "learned per feature")
DTYPES = (np.float64, np.float32)


class _NadarayaWatson(BaseEstimator):
    """What the regressor and the classifier share: points, bandwidth, weights.

    `kernel` is gaussian, boxcar, epanechnikov or constant (the mean of all). `bandwidth` is a number or one for each
    feature, in the units of X; "loo", the number of least leave-one-out error; "learned" or "learned per feature", by
    gradient on that error. A query with nobody in reach of a boxcar or epanechnikov kernel is answered by the Gaussian of
    the same bandwidth, and far from all data that is the nearest neighbor: no answer is ever NaN.

    After `fit`: `bandwidth_` (None for the constant kernel), `parameter_count_` (numbers that were chosen by the data).
    """

    def __init__(self, kernel: str = "gaussian", bandwidth: float | ArrayLike | str = "loo") -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth

    def kernel_matrix(self, X: ArrayLike) -> Array:
        """The kernel between each row of X and each training point, not normalized."""
        return _array(kernel_matrix(self._queries(X), self._keys(), self.kernel, self._width()))

    def weights(self, X: ArrayLike) -> Array:
        """Where each row of X looks: its weight on every training point. Rows sum to one."""
        return _array(look(self._queries(X), self._keys(), self.kernel, self._width()))

    def _remember(self, X: Array, values: Array) -> None:
        """Keep points about their center, which saves digits, and choose the bandwidth.

        The center is a median, of values that occur: whole numbers stay whole, and a distance of exactly 1 stays 1.
        """
        middle = len(X) // 2
        self._center = np.partition(X, middle, axis=0)[middle]
        self._points, self._values = X - self._center, np.array(values, dtype=X.dtype, order="C")
        self.bandwidth_, self.parameter_count_ = self._chosen()

    def _chosen(self) -> tuple[float | Array | None, int]:
        """The bandwidth, and how many numbers of it the data chose."""
        smoother(self.kernel, 1.0)  # an unknown kernel is told before anything is computed
        key, value = self._keys(), torch.from_numpy(self._values)
        width = self.bandwidth
        if isinstance(width, str) and width not in WORDS:
            raise UnknownName("bandwidth", width, WORDS)
        if self.kernel == "constant":
            return None, 0
        if isinstance(width, str) and width == "loo":
            return search(key, value, self.kernel), 1
        if isinstance(width, str):
            learned = learn(key, value, self.kernel, per_feature=width == "learned per feature").numpy()
            return (learned if width == "learned per feature" else float(learned[0])), len(learned)
        return _checked(width, key.shape[1]), 0

    def _keys(self) -> Tensor:
        return torch.from_numpy(self._points)

    def _width(self) -> float | Tensor:
        """The bandwidth as the operator takes it; the constant kernel has none, and any will do."""
        if self.bandwidth_ is None:
            return 1.0
        if isinstance(self.bandwidth_, float):
            return self.bandwidth_
        return torch.from_numpy(self.bandwidth_).to(self._keys().dtype)

    def _queries(self, X: ArrayLike) -> Tensor:
        check_is_fitted(self)
        queries = validate_data(self, X, reset=False, dtype=DTYPES).astype(self._points.dtype)
        return within_sight(torch.from_numpy(queries - self._center), self._keys(), self._width())

    def _smoothed(self, X: ArrayLike) -> Array:
        """The mean of the values for each row of X. No mean leaves the range of its values, whatever is rounded."""
        queries, values = self._queries(X), torch.from_numpy(self._values)
        means = smooth(queries, self._keys(), values, self.kernel, self._width())
        return _array(means.clamp(values.amin(0), values.amax(0)))


class NadarayaWatsonRegressor(RegressorMixin, _NadarayaWatson):
    """A weighted mean of the targets, near ones more: kernel regression, which is attention.

    >>> NadarayaWatsonRegressor(bandwidth="loo").fit(X, y).predict(X)
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the points, (n, d), and their targets, (n) or (n, outputs), and choose the bandwidth."""
        X, y = validate_data(self, X, y, dtype=DTYPES, multi_output=True, y_numeric=True)
        targets = np.asarray(y)
        self._shape = targets.shape[1:]
        flat = targets.reshape(len(targets), -1)
        self._mean = flat.mean(0, dtype=np.float64)  # a large mean would cost the spread its digits
        self._remember(np.asarray(X), flat - self._mean)
        self._range = flat.min(0), flat.max(0)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The estimate for each row of X."""
        values = self._smoothed(X)
        inside: Array = np.clip(values + self._mean, *self._range).astype(values.dtype)
        return inside.reshape(len(values), *self._shape)

    def training_points(self) -> tuple[Array, Array]:
        """What was fitted to: X and y, as numbers."""
        check_is_fitted(self)
        return self._points + self._center, (self._values + self._mean).reshape(-1, *self._shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class NadarayaWatsonClassifier(ClassifierMixin, _NadarayaWatson):
    """The weight of each class among the points that a query looks at."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the points, (n, d), and their classes, (n), and choose the bandwidth."""
        X, y = validate_data(self, X, y, dtype=DTYPES)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        self._remember(np.asarray(X), np.eye(len(self.classes_))[index])
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """The share of each class of `classes_`; rows sum to one."""
        sums = self._smoothed(X)
        shares: Array = sums / sums.sum(1, keepdims=True)
        return shares

    def predict(self, X: ArrayLike) -> Array:
        """The class of the largest share."""
        best = self.predict_proba(X).argmax(1)
        labels: Array = self.classes_[best]
        return labels


def _checked(bandwidth: float | ArrayLike, features: int) -> float | Array:
    """A positive number, or as many as there are features."""
    widths = np.asarray(bandwidth, dtype=np.float64)
    if widths.shape not in ((), (features,)) or not (np.isfinite(widths) & (widths > 0)).all():
        wanted = f"a number greater than 0, or {features} of them, one for each feature, or one of {', '.join(WORDS)}"
        raise ShapeError(f"bandwidth must be {wanted}, got {bandwidth!r}")
    return float(widths) if widths.shape == () else widths


def _array(tensor: Tensor) -> Array:
    array: Array = tensor.numpy()
    return array
