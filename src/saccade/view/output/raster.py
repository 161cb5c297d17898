"""A drawing of our own SVG elements as a PNG file: rectangles, cells, straight strokes, circles, text and images."""

import io
import re
from collections.abc import Mapping
from xml.etree import ElementTree

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from saccade.errors import UsageError
from saccade.view.output import fonts
from saccade.view.output.display_text import fit
from saccade.view.output.embedded_images import opened
from saccade.view.output.svg import PAPER

FINER = 3  # drawn so many times larger, then shrunk: strokes get smooth edges
INHERITED = ("fill", "stroke", "stroke-width", "font-size", "text-anchor")
BEFORE = {"start": 0.0, "middle": 0.5, "end": 1.0}  # the share of a text that stands before its place
PLACE = re.compile(r"([ML])(-?[\d.]+) (-?[\d.]+)")
CELLS = re.compile(r"translate\(([\d.]+) ([\d.]+)\) scale\(([\d.]+) ([\d.]+)\)")
RUN = re.compile(r"M(\d+) (\d+)h(\d+)v1h-\d+z")
LARGEST_SCALE = 8
BASELINE = 0.74  # of the height of a line of text, from its top
BOX, CAPITAL = 0.6, 0.7  # how wide a letter is that no font has, and how high its box, of the size of the text
LONGEST = 200  # columns of a text; whoever wrote the drawing has cut it already

Attributes = Mapping[str, str]


def png(drawing: str, scale: int = 2) -> bytes:
    """The drawing as a PNG file; `scale` 2 is sharp on dense screens."""
    root = ElementTree.fromstring(drawing)
    pen = Pen(float(root.attrib["width"]), float(root.attrib["height"]), check_scale(scale) * FINER)
    for child in root:
        pen.draw(child, root.attrib)
    stream = io.BytesIO()
    pen.image.reduce(FINER).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


class Pen:
    """Draws elements on one image; their numbers are multiplied by `factor`."""

    def __init__(self, width: float, height: float, factor: int) -> None:
        self.factor = factor
        self.image = Image.new("RGB", (round(width) * factor, round(height) * factor), PAPER)
        self.canvas = ImageDraw.Draw(self.image)

    def draw(self, element: ElementTree.Element, around: Attributes) -> None:
        """An element and what is in it, with the attributes that it takes over from what is around it."""
        own = {**{key: around[key] for key in INHERITED if key in around}, **element.attrib}
        match element.tag.rpartition("}")[2]:
            case "g" if "transform" in own:
                self._cells(element, own["transform"])
            case "g":
                for child in element:
                    self.draw(child, own)
            case "svg":
                self._nested(element, own)
            case "rect":
                self._rectangle(own)
            case "path":
                self._path(own)
            case "circle":
                self._circle(own)
            case "text":
                self._text(element.text or "", own)
            case "image":
                self._image(own)
            case "title":
                pass  # for readers aloud
            case other:
                raise ValueError(f"expected g, svg, rect, path, circle, text, image or title, got {other}")

    def _nested(self, element: ElementTree.Element, own: Attributes) -> None:
        """A drawing inside another."""
        inner = Pen(float(own["width"]), float(own["height"]), self.factor)
        for child in element:
            inner.draw(child, own)
        self.image.paste(inner.image, (round(self._at(own, "x")), round(self._at(own, "y"))))

    def _at(self, own: Attributes, key: str) -> float:
        return float(own.get(key, 0)) * self.factor

    def _rectangle(self, own: Attributes) -> None:
        x, y = self._at(own, "x"), self._at(own, "y")
        right, bottom = x + self._at(own, "width"), y + self._at(own, "height")
        if own["fill"] != "none":
            self.canvas.rectangle((x, y, right, bottom), fill=own["fill"])
        if "stroke" in own:
            corners = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y), (right, y)]
            self.canvas.line(corners, fill=own["stroke"], width=round(self._at(own, "stroke-width")), joint="curve")

    def _cells(self, element: ElementTree.Element, transform: str) -> None:
        """The colored cells of a matrix (`svg.cells`): a path for each color, of runs of cells in a row."""
        placed = CELLS.fullmatch(transform)
        if placed is None:
            raise ValueError(f"expected a translation and a scale, got {transform!r}")
        x, y, wide, high = (float(number) * self.factor for number in placed.groups())
        for path in element:
            for column, row, size in RUN.findall(path.attrib["d"]):
                left, right = (round(x + wide * place) for place in (int(column), int(column) + int(size)))
                top, bottom = (round(y + high * place) for place in (int(row), int(row) + 1))
                self.canvas.rectangle((left, top, right - 1, bottom - 1), fill=path.attrib["fill"])

    def _path(self, own: Attributes) -> None:
        steps = PLACE.findall(own["d"])
        if "".join(f"{pen}{x} {y}" for pen, x, y in steps) != own["d"]:
            raise ValueError(f"expected a path of M and L only, got {own['d'][:40]!r}")
        strokes: list[list[tuple[float, float]]] = []
        for pen, x, y in steps:
            if pen == "M":
                strokes.append([])
            strokes[-1].append((float(x) * self.factor, float(y) * self.factor))
        width = round(float(own.get("stroke-width", 1)) * self.factor)
        for places in strokes:
            self.canvas.line(places, fill=own["stroke"], width=width, joint="curve")

    def _circle(self, own: Attributes) -> None:
        x, y, radius = (self._at(own, key) for key in ("cx", "cy", "r"))
        width = self._at(own, "stroke-width") if "stroke" in own else 0.0
        outer = radius + width / 2  # SVG lays a stroke half inside, half outside
        bounds = (x - outer, y - outer, x + outer, y + outer)
        self.canvas.ellipse(bounds, fill=own["fill"], outline=own.get("stroke"), width=round(width))

    def _image(self, own: Attributes) -> None:
        x, y, width, height = (round(self._at(own, key)) for key in ("x", "y", "width", "height"))
        crisp = own.get("image-rendering") == "pixelated"
        image = opened(own["href"]).resize((width, height), Image.Resampling.NEAREST if crisp else Image.Resampling.LANCZOS)
        self.image.paste(image, (x, y), image)

    def _text(self, content: str, own: Attributes) -> None:
        mask = text_image(content, round(self._at(own, "font-size")), LONGEST)
        if "text-decoration" in own:
            _dots(mask, self.factor)
        x, y = self._at(own, "x"), self._at(own, "y")
        before = mask.width * BEFORE[own.get("text-anchor", "start")]
        base = mask.height * BASELINE
        if "transform" in own:  # read from below
            if not own["transform"].startswith("rotate(-90 "):
                raise ValueError(f"expected a text that is turned by -90, got {own['transform']!r}")
            self.image.paste(own["fill"], (round(x - base), round(y + before - mask.width)), mask.rotate(90, expand=True))
        else:
            self.image.paste(own["fill"], (round(x - before), round(y - base)), mask)


def check_scale(scale: int) -> int:
    """The scale; UsageError unless it is from 1 to 8."""
    if not 1 <= scale <= LARGEST_SCALE:
        raise UsageError(f"expected a scale from 1 to {LARGEST_SCALE}, got {scale}")
    return scale


def text_image(text: str, size: int, room: int) -> Image.Image:
    """A line of text alone, as a mask, cut to `room` columns; each part in a font that has its letters, else as a box."""
    parts = fonts.runs(fit(text, room) or " ", size)
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


def _dots(mask: Image.Image, factor: int) -> None:
    """A dotted line under the text."""
    draw, y, step = ImageDraw.Draw(mask), mask.height * BASELINE + 2 * factor, 3 * factor
    for x in range(0, mask.width - factor, step):
        draw.rectangle((x, y, x + 1.4 * factor, y + factor), fill=255)


def _box(draw: ImageDraw.ImageDraw, x: float, base: float, width: int, size: int) -> None:
    """What stands for a letter that no font has: its code would be wider than many words."""
    aside = width / 8
    edges = (round(x + aside), round(base - CAPITAL * size), round(x + width - aside) - 1, round(base))
    draw.rectangle(edges, outline=255, width=max(1, size // 14))


def _direction(font: fonts.Font) -> str | None:
    """As a whole a line runs to the right, whatever its letters do; without Raqm, Pillow knows no directions."""
    return "ltr" if getattr(font, "layout_engine", None) == ImageFont.Layout.RAQM else None
