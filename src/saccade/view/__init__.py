"""Drawings of where a model looked, for the terminal, as SVG and PNG, as a page and in a notebook; without torch.

A `Trace` holds scenes: axes by name, and looks between them. `Shown` draws one; `save` and `load` keep one in a file;
`render` draws one look of one scene. `heatmap` draws any matrix, `charts` has figures of other numbers.
"""

from saccade.view import render
from saccade.view.drawings import heatmap
from saccade.view.output.saving import save_drawing
from saccade.view.shown import Shown
from saccade.view.trace import Axis, Look, Scene, Trace, check
from saccade.view.trace_file import load, save

__all__ = ["Axis", "Look", "Scene", "Shown", "Trace", "check", "heatmap", "load", "render", "save", "save_drawing"]
