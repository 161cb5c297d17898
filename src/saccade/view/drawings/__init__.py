"""Which drawing a look takes: the one list that the terminal, SVG, PNG and the page use.

A drawing is a file here, with its form for the terminal and as SVG, an entry in this list, and a file of its name in
`page`. The first one that fits a look is taken unless another that fits is named; the heat map fits every look that has
weights, so what follows it must be named.
"""

from saccade.errors import UnknownName, UsageError
from saccade.view.drawings import (
    arcs,
    bars,
    gallery,
    glimpse_path,
    head_grid,
    heatmap,
    image_cells,
    image_steps,
    lines,
    neighborhood,
    overlay,
    overview,
    place_map,
    scan_path,
    shaded_text,
    statement_table,
)
from saccade.view.drawings.figure import Drawing
from saccade.view.trace import Look, Scene, quoted

DRAWINGS = (
    glimpse_path.DRAWING,
    shaded_text.DOCUMENT,
    place_map.DRAWING,
    image_steps.DRAWING,
    overlay.DRAWING,
    gallery.DRAWING,
    shaded_text.DRAWING,
    neighborhood.DRAWING,
    bars.DRAWING,
    statement_table.DRAWING,
    heatmap.DRAWING,
    lines.DRAWING,
    arcs.DRAWING,
    overview.DRAWING,
    head_grid.DRAWING,
    image_cells.DRAWING,
    scan_path.DRAWING,
)


def check_drawing(name: str | None) -> None:
    """Raises UnknownName unless a drawing has this name."""
    known = {drawing.name for drawing in DRAWINGS}
    if name is not None and name not in known:
        raise UnknownName("drawing", name, sorted(known))


def drawing_of(scene: Scene, look: Look, name: str | None = None) -> Drawing:
    """The drawing that this look takes, or the one of this name."""
    check_drawing(name)
    fitting = {drawing.name: drawing for drawing in reversed(DRAWINGS) if drawing.fits(scene, look)}
    if name is not None and name not in fitting:
        possible = ", ".join(reversed(fitting))
        raise UsageError(f"look {quoted(look.name)} cannot be drawn as {name}; it can be drawn as {possible}")
    return fitting[name or next(reversed(fitting))]
