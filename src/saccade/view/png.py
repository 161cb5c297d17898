"""A matrix as a PNG picture: colored cells, labeled sides, a color bar; drawn with Pillow."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from saccade.errors import UsageError
from saccade.view import colors, fonts, labels
from saccade.view.elements import INK, PAPER, QUIET
from saccade.view.labels import Axis
from saccade.view.panels import FINEST, LONGEST_NAME, Box
from saccade.view.picture import Picture
from saccade.view.scales import Floats, Scale, bins, limits, pool
from saccade.view.svg import cell

MARGIN, GAP, BAR = 20, 6, 12  # pixels before scaling, as in the SVG
TITLE, SMALL = 16, 11
LARGEST_SCALE = 8
BASELINE = 0.74  # of the height of a line of text, from its top
BOX, CAPITAL = 0.6, 0.7  # how wide a letter is that no font has, and how high its box, of the size of the text


def heatmap(shown: Picture, scale: int = 2) -> bytes:
    """The matrix as a PNG file; more than 128 rows or columns are pooled, the largest weight of each bin."""
    stream = io.BytesIO()
    Drawing(shown, checked_scale(scale)).image.save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def checked_scale(scale: int) -> int:
    """The scale, if a picture of that size can be had."""
    if not 1 <= scale <= LARGEST_SCALE:
        raise UsageError(f"expected a scale from 1 to {LARGEST_SCALE}, got {scale}")
    return scale


def text_image(text: str, size: int, room: int) -> Image.Image:
    """A line of text alone, as a mask, cut to `room` columns; each part in a font that has its letters, else as a box."""
    parts = fonts.runs(labels.fit(text, room) or " ", size)
    widths = [int(np.ceil(font.getlength(part) if font else BOX * size)) for part, font in parts]
    height = int(size * 1.6)
    mask = Image.new("L", (max(1, sum(widths)), height), 0)
    draw, x = ImageDraw.Draw(mask), 0
    for (part, font), width in zip(parts, widths, strict=True):
        if font:
            draw.text((x, height * BASELINE), part, fill=255, font=font, anchor="ls", direction=_direction(font))
        else:
            _box(draw, x, height * BASELINE, width, size)
        x += width
    return mask


def _box(draw: ImageDraw.ImageDraw, x: float, base: float, width: int, size: int) -> None:
    """What stands for a letter that no font has: its code would be wider than many words."""
    aside = width / 8
    edges = (round(x + aside), round(base - CAPITAL * size), round(x + width - aside) - 1, round(base))
    draw.rectangle(edges, outline=255, width=max(1, size // 14))


def _direction(font: fonts.Font) -> str | None:
    """As a whole a line runs to the right, whatever its letters do; without Raqm, Pillow knows no directions."""
    return "ltr" if getattr(font, "layout_engine", None) == ImageFont.Layout.RAQM else None


class Drawing:
    """The picture under the pen; all places are in pixels of the finished image."""

    def __init__(self, shown: Picture, scale: int) -> None:
        self.scale = scale
        values = shown.weights
        down, across = labels.axis(shown.rows, values.shape[0], "row"), labels.axis(shown.columns, values.shape[1], "column")
        pooled = pool(values, *(bins(count, FINEST) for count in values.shape))
        span = limits(values)
        heading = [text_image(shown.title or "where it looked", TITLE * scale, 80)]
        heading += [text_image(note, SMALL * scale, 120) for note in shown.notes]
        rows, columns = self._names(down), self._names(across)

        side = max(1, round(cell(max(values.shape)) * scale))
        self.upright = labels.short(across.texts) and max(name.width for name in columns) <= side
        top = sum(line.height for line in heading) + (MARGIN + 2 * GAP) * scale
        if across.values is None:
            top += max(name.height if self.upright else name.width for name in columns)
        left = MARGIN * scale + max(name.width for name in rows) + GAP * scale
        height, width = (max(count * side, 40 * scale) for count in pooled.shape)
        self.box = Box(left, top, width, height)
        right = max([self.box.right + 84 * scale, *(line.width + 2 * MARGIN * scale for line in heading)])
        self.image = Image.new("RGB", (int(right), int(self.box.bottom) + 40 * scale), PAPER)

        self._heading(heading)
        self._cells(Scale(*(span or (0.0, 1.0)))(pooled), self.box)
        self._row_names(down)
        self._column_names(across)
        self._color_bar(span)

    def _names(self, axis: Axis) -> list[Image.Image]:
        """The longest labels, drawn: how much room the side needs."""
        different = sorted(set(axis.texts), key=lambda text: -labels.columns(labels.fit(text, LONGEST_NAME)))
        return [text_image(text, SMALL * self.scale, LONGEST_NAME) for text in different[:64]]

    def _paste(self, mask: Image.Image, x: float, y: float, ink: str = QUIET) -> None:
        self.image.paste(ink, (round(x), round(y)), mask)

    def _heading(self, lines: list[Image.Image]) -> None:
        y = MARGIN * self.scale
        for index, line in enumerate(lines):
            self._paste(line, MARGIN * self.scale, y, QUIET if index else INK)
            y += line.height

    def _cells(self, unit: Floats, box: Box) -> None:
        image = Image.fromarray(_pixels(unit))
        self.image.paste(image.resize((int(box.width), int(box.height)), Image.Resampling.NEAREST), (int(box.x), int(box.y)))

    def _marks(self, axis: Axis, length: float, apart: float) -> list[tuple[float, Image.Image]]:
        """Labels that fit on the side, and where their middles stand from its start."""
        step = (apart if axis.values is not None else SMALL + 2) * self.scale
        marks = axis.marks(max(2, int(length / step)))
        drawn = (text_image(label, SMALL * self.scale, LONGEST_NAME) for _, label in marks)
        return [(place / len(axis.texts) * length, image) for (place, _), image in zip(marks, drawn, strict=True)]

    def _row_names(self, axis: Axis) -> None:
        for place, name in self._marks(axis, self.box.height, 40):
            x = self.box.x - GAP * self.scale - name.width
            self._paste(name, x, self.box.y + place - name.height / 2)

    def _column_names(self, axis: Axis) -> None:
        for place, name in self._marks(axis, self.box.width, 48):
            x = self.box.x + place
            if axis.values is not None:
                self._paste(name, x - name.width / 2, self.box.bottom + GAP * self.scale)
                continue
            standing = name if self.upright else name.rotate(90, expand=True)
            self._paste(standing, x - standing.width / 2, self.box.y - GAP * self.scale - standing.height)

    def _color_bar(self, span: tuple[float, float] | None) -> None:
        bar = Box(self.box.right + 14 * self.scale, self.box.y, BAR * self.scale, self.box.height)
        if span is None or span[0] == span[1]:
            said = "all NaN" if span is None else f"all {span[0]:.3g}"
            self._paste(text_image(said, SMALL * self.scale, 20), bar.x, bar.y)
            return
        self._cells(np.linspace(1, 0, int(bar.height))[:, None], bar)
        scale = Scale(*span, bar.bottom, bar.y)
        for place, label in scale.marks(max(2, int(bar.height / (45 * self.scale)))):
            name = text_image(label, SMALL * self.scale, 20)
            self._paste(name, bar.right + 5 * self.scale, place - name.height / 2)


def _pixels(unit: Floats) -> NDArray[np.uint8]:
    return np.ascontiguousarray(colors.ramp(unit))
