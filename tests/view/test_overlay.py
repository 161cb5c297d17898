"""Tiles put back to their picture, and weights painted over it: each tile in its place and in its color."""

import io

import numpy as np
import pytest
from PIL import Image

from saccade.view import scene
from saccade.view.colors import ramp
from saccade.view.images import address, image, opened
from saccade.view.overlay import COVER, painted, span, svg, whole

from .traces import bag


@pytest.mark.parametrize("channels", [(), (3,)])
def test_tiles_come_back_to_their_picture(channels: tuple[int, ...]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (6, 20, *channels), dtype=np.uint8)
    tiles = np.stack([picture[y : y + 3, x : x + 5] for y in (0, 3) for x in (0, 5, 10, 15)])
    assert np.array_equal(whole(tiles, (2, 4)), picture)


def test_each_tile_has_the_color_of_its_weight() -> None:
    pixels = painted(np.array([0.0, 0.1, 0.2, 0.4, 0.3, 0.0]), (2, 3))
    assert pixels.shape == (2, 3, 4)
    assert pixels[1, 0, :3].tolist() == ramp(1.0).tolist()
    assert pixels[0, 0, :3].tolist() == pixels[1, 2, :3].tolist() == ramp(0.0).tolist()
    assert pixels[1, 0, 3] == round(255 * COVER[1]) > pixels[0, 0, 3] == round(255 * COVER[0]) > 0
    assert span(np.array([0.2, 0.3])) == (0.0, 0.3)  # tiles that are all alike look alike
    assert span(np.array([-0.2, 0.3])) == (-0.2, 0.3)


def test_the_picture_stands_beside_itself_painted() -> None:
    tiles = np.full((4, 8, 8), 200, dtype=np.uint8)
    drawing = svg(tiles, (2, 2), np.array([0.0, 0.0, 0.0, 0.5]), "title", ["note"])
    assert drawing.count("<image") == 4  # plain, plain again, its paint, the ramp
    assert ">0.5</text>" in drawing
    assert ">2 × 2 tiles</text>" in drawing
    from saccade.view.pixels import png

    shown = np.asarray(Image.open(io.BytesIO(png(drawing, 1))).convert("RGB")).astype(int)
    left, right = shown[100:400, 40:340], shown[100:400, 400:700]
    assert (left == 200).all()
    expected = 200 + (ramp(1.0).astype(int) - 200) * COVER[1]
    assert np.abs(right[-10, -10] - expected).max() <= 2
    assert right[10, 10].max() < 200  # and so is what was passed over, a little


def test_the_terminal_shows_the_grid() -> None:
    lines = scene.terminal(bag(12, (3, 4)), head=0, color=False, width=60).splitlines()
    assert [line.split("│")[1] for line in lines if "│" in line][2].endswith("██")
    assert len([line for line in lines if "│" in line]) == 3


def test_a_large_picture_is_made_smaller_and_not_left_in_squares() -> None:
    drawn = image(np.zeros((2000, 3000), dtype=np.uint8), 0, 0, 340, 227)
    assert "pixelated" not in drawn
    assert opened(address(np.zeros((2000, 3000), dtype=np.uint8))).size == (720, 480)
    with pytest.raises(ValueError, match="expected a picture that starts with data:image/png"):
        opened("https://example.org/a.png")
