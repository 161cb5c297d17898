"""Tiles put back to their picture, and weights painted over it: each tile in its place and in its color."""

import io

import numpy as np
import pytest
from PIL import Image

from saccade.view import render
from saccade.view.drawings.overlay import COVER, painted, span, svg
from saccade.view.output.colors import ramp
from saccade.view.output.embedded_images import address, image, opened

from ..traces import bag


def test_each_tile_has_the_color_of_its_weight() -> None:
    pixels = painted(np.array([0.0, 0.1, 0.2, 0.4, 0.3, 0.0]), (2, 3))
    assert pixels.shape == (2, 3, 4)
    assert pixels[1, 0, :3].tolist() == ramp(1.0).tolist()
    assert pixels[0, 0, :3].tolist() == pixels[1, 2, :3].tolist() == ramp(0.0).tolist()
    assert pixels[1, 0, 3] == round(255 * COVER[1]) > pixels[0, 0, 3] == round(255 * COVER[0]) > 0
    assert span(np.array([0.2, 0.3])) == (0.0, 0.3)  # tiles that are all alike look alike
    assert span(np.array([-0.2, 0.3])) == (-0.2, 0.3)


def test_the_picture_stands_beside_itself_painted() -> None:
    picture = np.full((16, 16), 200, dtype=np.uint8)
    drawing = svg(picture, (2, 2), np.array([0.0, 0.0, 0.0, 0.5]), "title", ["note"])
    assert drawing.count("<image") == 4  # plain, plain again, its paint, the ramp
    assert ">0.5</text>" in drawing
    assert ">2 × 2 tiles</text>" in drawing
    from saccade.view.output.raster import png

    shown = np.asarray(Image.open(io.BytesIO(png(drawing, 1))).convert("RGB")).astype(int)
    left, right = shown[100:400, 40:340], shown[100:400, 400:700]
    assert (left == 200).all()
    expected = 200 + (ramp(1.0).astype(int) - 200) * COVER[1]
    assert np.abs(right[-10, -10] - expected).max() <= 2
    assert right[10, 10].max() < 200  # and so is what was passed over, a little


def test_the_terminal_shows_the_grid() -> None:
    lines = render.terminal(bag(12, (3, 4)), head=0, color=False, width=60).splitlines()
    assert [line.split("│")[1] for line in lines if "│" in line][2].endswith("██")
    assert len([line for line in lines if "│" in line]) == 3


def test_a_large_picture_is_made_smaller_and_not_left_in_squares() -> None:
    drawn = image(np.zeros((2000, 3000), dtype=np.uint8), 0, 0, 340, 227)
    assert "pixelated" not in drawn
    assert opened(address(np.zeros((2000, 3000), dtype=np.uint8))).size == (720, 480)
    with pytest.raises(ValueError, match="expected an image that starts with data:image/png"):
        opened("https://example.org/a.png")
