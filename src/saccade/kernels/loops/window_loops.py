"""The compiled loop of windows around places of pictures, in Numba; imported at first use by `saccade.kernels.runtime`."""

import numpy as np

from saccade.kernels.loops.jit import copy, kernel, part, share_out

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@part
def _add(source, target):
    """target += source."""
    for d in range(target.size):
        target[d] += source[d]


@part
def _join(row, step, share, out):
    """Each `step` neighbors of the row, added up."""
    if step == 1:
        copy(row, out)
        return
    for d in range(out.size):
        total, near = _ZERO, row[d * step : (d + 1) * step]
        for i in range(near.size):
            total += near[i]
        out[d] = total * share


@part(error_model="numpy")
def _window(image, top, left, step, row, out):
    """The window whose corner is there: rows of the image are added up, `step` at a time, and then so many columns."""
    size, (height, width) = out.shape[0], image.shape
    first, last = max(0, -left), min(row.size, width - left)
    share = _ONE / np.float32(step * step)
    for r in range(size):
        for d in range(row.size):
            row[d] = _ZERO
        for y in range(max(0, top + r * step), min(height, top + (r + 1) * step)):
            if last > first:
                _add(image[y, left + first : left + last], row[first:last])
        _join(row, step, share, out[r])


@part(error_model="numpy")
def _place(n, images, samples, at, out):
    """All windows around one place."""
    scales, channels, size = out.shape[1], out.shape[2], out.shape[3]
    room = np.empty(size << (scales - 1), np.float32)
    for scale in range(scales):
        reach = size << scale
        top, left = at[n, 0] - reach // 2, at[n, 1] - reach // 2
        for channel in range(channels):
            _window(images[samples[n], channel], top, left, 1 << scale, room[:reach], out[n, scale, channel])


@kernel
def windows(team, images, samples, at, out):
    """The windows (B, scales, C, size, size) around the pixels `at` of the images (N, C, H, W) named by `samples`."""
    share_out(_place, samples.size, team, (images, samples, at, out))
