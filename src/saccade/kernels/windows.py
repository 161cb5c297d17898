"""Windows of several scales around places of pictures, zero outside of them: what a retina sees.

Their meaning is `windows_definition`; float32 on the CPU runs in `saccade.kernels.loops.window_loops` and copies no picture.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from saccade.kernels.runtime import kernels_on, run


def windows(
    images: Float[Tensor, "N C H W"], samples: Int[Tensor, " B"], at: Int[Tensor, "B 2"], size: int, scales: int
) -> Tensor:
    """Windows of 1, 2, 4 … times `size` pixels, all scaled to that, around the pixels `at`; `samples`: of which image.

    Shapes: -> (B, scales · C, size, size)
    """
    if images.requires_grad or not kernels_on(images):
        return windows_definition(images, samples, at, size, scales)
    found = images.new_empty(len(samples), scales, images.shape[1], size, size)
    run("windows", *(part.contiguous().numpy() for part in (images, samples, at)), found.numpy())
    return found.flatten(1, 2)


def windows_definition(images: Tensor, samples: Tensor, at: Tensor, size: int, scales: int) -> Tensor:
    """The same in plain torch: the largest windows out of a view of all there are, and the others cut out of these."""
    reach = size << (scales - 1)
    before = reach // 2
    padded = F.pad(images.contiguous(), (before, reach - before) * 2)
    largest = padded.unfold(2, reach, 1).unfold(3, reach, 1)[samples, :, at[:, 0], at[:, 1]]
    found = []
    for scale in range(scales):
        own = size << scale
        first = before - own // 2
        window = largest[:, :, first : first + own, first : first + own]
        found.append(F.avg_pool2d(window.contiguous(), 1 << scale) if scale else window)
    return torch.cat(found, 1)
