"""What moved the output, from its gradient: gradient × input, and integrated gradients (Sundararajan et al. 2017).

And attention rollout, which follows attention through the layers (Abnar & Zuidema 2020). None of them is attention.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Output = Callable[[Tensor], Tensor]


def rollout(layers: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """(1, N, N) from the weights (heads, N, N) of layers in order: heads averaged, half of each layer passing by."""
    total = np.eye(layers[0].shape[-1])
    for weights in layers:
        mixed = (weights.mean(0, dtype=np.float64) + np.eye(weights.shape[-1])) / 2
        total = mixed / mixed.sum(-1, keepdims=True) @ total
    return total[None].astype(np.float32)


def gradient_x_input(output: Output, inputs: Tensor) -> Tensor:
    """The gradient of a number that is computed from inputs, times the inputs."""
    return _gradient(output, inputs) * inputs


def integrated_gradients(output: Output, inputs: Tensor, baseline: Tensor | None = None, steps: int = 32) -> Tensor:
    """The mean gradient on the straight way from the baseline (zeros), times the way; sums to what the output changes by.

    The mean is Gauss and Legendre's: few steps are enough for a smooth way.
    """
    baseline = torch.zeros_like(inputs) if baseline is None else baseline
    nodes, shares = np.polynomial.legendre.leggauss(steps)
    total = torch.zeros_like(inputs)
    for node, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        total += float(share) * _gradient(output, baseline + float(node) * (inputs - baseline))
    return total * (inputs - baseline)


def _gradient(output: Output, inputs: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = inputs.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(output(leaf), leaf)
    return gradient


METHODS: dict[str, Callable[[Output, Tensor], Tensor]] = {
    "gradient × input": gradient_x_input,
    "integrated gradients": integrated_gradients,
}
