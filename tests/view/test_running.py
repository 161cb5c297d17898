"""Words shaded by their weights: every word once, in its place, from 0 up; alike words look alike."""

import io
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.view import save_picture
from saccade.view.colors import PAPER, WORD, tint
from saccade.view.running import Sentence, placed, svg, terminal
from saccade.view.scene import terminal as scene_terminal
from saccade.view.screen import ASCII, UNICODE, Screen
from saccade.view.trace import Look, Scene, Side, Trace

WORDS = ["Alex", "is", "obnoxious", "but", "the", "tutorial", "is", "awesome", "."]
WEIGHTS = [0.1, 0.0, 0.3, 0.05, 0.05, 0.1, 0.0, 0.4, 0.0]
TWO = [Sentence(WORDS[:4], WEIGHTS[:4], 0.2), Sentence(WORDS[4:], WEIGHTS[4:], 0.8)]


@pytest.mark.parametrize("width", [16, 30, 80])
@pytest.mark.parametrize("indent", [0, 3])
def test_words_stand_apart_within_the_width(width: int, indent: int) -> None:
    found = list(placed([Sentence(WORDS, WEIGHTS)], width, indent))
    assert [one.word for one in found] == WORDS
    assert max(one.share for one in found) == 1.0
    for one, after in pairwise(found):
        assert (one.line, one.column + len(one.word)) < (after.line, after.column) or after.line > one.line
        assert one.column + len(one.word) <= width
        assert one.column >= indent


def test_a_weighed_sentence_begins_a_line() -> None:
    found = list(placed(TWO, 80, 3))
    assert [one.sentence for one in found if one.sentence is not None] == [0, 1]
    assert [one.line for one in found] == [0] * 4 + [1] * 5


def test_without_color_shades_stand_below() -> None:
    lines = terminal([Sentence(WORDS, WEIGHTS)], Screen(UNICODE, False, 80)).splitlines()
    assert lines[0] == " ".join(WORDS)
    below = lines[1].ljust(len(lines[0]))
    at = lines[0].index("awesome")
    assert below[at : at + 7] == "█" * 7
    assert below[5:7] == "  "
    assert lines[-1] == "9 words; the most that one was: 0.4"
    even = terminal([Sentence(WORDS, [0.11] * 8 + [0.12])], Screen(UNICODE, False, 80))
    assert even.endswith("9 words; the most that one was: 0.12, all about alike")
    plain = terminal([Sentence(WORDS, WEIGHTS)], Screen(ASCII, False, 80))
    assert plain.isascii()
    assert "#######" in plain


def test_with_color_words_stand_on_it() -> None:
    shown = terminal(TWO, Screen(UNICODE, True, 80))
    red, green, blue = WORD
    assert f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;27;31;42mawesome\x1b[0m" in shown.replace("\x1b[0m\x1b[0m", "\x1b[0m")
    assert len(shown.splitlines()) == 4


def test_shades_begin_at_nothing() -> None:
    assert tint(0.0, WORD).tolist() == list(PAPER)
    assert tint(1.0, WORD).tolist() == list(WORD)
    alike = terminal([Sentence(["a", "b"], [0.5, 0.5])], Screen(UNICODE, False, 80)).splitlines()
    assert alike[1] == "█ █"


def test_what_counts_against_is_not_shaded() -> None:
    lines = terminal([Sentence(["a", "b", "c"], [-5.0, 1.0, -0.1])], Screen(UNICODE, False, 80)).splitlines()
    assert lines[1] == "  █"


def test_the_picture_holds_every_word() -> None:
    root = ElementTree.fromstring(svg(TWO, "title", ["note"]))
    written = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert written[:2] == ["title", "note"]
    assert written[2 : 2 + len(WORDS)] == WORDS
    assert written[-1] == "Mark: the sentence's weight. Shade: the word's weight times √(its sentence's)."


def test_a_look_of_one_query_at_words_is_shown_as_text(tmp_path: object) -> None:
    sides = {"text": Side("words", WORDS), "label": Side("label", ["positive"])}
    scene = Scene("t", sides, [Look("pool", "label", "text", np.array([[WEIGHTS]], dtype=np.float32))])
    assert " ".join(WORDS) in scene_terminal(scene, color=False, width=80)
    (path,) = save_picture(Trace("document_attention", [scene]), f"{tmp_path}/look.png")
    assert Image.open(io.BytesIO(path.read_bytes())).size[0] == 1440
    letters = Scene("t", {**sides, "text": Side("characters", WORDS)}, scene.looks)
    assert " ".join(WORDS) not in scene_terminal(letters, color=False, width=80)
