"""Words shaded by their weights: every word once, in its place, from 0 up; alike words look alike."""

import dataclasses
import io
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from saccade.view import Shown, render
from saccade.view.drawings import drawing_of
from saccade.view.drawings.figure import Figure
from saccade.view.drawings.shaded_text import Sentence, owners, placed, sentence_look, sentences, svg, terminal
from saccade.view.output.colors import PAPER, WORD, tint
from saccade.view.output.screen import ASCII, UNICODE, Screen
from saccade.view.trace import Axis, Look, Scene, Trace

from ..traces import document

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
    assert lines[-1] == "9 words; largest weight 0.4"
    signed = terminal([Sentence(["up", "down"], [1.0, -0.5], None, True)], Screen(UNICODE, False, 90)).splitlines()
    assert signed[1] == "██ ----"
    assert signed[2] == "2 words; largest weight 1, smallest -0.5; red: raised the output, blue: lowered it"
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
    axes = {"text": Axis("words", WORDS), "label": Axis("label", ["positive"])}
    scene = Scene("t", axes, [Look("pool", "label", "text", np.array([[WEIGHTS]], dtype=np.float32))])
    assert " ".join(WORDS) in render.terminal(scene, color=False, width=80)
    (path,) = Shown(Trace("document_attention", [scene])).save(f"{tmp_path}/look.png")
    assert Image.open(io.BytesIO(path.read_bytes())).size[0] == 1440
    letters = Scene("t", {**axes, "text": Axis("characters", WORDS)}, scene.looks)
    assert " ".join(WORDS) not in render.terminal(letters, color=False, width=80)


def rows_of(rows: list[list[float]]) -> tuple[Scene, Look]:
    """A scene of sentences at words, and its only look."""
    axes = {"s": Axis("sentences", [""] * len(rows)), "w": Axis("words", [""] * len(rows[0]))}
    look = Look("l", "s", "w", np.array([rows], dtype=np.float32))
    return Scene("t", axes, [look]), look


def test_words_belong_to_the_sentence_that_looked_at_them() -> None:
    assert owners(document(), document().looks[0]).tolist() == [0, 0, 1, 1, 1, 2, 2]  # type: ignore[union-attr]
    gaps = rows_of([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]])
    assert owners(*gaps).tolist() == [0, 0, 0, 2, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize("rows", [[[1, 0], [1, 1]], [[0, 1], [1, 0]], [[0, 0], [0, 0]]])
def test_what_is_no_document_stays_a_matrix(rows: list[list[float]]) -> None:
    assert owners(*rows_of(rows)) is None
    one = document()
    mixed = dataclasses.replace(one.looks[0], weights=np.ones((2, 3, 7), dtype=np.float32))
    assert drawing_of(dataclasses.replace(one, looks=[mixed]), mixed).name == "heatmap"


def test_sentences_take_their_weights_from_the_look_above() -> None:
    one = document()
    assert sentence_look(one, one.looks[0]) is one.looks[1]
    found = sentences(Figure(one, one.looks[0], 0))
    assert [len(sentence.words) for sentence in found] == [2, 3, 2]
    assert [sentence.weight for sentence in found] == pytest.approx([0.25, 0.11, 0.64])
    assert found[2].weights == [0.0, 1.0]
    alone = sentences(Figure(dataclasses.replace(one, looks=one.looks[:1]), one.looks[0]))
    assert [sentence.weight for sentence in alone] == [None] * 3


def test_words_pale_with_their_sentence() -> None:
    one = document()
    shares = {word.word: word.share for word in placed(sentences(Figure(one, one.looks[0], 0)), 80, 3)}
    assert shares["again"] == 1.0
    assert shares["good"] == pytest.approx(0.5 * 0.25**0.5 / 0.64**0.5)


def test_a_sentence_has_a_line_and_a_mark() -> None:
    lines = render.terminal(document(), head=0, color=False, width=60).splitlines()[2:]
    assert [line[3:] for line in lines[0:6:2]] == ["good room", "bad سيئ 漢字", "never again"]
    assert lines[4].startswith("██ ")
    assert "Shade: the word's weight times √(its sentence's)." in " ".join(lines)
    drawing = render.svg(document())
    assert drawing.count('width="14"') == 3
    assert "times √(its sentence" in drawing


def test_a_sentence_without_words_keeps_its_mark() -> None:
    one = document()
    weights = one.looks[0].weights
    weights[:, 0, :2], weights[:, 1, 2:5] = 0, 0
    weights[:, 0, :5] = 0.2
    empty = dataclasses.replace(one, looks=[dataclasses.replace(one.looks[0], weights=weights), one.looks[1]])
    assert render.svg(empty).count('width="14"') == 3
