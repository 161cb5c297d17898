"""Pictures of digits and of clothes: MNIST (LeCun et al. 1998) and Fashion-MNIST (Xiao et al. 2017), as arrays."""

import math
import struct
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.data import known
from saccade.errors import DataError

Part = Literal["train", "test"]
PREFIX = {"train": "train", "test": "t10k"}
UNSIGNED = 8  # the code of bytes in an idx file


def pictures(name: str, part: Part) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All pictures of a part, (N, 28, 28), and their classes, (N)."""
    paths = [known.find(name, f"{PREFIX[part]}-{what}.gz") for what in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    images, labels = (idx(known.unzipped(path), path) for path in paths)
    if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(f"{paths[0]}: expected as many pictures as labels, got {images.shape} and {labels.shape}")
    return images, labels.astype(np.int64)


def idx(content: bytes, path: Path) -> NDArray[np.uint8]:
    """The array of an idx file of bytes."""
    try:
        zero, code, dimensions = struct.unpack(">HBB", content[:4])
        shape = struct.unpack(f">{dimensions}I", content[4 : 4 + 4 * dimensions])
    except struct.error:
        raise DataError(f"{path}: expected an idx file, got {len(content)} bytes; take the published file") from None
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
    if zero or code != UNSIGNED or math.prod(shape) != len(values):
        raise DataError(f"{path}: expected an idx file of bytes of shape {shape}, got another; take the published file")
    return values.reshape(shape)
