"""An image once for each written word, each cell of the grid as bright as its weight: `image_steps`, not smooth."""

from functools import partial

from saccade.view.drawings.figure import Drawing
from saccade.view.drawings.image_steps import fits, page, svg, terminal

DRAWING = Drawing(
    name="image_cells", fits=fits, terminal=partial(terminal, exact=True), svg=partial(svg, exact=True), page=page
)
