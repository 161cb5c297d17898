"""Small pictures inside a drawing: an array of pixels as the address of a PNG that needs no file."""

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.view.elements import Attributes, element

START = "data:image/png;base64,"
LARGEST = 720  # pixels of the longer side: twice what a drawing shows

Pixels = NDArray[np.uint8]


def address(pixels: Pixels, largest: int = LARGEST) -> str:
    """The pixels (height, width), (height, width, 3) or (height, width, 4) as a data address, made smaller if large."""
    from PIL import Image  # takes a moment to load, and only drawings with pictures need it

    image = Image.fromarray(np.ascontiguousarray(pixels))
    image.thumbnail((largest, largest))
    stream = io.BytesIO()
    image.save(stream, format="PNG", optimize=True)
    return START + base64.b64encode(stream.getvalue()).decode()


def opened(written: str) -> Any:
    """The image of a data address."""
    from PIL import Image

    if not written.startswith(START):
        raise ValueError(f"expected a picture that starts with {START}, got {written[:40]!r}")
    return Image.open(io.BytesIO(base64.b64decode(written.removeprefix(START)))).convert("RGBA")


def image(pixels: Pixels, x: float, y: float, width: float, height: float) -> str:
    """An SVG element that shows the pixels in this rectangle; enlarged, they stay sharp squares."""
    crisp: Attributes = {"image-rendering": "pixelated"} if pixels.shape[1] <= width else {}
    place: Attributes = {"x": x, "y": y, "width": width, "height": height, "preserveAspectRatio": "none"}
    return element("image", {**place, **crisp, "href": address(pixels)})
