"""A chart of trainings that draws itself: in the terminal, in a notebook, and as a file of the kind that its name says."""

from pathlib import Path

from saccade.view.charts.panels import Panels
from saccade.view.charts.panels_page import panels_page
from saccade.view.charts.panels_svg import panels_svg
from saccade.view.charts.panels_text import panels_text
from saccade.view.output.saving import DRAWINGS, kind_of, save_drawing, write


class RunPlot:
    """Loss and metrics of runs: print it, save it, or let a notebook show it."""

    def __init__(self, chart: Panels) -> None:
        self.chart = chart

    def terminal(self, color: bool | None = None, width: int | None = None) -> str:
        """As text; `color` and `width` are the terminal's own unless given."""
        return panels_text(self.chart, color, width)

    def save(self, path: str | Path, scale: int = 2) -> Path:
        """Writes .svg, .png or .html, as the suffix says; `scale` is for .png."""
        target = Path(path)
        if kind_of(target, DRAWINGS) != ".html":
            return save_drawing(panels_svg(self.chart), target, scale)
        write(target, panels_page(self.chart).encode())
        return target

    def __str__(self) -> str:
        return self.terminal()

    def __repr__(self) -> str:
        return f"RunPlot({', '.join(self.chart.names)})"

    def _repr_svg_(self) -> str:
        return panels_svg(self.chart)
