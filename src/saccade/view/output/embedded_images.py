"""Images inside a drawing: pixels as a data address that needs no file, brought to the size that is shown."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.view.output.scales import Floats
from saccade.view.output.svg import Attributes, element

START = "data:image/png;base64,"
LARGEST = 720  # pixels of the longer side: twice what a drawing shows

Pixels = NDArray[np.uint8]


def address(pixels: Pixels, largest: int = LARGEST) -> str:
    """The pixels (height, width[, 3 or 4]) as a data address, made smaller if a side is longer than `largest`."""
    from PIL import Image  # takes a moment to load, and only drawings with images need it

    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((largest, largest))
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return START + base64.b64encode(stream.getvalue()).decode()


def opened(written: str) -> Any:
    """The image of a data address."""
    from PIL import Image

    if not written.startswith(START):
        raise ValueError(f"expected an image that starts with {START}, got {written[:40]!r}")
    return Image.open(io.BytesIO(base64.b64decode(written.removeprefix(START)))).convert("RGBA")


def image(pixels: Pixels, x: float, y: float, width: float, height: float) -> str:
    """An SVG element that shows the pixels in this rectangle; enlarged, they stay sharp squares."""
    crisp: Attributes = {"image-rendering": "pixelated"} if pixels.shape[1] <= width else {}
    place: Attributes = {"x": x, "y": y, "width": width, "height": height, "preserveAspectRatio": "none"}
    return element("image", {**place, **crisp, "href": address(pixels)})


def sizes(image: Pixels, longer: float) -> tuple[float, float]:
    """Width and height that an image (height, width, …) is shown in: its longer side as given, at least a pixel each."""
    return fitted(image.shape[0], image.shape[1], longer)


def fitted(height: float, width: float, longer: float) -> tuple[float, float]:
    """The same for a rectangle."""
    factor = longer / max(height, width)
    return max(width * factor, 1.0), max(height * factor, 1.0)


def resized(pixels: Pixels, height: int, width: int) -> Pixels:
    """The image in color and at this size; enlarged, its pixels stay squares. Shapes: (h, w[, 3]) -> (height, width, 3)"""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB")
    enlarged = width >= image.width and height >= image.height
    filtered = image.resize((width, height), Image.Resampling.NEAREST if enlarged else Image.Resampling.LANCZOS)
    return np.asarray(filtered, dtype=np.uint8)


def smoothed(values: Floats, height: int, width: int) -> Floats:
    """A coarse grid of numbers, interpolated (bicubic). Shapes: (rows, columns) -> (height, width)"""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(values, dtype=np.float32))
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC), dtype=np.float64)
