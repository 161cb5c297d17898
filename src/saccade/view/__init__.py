"""Pictures of where a model looked: text for a terminal and SVG for a page, from plain arrays, without torch.

`terminal` and `svg` are for callers. `scales`, `labels`, `colors`, `screen` and `elements` are what they share:
numbers to positions, text that is safe to show, a color ramp, what this terminal can do, and SVG elements.
"""

from saccade.view import svg, terminal

__all__ = ["svg", "terminal"]
