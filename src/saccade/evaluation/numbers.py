"""How good predicted numbers are."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def number_scores(truth: Floats, said: Floats, digits: int) -> dict[str, float]:
    """Of N numbers: the share that is right when rounded to so many digits after the point, and the mean absolute error."""
    return {
        "examples": len(truth),
        "exact_match": float((said.round(digits) == truth.round(digits)).mean()),
        "mae": float(np.abs(said - truth).mean()),
    }
