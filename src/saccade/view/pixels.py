"""A drawing of our own SVG elements as a PNG picture: rectangles, straight strokes, circles, text, images; by Pillow."""

import io
import re
from collections.abc import Mapping
from xml.etree import ElementTree

from PIL import Image, ImageDraw

from saccade.view.elements import PAPER
from saccade.view.images import opened
from saccade.view.png import BASELINE, checked_scale, text_image

FINER = 3  # drawn so many times larger, then shrunk: strokes get smooth edges
INHERITED = ("fill", "stroke", "stroke-width", "font-size", "text-anchor")
BEFORE = {"start": 0.0, "middle": 0.5, "end": 1.0}  # the share of a text that stands before its place
PLACE = re.compile(r"([ML])(-?[\d.]+) (-?[\d.]+)")
LONGEST = 200  # columns of a text; whoever wrote the drawing has cut it already

Attributes = Mapping[str, str]


def png(drawing: str, scale: int = 2) -> bytes:
    """The drawing as a PNG file; `scale` 2 is sharp on dense screens."""
    root = ElementTree.fromstring(drawing)
    pen = Pen(float(root.attrib["width"]), float(root.attrib["height"]), checked_scale(scale) * FINER)
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
            case "g":
                for child in element:
                    self.draw(child, own)
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
                raise ValueError(f"expected g, rect, path, circle, text, image or title, got {other}")

    def _at(self, own: Attributes, key: str) -> float:
        return float(own.get(key, 0)) * self.factor

    def _rectangle(self, own: Attributes) -> None:
        x, y = self._at(own, "x"), self._at(own, "y")
        right, bottom = x + self._at(own, "width"), y + self._at(own, "height")
        self.canvas.rectangle((x, y, right, bottom), fill=own["fill"])

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
        x, y = self._at(own, "x"), self._at(own, "y")
        before = mask.width * BEFORE[own.get("text-anchor", "start")]
        base = mask.height * BASELINE
        if "transform" in own:  # read from below
            if not own["transform"].startswith("rotate(-90 "):
                raise ValueError(f"expected a text that is turned by -90, got {own['transform']!r}")
            self.image.paste(own["fill"], (round(x - base), round(y + before - mask.width)), mask.rotate(90, expand=True))
        else:
            self.image.paste(own["fill"], (round(x - before), round(y - base)), mask)
