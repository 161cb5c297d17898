"""Documents: which sentence a word belongs to, what sentences weigh, and words that pale with their sentence."""

import dataclasses

import numpy as np
import pytest

from saccade.view import scene
from saccade.view.documents import owners, sentences, weighed
from saccade.view.drawings import drawing_of
from saccade.view.picture import picture
from saccade.view.running import placed
from saccade.view.trace import Look

from .traces import document


def look(rows: list[list[float]]) -> Look:
    return Look("l", "s", "w", np.array([rows], dtype=np.float32))


def test_words_belong_to_the_sentence_that_looked_at_them() -> None:
    assert owners(document().looks[0]).tolist() == [0, 0, 1, 1, 1, 2, 2]  # type: ignore[union-attr]
    gaps = look([[0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]])
    assert owners(gaps).tolist() == [0, 0, 0, 2, 2]  # type: ignore[union-attr]


@pytest.mark.parametrize("rows", [[[1, 0], [1, 1]], [[0, 1], [1, 0]], [[0, 0], [0, 0]]])
def test_what_is_no_document_stays_a_matrix(rows: list[list[float]]) -> None:
    assert owners(look(rows)) is None
    one = document()
    mixed = dataclasses.replace(one.looks[0], weights=np.ones_like(one.looks[0].weights))
    assert drawing_of(dataclasses.replace(one, looks=[mixed]), mixed).name == "matrix"


def test_sentences_take_their_weights_from_the_look_above() -> None:
    one = document()
    assert weighed(one, one.looks[0]) is one.looks[1]
    found = sentences(picture(one, "words", 0))
    assert [len(sentence.words) for sentence in found] == [2, 3, 2]
    assert [sentence.weight for sentence in found] == pytest.approx([0.25, 0.11, 0.64])
    assert found[2].weights == [0.0, 1.0]
    alone = sentences(picture(dataclasses.replace(one, looks=one.looks[:1])))
    assert [sentence.weight for sentence in alone] == [None] * 3


def test_words_pale_with_their_sentence() -> None:
    one = document()
    shares = {word.word: word.share for word in placed(sentences(picture(one, "words", 0)), 80, 3)}
    assert shares["again"] == 1.0
    assert shares["good"] == pytest.approx(0.5 * 0.25**0.5 / 0.64**0.5)


def test_a_sentence_has_a_line_and_a_mark() -> None:
    lines = scene.terminal(document(), head=0, color=False, width=60).splitlines()[2:]
    assert [line[3:] for line in lines[0:6:2]] == ["good room", "bad سيئ 漢字", "never again"]
    assert lines[4].startswith("██ ")
    assert "Shade: the word's weight times √(its sentence's)." in " ".join(lines)
    drawing = scene.svg(document())
    assert drawing.count('width="14"') == 3
    assert "times √(its sentence" in drawing


def test_a_sentence_without_words_keeps_its_mark() -> None:
    one = document()
    weights = one.looks[0].weights.copy()
    weights[:, 0, :2], weights[:, 1, 2:5] = 0, 0
    weights[:, 0, :5] = 0.2
    empty = dataclasses.replace(one, looks=[dataclasses.replace(one.looks[0], weights=weights), one.looks[1]])
    assert scene.svg(empty).count('width="14"') == 3
