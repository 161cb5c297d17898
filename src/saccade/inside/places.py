"""What the places of a model's input are called: tokens made readable, patches of a picture, frames of a recording."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from saccade.view.trace import Axis

MOST_FRAMES = 300  # more are averaged in groups
FRAME_SECONDS = 0.02  # of one encoder state of Whisper (Radford et al. 2022): two steps of 10 ms


@cache
def _bytes_of_characters() -> dict[str, int]:
    """The character that stands for each byte in byte-level vocabularies (Radford et al. 2019)."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + number): byte for number, byte in enumerate(rest)}


def readable(tokens: Sequence[str], byte_level: bool = False) -> list[str]:
    r"""Tokens as text: a space for the marks of byte-level and SentencePiece vocabularies, `\xe2` for part of a letter."""
    return [_bytes_read(token) if byte_level else _marks_read(token) for token in tokens]


def _bytes_read(token: str) -> str:
    known = _bytes_of_characters()
    if not all(letter in known for letter in token):
        return token
    return bytes(known[letter] for letter in token).decode(errors="backslashreplace")


def _marks_read(token: str) -> str:
    byte = re.fullmatch(r"<0x([0-9A-F]{2})>", token)
    return bytes([int(byte[1], 16)]).decode(errors="backslashreplace") if byte else token.replace("▁", " ")


def token_axis(tokenizer: Any, ids: Sequence[int], probabilities: NDArray[np.float32] | None = None) -> Axis:
    """The tokens of these ids; what the tokenizer does not know is marked."""
    known = tokenizer.convert_ids_to_tokens(list(ids))  # None: a vocabulary of the model that is larger than the tokenizer's
    tokens = [f"<{number}>" if token is None else str(token) for number, token in zip(ids, known, strict=True)]
    unknown = getattr(tokenizer, "unk_token_id", None)
    end = getattr(tokenizer, "eos_token_id", None)
    marked = [place for place, each in enumerate(ids) if unknown is not None and each == unknown != end]
    labels = readable(tokens, "Ġ" in tokenizer.get_vocab())
    return Axis("pieces", labels, probabilities=probabilities, unknown=marked)


def grid_of(places: int, height: int, width: int) -> tuple[int, tuple[int, int]] | None:
    """How many places stand before the patches (class token, registers), and the rows and columns of the patches."""
    for extra in range(min(places, 17)):
        rows = round(((places - extra) * height / width) ** 0.5)
        columns = (places - extra) // rows if rows else 0
        whole = rows * columns == places - extra > 0 and rows * width == columns * height
        if whole and height % rows == 0 and width % columns == 0:
            return extra, (rows, columns)
    return None


def patch_axis(pixels: Tensor, grid: tuple[int, int]) -> Axis:
    """The patches of a picture (channels, height, width), whatever its numbers were scaled to."""
    values = pixels.float().cpu()
    values = values[:3] if len(values) >= 3 else values[:1]
    low, high = values.amin(), values.amax()
    image = ((values - low) / (high - low).clamp(min=1e-9) * 255).round().byte().permute(1, 2, 0).numpy()
    cells = [f"{row}, {column}" for row in range(grid[0]) for column in range(grid[1])]
    return Axis("picture", cells, grid=grid, image=np.ascontiguousarray(image.squeeze()))


def frame_axis(frames: int) -> Axis:
    """Frames by their time; many are taken together in groups."""
    size = group_size(frames)
    return Axis("frames", [f"{first * FRAME_SECONDS:.2f} s" for first in range(0, frames, size)])


def group_size(frames: int) -> int:
    """How many frames make one place."""
    return -(-frames // MOST_FRAMES)


def number_axis(size: int) -> Axis:
    """Places that nobody named."""
    return Axis("places", [str(number) for number in range(1, size + 1)])
