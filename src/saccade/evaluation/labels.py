"""How good predicted labels are: accuracy, F1, area under the ROC curve, confusion, calibration (Naeini et al. 2015)."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = 10  # of confidence, for the calibration error
# What `label_scores` may give.
LABEL_SCORES = ("accuracy", "macro_f1", "auc", "loss", "calibration_error")
TINY = 1e-12  # the least probability whose logarithm counts


def label_scores(truth: Integers, probabilities: Floats) -> dict[str, float]:
    """All scores of N examples with probabilities (N, labels); `auc` is there where every label occurs, and misses."""
    predicted = probabilities.argmax(1)
    scores = {
        "examples": len(truth),
        "accuracy": float((predicted == truth).mean()),
        "macro_f1": macro_f1(confusion(truth, predicted, probabilities.shape[1])),
        "loss": float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], TINY)).mean()),
        "calibration_error": calibration_error(truth, probabilities),
    }
    area = mean_auc(truth, probabilities)
    return scores if area is None else {**scores, "auc": area}


def confusion(truth: Integers, chosen: Integers, labels: int) -> Integers:
    """How often label i was taken for label j, (labels, labels)."""
    return np.bincount(truth * labels + chosen, minlength=labels * labels).reshape(labels, labels)


def macro_f1(counts: Integers) -> float:
    """The mean over labels of 2·right / (said + there); a label that neither occurs nor is said does not count."""
    right, both = counts.diagonal(), counts.sum(0) + counts.sum(1)
    seen = both > 0
    return float((2 * right[seen] / both[seen]).mean()) if seen.any() else 0.0


def auc(positive: NDArray[np.bool_], score: Floats) -> float:
    """The probability that a positive scores above a negative, equal scores counting half (Mann–Whitney)."""
    _, which, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[which]  # equal scores share the mean of their ranks
    there, absent = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - there * (there + 1) / 2) / (there * absent))


def mean_auc(truth: Integers, probabilities: Floats) -> float | None:
    """Of two labels the second's; of more the mean of each against the rest. None where a label is always or never there."""
    labels = range(1, 2) if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    there = [truth == label for label in labels]
    if not there or any(one.all() or not one.any() for one in there):
        return None
    return float(np.mean([auc(one, probabilities[:, label]) for label, one in zip(labels, there, strict=True)]))


def calibration_error(truth: Integers, probabilities: Floats, bins: int = BINS) -> float:
    """How far confidence is from accuracy, on average over bins of like confidence: 0 is best."""
    confidence, right = np.nan_to_num(probabilities.max(1)), probabilities.argmax(1) == truth
    which = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(which, right - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / len(truth))
