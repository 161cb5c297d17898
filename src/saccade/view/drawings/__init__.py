"""Which drawing a look takes: the one list that the terminal, SVG, PNG and the page use.

A drawing is a file here, with its form for the terminal and as SVG, an entry in this list, and a file of its name in
`page`. The first one that fits a look is taken; the heat map fits every look that has weights.
"""

from saccade.view.drawings import (
    bars,
    gallery,
    glimpse_path,
    heatmap,
    image_steps,
    neighborhood,
    overlay,
    shaded_text,
)
from saccade.view.drawings.figure import Drawing
from saccade.view.trace import Look, Scene

DRAWINGS = (
    glimpse_path.DRAWING,
    shaded_text.DOCUMENT,
    image_steps.DRAWING,
    overlay.DRAWING,
    gallery.DRAWING,
    shaded_text.DRAWING,
    neighborhood.DRAWING,
    bars.DRAWING,
    heatmap.DRAWING,
)


def drawing_of(scene: Scene, look: Look) -> Drawing:
    """The drawing that this look takes."""
    return next(drawing for drawing in DRAWINGS if drawing.fits(scene, look))
