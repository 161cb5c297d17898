"""What is said of a look: which is the first, its notes, and how flat it is."""

import dataclasses

import numpy as np
import pytest

from saccade.view.drawings.figure import Figure, find_look, is_flat, spread
from saccade.view.trace import Axis, Look, Scene

from ..traces import glimpses, marked, softmax


def test_an_attribution_is_never_the_first_where_there_is_attention() -> None:
    scene = marked()
    assert find_look(scene, None).name == "cross-attention"
    assert find_look(scene, "gradient × input").kind == "attribution"
    alone = dataclasses.replace(scene, looks=scene.looks[:1])
    assert find_look(alone, None).name == "gradient × input"


def between(rows: list[list[float]], kind: str = "attention") -> tuple[Scene, Look]:
    look = Look("l", "q", "k", np.array([rows], dtype=np.float32), kind=kind)
    axes = {"q": Axis("words", ["q"] * len(rows)), "k": Axis("words", ["k"] * len(rows[0]))}
    return Scene("t", axes, [look]), look


def test_entropy_counts_the_places_that_may_be_looked_at() -> None:
    assert spread(*between([[0.25] * 4, [0.5, 0.5, 0, 0]])) == pytest.approx(1.0)
    assert spread(*between([[0.9, 0.1], [1.0, 0.0]])) == pytest.approx(0.469, abs=1e-3)  # the second row has no choice
    assert spread(*between([[1.0, 0.0]])) is None
    assert spread(*between([[0.5, 0.9]])) is None  # gates are no distribution
    assert spread(*between([[0.5, 0.5]], kind="attribution")) is None
    assert spread(glimpses(), glimpses().looks[0]) is None


def test_a_flat_look_is_said_to_be_flat() -> None:
    flat, uneven = between([[0.26, 0.24, 0.26, 0.24]]), between([[0.4, 0.1, 0.4, 0.1]])
    assert (is_flat(*flat), is_flat(*uneven)) == (True, False)
    assert Figure(*flat).notes[-1] == "nearly uniform: each row looks at everything alike"
    assert "uniform" not in " ".join(Figure(*uneven).notes)


def test_notes_name_what_is_unknown_and_what_is_no_attention() -> None:
    scene = marked()
    notes = Figure(scene, scene.looks[0]).notes
    assert notes[1:] == ["attribution: what moved the output, not attention", "unknown to the tokenizer: Qzx"]
    assert Figure(scene, scene.looks[1]).notes[1:] == ["unknown to the tokenizer: Qzx"]
    assert Figure(scene, scene.looks[1], unknown="?").names(scene.axes["source"]) == ["das", "Qzx?", "Haus"]
    many = Axis("words", list("abcdefgh"), unknown=range(8))
    look = Look("l", "q", "q", np.eye(8, dtype=np.float32)[None])
    assert Figure(Scene("t", {"q": many}, [look]), look).notes[-1].endswith("tokenizer: a, b, c, d, e, f, 2 more")


def test_the_probability_of_a_label_is_a_note() -> None:
    scene, look = between([[0.9, 0.1]])
    known = dataclasses.replace(scene.axes["q"], labels=["good"], probabilities=np.array([0.93], dtype=np.float32))
    assert Figure(dataclasses.replace(scene, axes={**scene.axes, "q": known}), look).notes[1] == "good 93%"


def test_what_is_flat_is_told_alike_with_and_without_logarithms() -> None:
    """Rows from uniform to sharp, around the border and far from it: no head is called focused that is flat."""
    dice, told = np.random.default_rng(0), set()
    for sharpness in (0.0, 0.05, 0.2, 0.3, 0.4, 0.6, 1.0, 3.0):
        scores = np.where(np.tri(6, 40, 34) > 0, sharpness * dice.normal(size=(1, 6, 40)), -np.inf)
        weights = softmax(scores)
        scene = Scene("t", {"x": Axis("w", [""] * 6), "y": Axis("w", [""] * 40)}, [Look("l", "x", "y", weights)])
        flat = is_flat(scene, scene.looks[0], 0)
        assert flat == ((spread(scene, scene.looks[0], 0) or 0) > 0.99)
        told.add(flat)
    assert told == {True, False}
