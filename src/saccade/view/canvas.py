"""A small canvas of characters for a line and points: braille gives eight dots to a character, ASCII gives one."""

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from saccade.view.scales import Floats
from saccade.view.screen import ASCII, Glyphs, painted

BRAILLE = 0x2800
BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])  # rows × columns of one braille character
LINE, POINT = (64, 140, 255), (240, 150, 60)


class Canvas:
    """Characters, `height` × `width`; places are fractions of the whole, from the left and from the bottom."""

    def __init__(self, width: int, height: int, glyphs: Glyphs) -> None:
        self.glyphs = glyphs
        self.fine = (1, 1) if glyphs is ASCII else BITS.shape
        self.dots: NDArray[np.bool_] = np.zeros((height * self.fine[0], width * self.fine[1]), dtype=np.bool_)
        self.points: NDArray[np.bool_] = np.zeros((height, width), dtype=np.bool_)

    def line(self, across: Floats, up: Floats) -> None:
        """Joins the places by straight strokes; where one is not a number, the line is interrupted."""
        rows, columns = self.dots.shape
        x, y = across * (columns - 1), (1 - up) * (rows - 1)
        for start in range(len(x) - 1):
            ends = x[start : start + 2], y[start : start + 2]
            if np.isfinite(ends).all():
                steps = int(np.abs(np.diff(ends)).max()) + 2
                self.dots[_indices(ends[1], steps), _indices(ends[0], steps)] = True

    def scatter(self, across: Floats, up: Floats) -> None:
        """Marks the places, over the line; places that are not numbers are left out."""
        known = np.isfinite(across) & np.isfinite(up)
        rows, columns = self.points.shape
        x, y = across[known] * (columns - 1), (1 - up[known]) * (rows - 1)
        self.points[y.round().astype(int), x.round().astype(int)] = True

    def lines(self, *, color: bool) -> list[str]:
        """The drawing, a text per row of characters."""
        letters = np.where(self.points, self.glyphs.point, self._strokes())
        return [
            "".join(
                _ink("".join(letter for letter, _ in run), is_point, color)
                for is_point, run in groupby(zip(row, points, strict=True), key=lambda cell: bool(cell[1]))
            )
            for row, points in zip(letters.tolist(), self.points.tolist(), strict=True)
        ]

    def _strokes(self) -> NDArray[np.str_]:
        rows, columns = self.points.shape
        blocks = self.dots.reshape(rows, self.fine[0], columns, self.fine[1]).swapaxes(1, 2)
        if self.glyphs is ASCII:
            return np.where(blocks[:, :, 0, 0], "*", " ")
        codes = (blocks * BITS).sum(axis=(2, 3))
        return np.array([[chr(BRAILLE + code) if code else " " for code in row] for row in codes.tolist()])


def _indices(ends: Floats, steps: int) -> NDArray[np.int64]:
    return np.linspace(ends[0], ends[1], steps).round().astype(np.int64)


def _ink(text: str, is_point: bool, color: bool) -> str:
    if not color or text.isspace():
        return text
    return painted(text, POINT if is_point else LINE)
