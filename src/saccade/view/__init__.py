"""Pictures of where a model looked: text for a terminal, SVG, PNG and a page, from plain arrays, without torch.

`terminal` and `svg` draw any matrix. A `Trace` holds scenes with named sides; `save` and `load` keep it in a file,
`scene` draws one look of it as `drawings` says (text, gallery, overlay, bars, heat map …), `save_picture` writes it as its
file name asks. `lines` is a chart of scores over bins, which `pixels` can turn into a PNG. `scales`, `labels`, `colors`,
`screen`, `elements`, `images` and `fonts` are what these share: numbers to positions, text that is safe to show, a color
ramp, what this terminal can do, SVG elements, pictures inside them, and which font has a letter.
"""

from saccade.view import scene, svg, terminal
from saccade.view.pictures import save_picture
from saccade.view.trace import Look, Scene, Side, Trace, check
from saccade.view.trace_file import load, save

__all__ = ["Look", "Scene", "Side", "Trace", "check", "load", "save", "save_picture", "scene", "svg", "terminal"]
