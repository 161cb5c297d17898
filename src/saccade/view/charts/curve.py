"""Points and a curve through them, for the terminal: braille gives eight dots to a character, ASCII gives one."""

from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from saccade.view.output.scales import Floats, LinearScale, limits, padded, series
from saccade.view.output.screen import ASCII, Glyphs, painted, ruler, this_screen

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

    def codes(self) -> NDArray[np.int64]:
        """Which dots of each character are set, as braille numbers them; in ASCII 1 where there is a stroke."""
        rows, columns = self.points.shape
        blocks = self.dots.reshape(rows, self.fine[0], columns, self.fine[1]).swapaxes(1, 2)
        return np.asarray((blocks * BITS[: self.fine[0], : self.fine[1]]).sum(axis=(2, 3)), dtype=np.int64)

    def _strokes(self) -> NDArray[np.str_]:
        codes = self.codes()
        if self.glyphs is ASCII:
            return np.where(codes > 0, "*", " ")
        return np.array([[chr(BRAILLE + code) if code else " " for code in row] for row in codes.tolist()])


def _indices(ends: Floats, steps: int) -> NDArray[np.int64]:
    return np.linspace(ends[0], ends[1], steps).round().astype(np.int64)


def _ink(text: str, is_point: bool, color: bool) -> str:
    if not color or text.isspace():
        return text
    return painted(text, POINT if is_point else LINE)


def curve(
    points_x: ArrayLike,
    points_y: ArrayLike,
    line_x: ArrayLike,
    line_y: ArrayLike,
    *,
    width: int | None = None,
    height: int = 16,
    color: bool | None = None,
) -> str:
    """Points and a line through them, on numbered axes; `height` counts the lines of the drawing without its axis."""
    if height < 2:
        raise ValueError(f"expected a height of at least 2 lines, got {height}")
    points, line, screen = series(points_x, points_y), series(line_x, line_y), this_screen(color, width)
    across, up = (LinearScale(*padded(limits(points[side], line[side]))) for side in (0, 1))
    upward = {round((1 - place) * (height - 1)): text for place, text in up.marks(max(2, height // 4))}
    margin = max(map(len, upward.values()), default=0) + 1
    canvas = Canvas(screen.width - margin - 1, height, screen.glyphs)
    canvas.line(across(line[0]), up(line[1]))
    canvas.scatter(across(points[0]), up(points[1]))

    sides = [screen.glyphs.tick_left if row in upward else screen.glyphs.down for row in range(height)]
    lines = [
        f"{upward.get(row, ''):>{margin - 1}} {sides[row]}{text}"
        for row, text in enumerate(canvas.lines(color=screen.color))
    ]
    lines += [" " * margin + text for text in bottom(across, screen.width - margin - 1, screen.glyphs)]
    return "\n".join(text.rstrip(" ") for text in lines)


def bottom(scale: LinearScale, width: int, glyphs: Glyphs) -> tuple[str, str]:
    """The horizontal axis: a rule with ticks, and the numbers under it."""
    marks = [(round(place * (width - 1)), text) for place, text in scale.marks(max(2, width // 8))]
    ticked = {column for column, _ in marks}
    rule = "".join(glyphs.tick_below if column in ticked else glyphs.across for column in range(width))
    return glyphs.corners[2] + rule, " " + ruler(marks, width)
