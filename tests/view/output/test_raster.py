"""SVG drawings as pixels: letters of every installed font, boxes where there is none, and cells in their colors."""

import io

import numpy as np
import pytest
from PIL import Image

from saccade.view.drawings.heatmap import svg
from saccade.view.output import fonts
from saccade.view.output.raster import png, text_image
from saccade.view.output.svg_layout import Marks


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content)).convert("RGB")


def test_letters_of_no_font_are_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (fonts.installed, fonts._path_for):
        function.cache_clear()
    monkeypatch.setattr(fonts, "directories", list)
    try:
        assert fonts.installed() == ()
        assert [(part, font is None) for part, font in fonts.runs("aم👍b", 12)] == [
            ("a", False),
            ("م", True),
            ("👍", True),
            ("b", False),
        ]
        assert opened(png(svg([[1.0]], columns=["م"]))).width > 100
        box = np.asarray(text_image("👍", 20, 9))
        assert box.shape[1] == 12
        assert text_image("👍👍", 20, 9).width == 24
        inside = box[box.any(1)][:, box.any(0)]
        assert inside[[0, -1]].all()
        assert inside[:, [0, -1]].all()
        assert not inside[2:-2, 2:-2].any()
    finally:
        monkeypatch.undo()
        for function in (fonts.installed, fonts._path_for):
            function.cache_clear()


def test_fonts_that_lack_a_letter_say_so() -> None:
    assert fonts.has(None, "a")
    assert not fonts.has(None, "漢")
    assert not fonts.has(None, "\U0010fffe")


def test_an_underline_is_dotted() -> None:
    marks = Marks(unknown_rows={0})
    plain, dotted = (
        np.asarray(opened(png(svg([[1.0]], rows=["word"], columns=[1.0], marks=each), scale=2))) for each in (None, marks)
    )
    rows, places = np.nonzero((plain != dotted).any(-1))
    assert len(set(rows.tolist())) <= 4  # a thin line
    assert 0.3 < len(set(places.tolist())) / (places.max() - places.min() + 1) < 0.9
