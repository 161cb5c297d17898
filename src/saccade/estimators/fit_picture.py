"""The lecture's figure of a fitted Nadaraya–Watson estimator: data, curve, and the weights behind every point of it."""

from os import PathLike
from pathlib import Path

import numpy as np

from saccade.errors import ShapeError
from saccade.estimators.kernel_estimators import NadarayaWatsonRegressor
from saccade.view.charts.kernel_regression import kernel_regression

QUERIES = 61


def picture(estimator: NadarayaWatsonRegressor, path: str | PathLike[str], queries: int = QUERIES) -> None:
    """Write data, curve and weights of a regression of one target on one feature to an SVG file."""
    x, y = estimator.training_points()
    if x.shape[1] != 1 or y.ndim != 1:
        outputs = 1 if y.ndim == 1 else y.shape[1]
        raise ShapeError(f"a picture needs one feature and one output, got {x.shape[1]} and {outputs}; fit on one of each")
    grid = np.linspace(x.min(), x.max(), queries)[:, None]
    drawn = kernel_regression(x[:, 0], y, grid[:, 0], estimator.predict(grid), estimator.weights(grid))
    Path(path).write_text(drawn, encoding="utf-8")
