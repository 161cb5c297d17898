"""What a frozen published network makes of pictures: computed once, kept in the cache, and given to a system."""

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from saccade import records
from saccade.data.stored.preparations import followed, name_of, prepared, require_room
from saccade.data.tensors import PictureInput
from saccade.errors import DataError
from saccade.layers.backbones import Backbone, Tensors, shape_of

FILE, TENSORS, FEATURES = "backbone.json", "backbone.safetensors", "features.npy"
TOGETHER = 16  # pictures that are read at once
KEPT = 32  # fewer pictures are read anew each time

Pixels = NDArray[np.uint8]
Standardized = Callable[[Pixels], Tensor]


class FeatureColumn:
    """Features of pictures, (pictures, D, rows, columns), and of each example the number of its picture."""

    def __init__(self, features: NDArray[np.float32], rows: NDArray[np.int64]) -> None:
        self.features, self.rows = features, rows
        self.lengths = np.ones(len(rows), dtype=np.int64)

    def batch(self, indices: Any) -> PictureInput:
        """The features of these."""
        return PictureInput(torch.from_numpy(self.features[self.rows[np.asarray(indices, dtype=np.int64)]]))


class FrozenNetwork:
    """A published network with its parameters, and what it makes of pictures."""

    def __init__(self, backbone: Backbone, tensors: Tensors) -> None:
        self.backbone, self.tensors = backbone, tensors
        self.network: nn.Module = backbone.loaded(tensors)
        hashed = hashlib.sha256(repr(sorted(asdict(backbone).items())).encode())
        for name in sorted(tensors):
            hashed.update(name.encode())
            hashed.update(tensors[name].contiguous().numpy().tobytes())
        self.digest = hashed.hexdigest()

    def column(self, pixels: Pixels, rows: NDArray[np.int64], standardized: Standardized) -> FeatureColumn:
        """The features of pictures, of many of them from the cache; `rows`: the picture of each example."""
        shape = (len(pixels), *shape_of(self.backbone, *pixels.shape[1:3]))
        if len(pixels) < KEPT:
            parts = [self._read(pixels[start : start + TOGETHER], standardized) for start in range(0, len(pixels), TOGETHER)]
            return FeatureColumn(np.concatenate([*parts, np.zeros((0, *shape[1:]), np.float32)]), rows)
        facts = (self.digest, hashlib.sha256(pixels.tobytes()).hexdigest(), pixels.shape)
        place = prepared(name_of("features", *facts), partial(self._write, pixels, shape, standardized))
        return FeatureColumn(np.load(place / FEATURES, mmap_mode="r"), rows)

    def _write(self, pixels: Pixels, shape: tuple[int, ...], standardized: Standardized, folder: Path) -> None:
        require_room(4 * int(np.prod(shape)))
        features = np.lib.format.open_memmap(folder / FEATURES, "w+", np.float32, shape)
        for start in followed(range(0, len(pixels), TOGETHER), "reading pictures", len(pixels), lambda _: TOGETHER):
            features[start : start + TOGETHER] = self._read(pixels[start : start + TOGETHER], standardized)
        features.flush()

    def _read(self, pixels: Pixels, standardized: Standardized) -> NDArray[np.float32]:
        with torch.inference_mode():
            found: NDArray[np.float32] = self.network(standardized(pixels)).numpy()
        return found


def save(directory: Path, backbone: Backbone, tensors: Tensors) -> None:
    """Write a network into a run; the parameters of one that is fine-tuned are in its checkpoints."""
    records.save(directory / FILE, asdict(backbone))
    if backbone.frozen:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, directory / TENSORS)


def load(directory: Path) -> tuple[Backbone, Tensors]:
    """Read it again."""
    record = records.load(directory / FILE)
    try:
        pixels = (tuple(record.pop("mean")), tuple(record.pop("deviation")))
        backbone = Backbone(record["family"], record["config"], *pixels, record["frozen"])
        return backbone, load_file(directory / TENSORS) if backbone.frozen else {}
    except (KeyError, TypeError, ValueError) as error:
        raise records.unreadable(directory / FILE, error) from None
    except OSError as error:
        raise DataError(f"{directory / TENSORS}: cannot be read ({error}); train again") from None
