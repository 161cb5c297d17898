"""A scene as a picture: one look of it in the terminal, as SVG and as PNG, drawn as `drawings` says that it is drawn."""

from saccade.errors import UsageError
from saccade.view.drawings import Drawing, drawing_of
from saccade.view.picture import Picture, find_look, picture
from saccade.view.screen import NARROWEST, Screen, this_screen
from saccade.view.trace import Scene, check


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
    drawing, shown = _chosen(scene, look, head, blank="_" if screen.ascii_only else "␣")
    return "\n".join([*_lines(shown, screen), drawing.terminal(shown, screen)])


def _lines(shown: Picture, screen: Screen) -> list[str]:
    notes = [note.translate({ord("·"): "-", ord("–"): "-"}) if screen.ascii_only else note for note in shown.notes]
    return [screen.fit(line, screen.width).rstrip() for line in (shown.title, *notes) if line]


def svg(scene: Scene, look: str | None = None, head: int | None = None) -> str:
    """One look of the scene as an SVG file, chosen as in `terminal`."""
    drawing, shown = _chosen(scene, look, head)
    return drawing.svg(shown)


def png(scene: Scene, look: str | None = None, head: int | None = None, scale: int = 2) -> bytes:
    """One look of the scene as a PNG file, chosen as in `terminal`; `scale` 2 is sharp on dense screens.

    A letter that no installed font has is drawn as a box.
    """
    drawing, shown = _chosen(scene, look, head)
    return drawing.png(shown, scale)


def _chosen(scene: Scene, look: str | None, head: int | None, *, blank: str = "␣") -> tuple[Drawing, Picture]:
    check(scene)
    drawing = drawing_of(scene, find_look(scene, look))
    return drawing, picture(scene, look, head, blank=blank, sides=drawing.sides)
