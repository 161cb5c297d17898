"""Panels for the tests: two runs, one of them with a skipped step and a hole."""

import numpy as np

from saccade.view.charts.panels import Curve, Panel, Panels

X = np.array([1.0, 2.0, 3.0, 4.0])


def two_runs(*, log: bool = False) -> Panels:
    """A panel of training and validation, and one of validation alone."""
    loss = Panel(
        "loss",
        [
            Curve(0, X, np.array([8.0, 4.0, 2.0, 1.0]), raw=np.array([9.0, 3.0, 2.5, 0.5])),
            Curve(0, X[1::2], np.array([5.0, 1.5]), dotted=True),
            Curve(1, X, np.array([8.0, np.nan, 4.0, 3.0])),
        ],
        [(1, 2.0)],
        log,
    )
    right = Panel("exact match (%)", [Curve(0, X[1::2], np.array([50.0, 75.0]), dotted=True)])
    return Panels("2 runs", ["runs/a", "runs/<b>"], [loss, right], "steps")
