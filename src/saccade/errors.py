"""What can go wrong, as one tree: SaccadeError ─ ShapeError (tensors that do not fit), UnknownName (not in a registry)."""

import difflib
from collections.abc import Iterable


class SaccadeError(Exception):
    """Every error that saccade raises on purpose; its text is one line that names what was expected and what came."""


class ShapeError(SaccadeError, ValueError):
    """Tensors whose shapes do not fit each other."""


class UnknownName(SaccadeError, KeyError):  # noqa: N818 - reads as what it is
    """A name that is not in a registry; the message lists the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        self.text = f"unknown {kind} {name!r}; {hint}"
        super().__init__(self.text)

    def __str__(self) -> str:
        return self.text
