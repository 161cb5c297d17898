"""Attention through all layers, from every place of the last to every place of the input (Abnar & Zuidema 2020).

Rollout multiplies the layers; flow takes their weights for capacities of a network. Both mix each layer with what passes
it by, A/2 + I/2, over the mean of its heads.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UsageError
from saccade.kernels.layer_flows import layer_flows

Weights = NDArray[np.float32]
Floats = NDArray[np.float64]
MOST_WORK = 12 * 64**4  # layers · places⁴ of a flow: some seconds


def rollout(layers: Sequence[Weights]) -> Weights:
    """(1, N, N) from the weights (heads, N, N) of layers in order: heads averaged, half of each layer passing by."""
    total = np.eye(layers[0].shape[-1])
    for weights in layers:
        total = mixed(weights) @ total
    return total[None].astype(np.float32)


def flow(layers: Sequence[Weights]) -> Weights:
    """(1, N, N) from the weights (heads, N, N) of layers in order: the maximum flow to each place of the input, where an
    edge holds as much as its weight, half of each layer passing by; as in the authors' code, divided by the row's sum."""
    places, count = layers[0].shape[-1], len(layers)
    if count * places**4 > MOST_WORK:
        most = int((MOST_WORK / count) ** 0.25)
        raise UsageError(f"flow: expected at most {most} tokens through {count} layers, got {places}; shorten the text")
    flows = layer_flows(np.stack([mixed(weights) for weights in layers]))
    shares: Weights = (flows / flows.sum(-1, keepdims=True))[None].astype(np.float32)
    return shares


def mixed(weights: Weights) -> Floats:
    """(N, N): the mean of the heads, half of it, and half of each place's own, with rows that sum to one."""
    half = (weights.mean(0, dtype=np.float64) + np.eye(weights.shape[-1])) / 2
    return np.asarray(half / half.sum(-1, keepdims=True))


METHODS: dict[str, Callable[[Sequence[Weights]], Weights]] = {"rollout": rollout, "flow": flow}
