"""The compiled loops of what a network does between its two maps, in Numba: ReLU, GELU in both forms, and swish.

erf is Abramowitz and Stegun's 7.1.26, wrong by 1.5e-7 at most.
"""

import math

import numpy as np

from saccade.kernels.loops.additive_loops import _ZERO
from saccade.kernels.loops.cell_loops import _EXACT
from saccade.kernels.loops.jit import part
from saccade.kernels.loops.softmax_loops import _HALF, _ONE, exponential

NONE, RELU, GELU, GELU_TANH, SWISH = range(5)
_A1, _A2, _A3, _A4, _A5 = (np.float32(c) for c in (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429))
_P, _ROOT_HALF = np.float32(0.3275911), np.float32(math.sqrt(0.5))
_TWICE, _CUBIC = np.float32(2 * math.sqrt(2 / math.pi)), np.float32(0.044715)


@part(fastmath=_EXACT, error_model="numpy")
def _gelu_tanh(row):
    """x times the half of 1 + tanh u, which is the logistic function of 2u."""
    for j in range(row.size):
        x = row[j]
        row[j] = x / (_ONE + exponential(-_TWICE * (x + _CUBIC * x * x * x)))


@part(fastmath=_EXACT, error_model="numpy")
def _gelu(row):
    for j in range(row.size):
        x = row[j]
        z = abs(x) * _ROOT_HALF
        t = _ONE / (_ONE + _P * z)
        tail = ((((_A5 * t + _A4) * t + _A3) * t + _A2) * t + _A1) * t * exponential(-z * z)
        row[j] = _HALF * x * (tail if x < _ZERO else _ONE + (_ONE - tail))


@part(fastmath=_EXACT, error_model="numpy")
def _swish(row):
    for j in range(row.size):
        row[j] = row[j] / (_ONE + exponential(-row[j]))


@part
def activate(row, activation):
    """In place; ReLU is a floor of the product itself."""
    if activation == GELU:
        _gelu(row)
    elif activation == GELU_TANH:
        _gelu_tanh(row)
    elif activation == SWISH:
        _swish(row)
