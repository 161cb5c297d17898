"""CPU kernels written in Python: each a torch operator with its backward, beside the plain torch form that defines it."""

from saccade.kernels.additive import additive_scores
from saccade.kernels.additive_pooling import additive_pool, pooling_on
from saccade.kernels.runtime import kernels_on

__all__ = ["additive_pool", "additive_scores", "kernels_on", "pooling_on"]
