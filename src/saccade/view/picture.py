"""What is drawn of a scene: one look of it, one head or the mean of all, the names of its places, and the lines above."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from saccade.errors import UnknownName, UsageError
from saccade.view import labels
from saccade.view.labels import Labels
from saccade.view.scales import Floats
from saccade.view.trace import Look, Scene, Side, check, quoted

RULER = 32  # from so many places on, labels that only count are a scale
AXES = "down: {} · across: {}"


@dataclass(frozen=True)
class Picture:
    """One matrix (queries × keys), the labels of its sides, the lines above it, and where all this is from."""

    weights: Floats
    rows: Labels
    columns: Labels
    title: str
    notes: Sequence[str]
    names: Sequence[str]
    "The keys by name, even where they only count."
    scene: Scene
    look: Look
    head: int | None

    @property
    def keys(self) -> Side:
        return self.scene.sides[self.look.keys]


def picture(
    scene: Scene, look: str | None = None, head: int | None = None, *, blank: str = "␣", sides: str = AXES
) -> Picture:
    """The matrix that is asked for, with what must be said about it; `sides` is how its two sides are told."""
    check(scene)
    chosen = find_look(scene, look)
    weights, which = one_head(chosen, head)
    down, across = scene.sides[chosen.queries], scene.sides[chosen.keys]
    told = sides.format(_told(chosen.queries, down), _told(chosen.keys, across))
    return Picture(
        weights=weights,
        rows=_places(down, blank),
        columns=_places(across, blank),
        title=scene.title,
        notes=[" · ".join(filter(None, [chosen.name, which, told])), *([_notes(scene)] if scene.notes else [])],
        names=[labels.place(label, blank=blank) for label in across.labels],
        scene=scene,
        look=chosen,
        head=head,
    )


def _told(name: str, side: Side) -> str:
    """The name of a side and what it is made of, said once where both are one word."""
    return name if name == side.kind else f"{name} ({side.kind})"


def find_look(scene: Scene, name: str | None) -> Look:
    """The look of this name; the first unless named."""
    if name is None:
        return scene.looks[0]
    known = {look.name: look for look in scene.looks}
    if name not in known:
        raise UnknownName("look", name, known)
    return known[name]


def one_head(look: Look, head: int | None) -> tuple[Floats, str]:
    """The weights of a head, or the mean over all, and which of these it is."""
    heads = len(look.weights)
    if head is not None and not 0 <= head < heads:
        known = "only head 0" if heads == 1 else f"heads 0 to {heads - 1}"
        raise UsageError(f"look {quoted(look.name)} has {known}, got head {head}")
    if head is not None:
        return look.weights[head].astype(np.float64), f"head {head} of 0–{heads - 1}" if heads > 1 else ""
    return look.weights.mean(axis=0, dtype=np.float64), f"mean of {heads} heads" if heads > 1 else ""


def _notes(scene: Scene) -> str:
    return " · ".join(f"{key}: {note if isinstance(note, str) else f'{note:.4g}'}" for key, note in scene.notes.items())


def _places(side: Side, blank: str) -> Labels:
    """The labels to draw: names, or numbers where they do nothing but count upward (frames, instances …)."""
    if len(side.labels) >= RULER and all(label.isascii() and label.isdigit() for label in side.labels):
        numbers = [float(label) for label in side.labels]
        if all(after > before for before, after in pairwise(numbers)):
            return numbers
    return [labels.place(label, blank=blank) for label in side.labels]
