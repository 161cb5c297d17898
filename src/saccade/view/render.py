"""One look of a scene, drawn: for the terminal, as SVG and as PNG."""

from saccade.errors import UsageError
from saccade.view.drawings import drawing_of
from saccade.view.drawings.figure import Drawing, Figure, find_look
from saccade.view.output.display_text import columns
from saccade.view.output.screen import NARROWEST, Screen, this_screen
from saccade.view.trace import Scene, check, check_head


def terminal(
    scene: Scene,
    look: str | None = None,
    head: int | None = None,
    color: bool | None = None,
    width: int | None = None,
    drawing: str | None = None,
) -> str:
    """One look of the scene for the terminal: the first unless named; the mean of its heads unless one is given.

    Heads count from 0. `drawing` is the name of one that fits, else the look's own. `color` and `width` are the
    terminal's own unless given.
    """
    if width is not None and width < NARROWEST:
        raise UsageError(f"expected a width of at least {NARROWEST} columns, got {width}")
    screen = this_screen(color, width)
    form, figure = prepared(scene, look, head, drawing, blank="_" if screen.ascii_only else "␣", unknown="?")
    return "\n".join([*_heading(figure, screen), form.terminal(figure, screen)])


def _heading(figure: Figure, screen: Screen) -> list[str]:
    notes = [note.translate({ord("·"): "-", ord("–"): "-"}) if screen.ascii_only else note for note in figure.notes]
    lines = [part for line in (figure.scene.title, *notes) for part in _wrapped(line, screen) if part]
    return [screen.fit(line, screen.width).rstrip() for line in lines]


def _wrapped(line: str, screen: Screen) -> list[str]:
    """The parts of a line that goes over the edge, as many beside each other as there is room for."""
    between = " - " if screen.ascii_only else " · "
    first, *parts = line.split(between)
    made = [first]
    for part in parts:
        longer = f"{made[-1]}{between}{part}"
        made[-1:] = [longer] if columns(longer) <= screen.width else [made[-1], part]
    return made


def svg(scene: Scene, look: str | None = None, head: int | None = None, drawing: str | None = None) -> str:
    """One look of the scene as an SVG file, selected as in `terminal`."""
    form, figure = prepared(scene, look, head, drawing)
    return form.svg(figure)


def png(scene: Scene, look: str | None = None, head: int | None = None, scale: int = 2, drawing: str | None = None) -> bytes:
    """One look of the scene as a PNG file, selected as in `terminal`; `scale` 2 is sharp on dense screens.

    A letter that no installed font has is drawn as a box.
    """
    from saccade.view.output import raster  # Pillow takes a moment to load, and only PNG files need it

    return raster.png(svg(scene, look, head, drawing), scale)


def prepared(
    scene: Scene, look: str | None, head: int | None, drawing: str | None, *, blank: str = "␣", unknown: str = ""
) -> tuple[Drawing, Figure]:
    """How the look is drawn, and what of it."""
    check(scene)
    named = find_look(scene, look)
    check_head(named, head)
    form = drawing_of(scene, named, drawing)
    return form, Figure(scene, named, head, blank, form.axes, unknown)
