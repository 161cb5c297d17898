"""The compiled loop of windows around places of pictures, in Numba; imported at first use by `saccade.kernels.runtime`."""

import numpy as np

from saccade.kernels.loops.jit import copy, kernel, part, share_out

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
PLACES = 32  # of a task


@part
def _add(source, target):
    """target += source."""
    for d in range(target.size):
        target[d] += source[d]


@part
def _fill(target):
    for d in range(target.size):
        target[d] = _ZERO


@part
def _join(row, step, share, out):
    """Each `step` neighbors of the row, added up."""
    for d in range(out.size):
        total, near = _ZERO, row[d * step : (d + 1) * step]
        for i in range(near.size):
            total += near[i]
        out[d] = total * share


@part(error_model="numpy")
def _window(image, top, left, out):
    """The window whose corner is there, pixel by pixel."""
    size, (height, width) = out.shape[0], image.shape
    first, last = max(0, -left), min(size, width - left)
    for r in range(size):
        if first > 0 or last < size or top + r < 0 or top + r >= height:
            _fill(out[r])
        if last > first and 0 <= top + r < height:
            copy(image[top + r, left + first : left + last], out[r, first:last])


@part(error_model="numpy")
def _coarse(image, top, left, step, row, out):
    """The same of a window `step` times as wide: rows of the image are added up, `step` at a time, and then columns."""
    height, width = image.shape
    first, last = max(0, -left), min(row.size, width - left)
    share = _ONE / np.float32(step * step)
    for r in range(out.shape[0]):
        _fill(row)
        for y in range(max(0, top + r * step), min(height, top + (r + 1) * step)):
            if last > first:
                _add(image[y, left + first : left + last], row[first:last])
        _join(row, step, share, out[r])


@part(error_model="numpy")
def _places(task, images, samples, at, out):
    """All windows around some places, which share one room for a row."""
    scales, channels, size = out.shape[1], out.shape[2], out.shape[3]
    room = np.empty(size << (scales - 1), np.float32)
    for n in range(task * PLACES, min(task * PLACES + PLACES, samples.size)):
        for channel in range(channels):
            image = images[samples[n], channel]
            _window(image, at[n, 0] - size // 2, at[n, 1] - size // 2, out[n, 0, channel])
            for scale in range(1, scales):
                reach = size << scale
                top, left = at[n, 0] - reach // 2, at[n, 1] - reach // 2
                _coarse(image, top, left, 1 << scale, room[:reach], out[n, scale, channel])


@kernel
def windows(team, images, samples, at, out):
    """The windows (B, scales, C, size, size) around the pixels `at` of the images (N, C, H, W) named by `samples`."""
    share_out(_places, (samples.size + PLACES - 1) // PLACES, team, (images, samples, at, out))
