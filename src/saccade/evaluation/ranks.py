"""How good a choice or a ranking is: the share of right choices, reciprocal ranks, recall among the first."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def choice_scores(truth: Integers, scores: Sequence[NDArray[np.floating]]) -> dict[str, float]:
    """Of one thing to be chosen from each of several sets: how often its score is the highest, and how often by chance."""
    right = [int(own.argmax()) == place for own, place in zip(scores, truth.tolist(), strict=True)]
    chance = float(np.mean([1 / len(own) for own in scores]))
    return {"examples": len(truth), "accuracy": float(np.mean(right)), "chance": chance}


def rank_of(scores: NDArray[np.floating], place: int) -> float:
    """The rank of one among all, from 1 on; where scores are equal, the mean of their ranks, so that no order helps."""
    above, beside = np.count_nonzero(scores > scores[place]), np.count_nonzero(scores == scores[place])
    return float(above + (beside + 1) / 2)


def rank_scores(ranks: NDArray[np.float64], within: Sequence[int]) -> dict[str, float]:
    """Of the ranks of what was looked for, infinite where it was not there: mean of 1/rank, share among the first."""
    recalls = {f"recall_{count}": float((ranks <= count).mean()) for count in within}
    return {"examples": len(ranks), "mrr": float((1 / ranks).mean()), **recalls}


def chance_scores(examples: int, candidates: int, there: float, within: Sequence[int]) -> dict[str, float]:
    """What is expected of an order by chance, if what is looked for is among the candidates in this share of examples."""
    recalls = {f"recall_{count}": there * min(1.0, count / candidates) for count in within}
    return {"examples": examples, "mrr": there * float((1 / np.arange(1, candidates + 1)).mean()), **recalls}
