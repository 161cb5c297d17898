"""A scene as a picture: which matrix of it is drawn, under which words, in the terminal and as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from saccade.errors import UnknownName, UsageError
from saccade.view import labels, neighborhood, running
from saccade.view import svg as vector
from saccade.view import terminal as characters
from saccade.view.labels import Labels
from saccade.view.running import Sentence
from saccade.view.scales import Floats
from saccade.view.screen import NARROWEST, Screen, this_screen
from saccade.view.trace import Look, Scene, Side, check, quoted

RULER = 32  # from so many places on, labels that only count are a scale


@dataclass(frozen=True)
class Picture:
    """What is drawn: one matrix (queries × keys), the labels of its sides, and the lines above it."""

    weights: Floats
    rows: Labels
    columns: Labels
    title: str
    notes: Sequence[str]


def terminal(
    scene: Scene,
    look: str | None = None,
    head: int | None = None,
    color: bool | None = None,
    width: int | None = None,
) -> str:
    """One look of the scene for the terminal: its first unless named; of several heads the mean unless one is chosen.

    Heads count from 0. `color` and `width` are the terminal's own unless given.
    """
    if width is not None and width < NARROWEST:
        raise UsageError(f"expected a width of at least {NARROWEST} columns, got {width}")
    screen = this_screen(color, width)
    shown = picture(scene, look, head, blank="_" if screen.ascii_only else "␣")
    if is_text(scene, look):
        return "\n".join([*_lines(shown, screen), running.terminal(_sentences(shown), screen)])
    if is_neighborhood(scene, look):
        listed = neighborhood.terminal(list(map(str, shown.columns or [])), shown.weights[0].tolist(), screen)
        return "\n".join([*_lines(shown, screen), listed])
    drawing = characters.heatmap(shown.weights, rows=shown.rows, columns=shown.columns, color=color, width=width)
    return "\n".join([*_lines(shown, screen), drawing])


def _lines(shown: Picture, screen: Screen) -> list[str]:
    notes = [note.translate({ord("·"): "-", ord("–"): "-"}) if screen.ascii_only else note for note in shown.notes]
    return [screen.fit(line, screen.width).rstrip() for line in (shown.title, *notes) if line]


def svg(scene: Scene, look: str | None = None, head: int | None = None) -> str:
    """One look of the scene as an SVG file, chosen as in `terminal`."""
    shown = picture(scene, look, head)
    title = shown.title or "where it looked"
    if is_text(scene, look):
        return running.svg(_sentences(shown), title, shown.notes)
    if is_neighborhood(scene, look):
        return neighborhood.svg(list(map(str, shown.columns or [])), shown.weights[0].tolist(), title, shown.notes)
    return vector.heatmap(shown.weights, rows=shown.rows, columns=shown.columns, title=title, notes=shown.notes)


def picture(scene: Scene, look: str | None = None, head: int | None = None, *, blank: str = "␣") -> Picture:
    """The matrix that is asked for, with what must be said about it."""
    check(scene)
    chosen = find_look(scene, look)
    weights, which = _one_head(chosen, head)
    sides = scene.sides[chosen.queries], scene.sides[chosen.keys]
    return Picture(
        weights=weights,
        rows=_places(sides[0], blank),
        columns=_places(sides[1], blank),
        title=scene.title,
        notes=[*_about(scene, chosen, which), *([_notes(scene)] if scene.notes else [])],
    )


def is_text(scene: Scene, name: str | None = None) -> bool:
    """Whether a look is one query's at words: it is then shown as the text itself, with its words shaded."""
    return _one_looks_at(scene, name) == "words"


def is_neighborhood(scene: Scene, name: str | None = None) -> bool:
    """Whether a look is a node's at its neighbors: pictures then show it among them."""
    return _one_looks_at(scene, name) == "neighbors"


def _one_looks_at(scene: Scene, name: str | None) -> str:
    """What a single query looked at; nothing if there are several."""
    chosen = find_look(scene, name)
    return scene.sides[chosen.keys].kind if len(scene.sides[chosen.queries].labels) == 1 else ""


def _sentences(shown: Picture) -> list[Sentence]:
    return [Sentence(list(map(str, shown.columns or [])), shown.weights[0].tolist())]


def find_look(scene: Scene, name: str | None) -> Look:
    """The look of this name; the first unless named."""
    if name is None:
        return scene.looks[0]
    known = {look.name: look for look in scene.looks}
    if name not in known:
        raise UnknownName("look", name, known)
    return known[name]


def _one_head(look: Look, head: int | None) -> tuple[Floats, str]:
    """The weights of a head, or the mean over all, and which of these it is."""
    heads = len(look.weights)
    if head is not None and not 0 <= head < heads:
        known = "only head 0" if heads == 1 else f"heads 0 to {heads - 1}"
        raise UsageError(f"look {quoted(look.name)} has {known}, got head {head}")
    if head is not None:
        return look.weights[head].astype(np.float64), f"head {head} of 0–{heads - 1}" if heads > 1 else ""
    return look.weights.mean(axis=0, dtype=np.float64), f"mean of {heads} heads" if heads > 1 else ""


def _about(scene: Scene, look: Look, which: str) -> list[str]:
    """One line: the look, its head, and what its sides are."""
    down, across = (f"{name} ({scene.sides[name].kind})" for name in (look.queries, look.keys))
    return [" · ".join(filter(None, [look.name, which, f"down: {down}", f"across: {across}"]))]


def _notes(scene: Scene) -> str:
    return " · ".join(f"{key}: {note if isinstance(note, str) else f'{note:.4g}'}" for key, note in scene.notes.items())


def _places(side: Side, blank: str) -> Labels:
    """The labels to draw: names, or numbers where they do nothing but count upward (frames, instances …)."""
    if len(side.labels) >= RULER and all(label.isascii() and label.isdigit() for label in side.labels):
        numbers = [float(label) for label in side.labels]
        if all(after > before for before, after in pairwise(numbers)):
            return numbers
    return [labels.place(label, blank=blank) for label in side.labels]
