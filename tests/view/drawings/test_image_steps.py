"""An image for each word: bright where the weights are, smooth between, and the word above it."""

import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.view import render
from saccade.view.drawings.figure import Figure
from saccade.view.drawings.image_steps import COVER, DARK, MOST, SHINE, lit, lit_images, scale_of, shares, shine
from saccade.view.output.display_text import columns
from saccade.view.trace import Axis, Look, Scene

from ..traces import caption

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_shares_are_largest_at_the_heaviest_cell_and_smooth_around_it() -> None:
    weights = np.zeros(24)
    weights[8] = 0.5  # row 1, column 2
    found = shares(weights, (4, 6), 40, 60)
    assert np.abs(np.array(np.unravel_index(found.argmax(), found.shape)) - [15, 25]).max() <= 1
    assert found.max() > 0.95
    assert found.min() == 0
    assert np.abs(np.diff(found, axis=1)).max() < 0.2
    assert (shares(np.zeros(24), (4, 6), 8, 12) == 0).all()
    assert (shares(np.ones(24), (4, 6), 8, 12) > 0.999).all()


def test_the_image_is_as_it_is_where_the_weight_is_and_dark_elsewhere() -> None:
    picture = np.full((1, 2, 3), 200, dtype=np.uint8)
    found = lit(picture, np.array([[1.0, 0.0]]))
    assert found[0, 0].tolist() == [200] * 3
    assert found[0, 1].tolist() == pytest.approx(200 * (1 - COVER) + np.array(DARK) * COVER, abs=1)


def test_on_a_dark_image_light_shines_where_the_weight_is() -> None:
    black, white = (np.full((2, 3, 3), shade, dtype=np.uint8) for shade in (0, 255))
    assert (shine(black), shine(white)) == (SHINE, 0)
    found = lit(black, np.tile([[1.0, 0.5, 0.0]], (2, 1)), shine(black)).astype(int).sum(-1)
    assert (np.diff(found, axis=1) < -50).all()  # brighter and brighter, though nothing is darker than black
    assert np.array_equal(lit(white, np.ones((2, 3)), shine(white)), white)


def test_each_word_lights_its_own_cell() -> None:
    scene = caption()
    plain, *words = lit_images(Figure(scene, scene.looks[0]), 40, 60)
    image = scene.axes["image"].image
    assert image is not None
    assert np.array_equal(plain, image)
    assert len(words) == 4
    for number, found in enumerate(words):
        kept = found.astype(int).sum(-1) / plain.astype(int).sum(-1)
        row, column = np.unravel_index(kept.argmax(), kept.shape)
        assert (row // 10, column // 10) == (0, number)


def test_words_stand_over_their_images() -> None:
    root = ElementTree.fromstring(render.svg(caption()))
    images = [each for each in root if each.tag.endswith("image")]
    texts = {each.text: each for each in root if each.tag.endswith("text")}
    assert len(images) == 5
    for word, image in zip(["a", "dog", "on", "grass"], images[1:], strict=True):
        middle = float(image.attrib["x"]) + float(image.attrib["width"]) / 2
        assert float(texts[word].attrib["x"]) == pytest.approx(middle, abs=0.1)
        assert 0 < float(image.attrib["y"]) - float(texts[word].attrib["y"]) < 20
    assert Image.open(io.BytesIO(render.png(caption(), scale=1))).size[0] == 760


def test_of_many_words_the_first_are_drawn() -> None:
    words = [f"w{number}" for number in range(MOST + 3)]
    drawing = render.svg(caption(words))
    assert drawing.count("<image") == MOST + 1
    assert "3 more words are left out" in drawing
    assert "3 more words are left out" in render.terminal(caption(words), color=False, width=60)


def test_the_terminal_shows_images_or_lists_the_heaviest_cells() -> None:
    lines = render.terminal(caption(), color=False, width=80).splitlines()
    assert "heaviest cells" in lines
    assert lines[3:5] == [
        "a      0.500 at 0, 0   0.022 at 0, 1   0.022 at 0, 2",
        "dog    0.500 at 0, 1   0.022 at 0, 0   0.022 at 0, 2",
    ]
    colored = render.terminal(caption(), color=True, width=80).splitlines()
    assert max(columns(ANSI.sub("", line)) for line in colored) <= 80
    assert sum("▀" in line for line in colored) == 2 * 6  # 12 pixels are 6 lines; four images fit beside each other
    assert "dog" in colored[2]


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, -2.0], [3e38, -3e38], [1e-30, 2e-30]])
@pytest.mark.parametrize("shape", [(1, 1), (3, 500), (500, 3, 3)])
def test_any_weights_and_image_can_be_drawn(weights: list[float], shape: tuple[int, ...]) -> None:
    image = np.zeros(shape, dtype=np.uint8)
    axes = {"words": Axis("words", ["a", ""]), "image": Axis("cells", ["x", "y"], grid=(1, 2), image=image)}
    scene = Scene("t", axes, [Look("l", "words", "image", np.array([[weights] * 2], dtype=np.float32))])
    assert "nan" not in render.svg(scene).split("base64")[0]
    assert render.png(scene, scale=1).startswith(b"\x89PNG")
    for color in (True, False):
        render.terminal(scene, color=color, width=30)


def test_parts_of_one_distribution_have_one_scale() -> None:
    whole = caption()
    (look,) = whole.looks
    weights = look.weights.mean(0) / 10
    parts = replace(whole, looks=[replace(look, weights=weights[None])])
    assert weights.sum() < 1
    assert scale_of(weights) == weights.max()
    assert scale_of(weights[:1]) == scale_of(10 * weights) == 0
    plain, *words = lit_images(Figure(parts, parts.looks[0]), 40, 60)
    brightest = [(found.astype(int).sum(-1) / plain.astype(int).sum(-1)).max() for found in words]
    assert int(np.argmax(brightest)) == int(weights.max(1).argmax())
    assert "divided by the largest of all" in render.svg(parts)
    assert "divided by the largest of its image" in render.svg(whole)
