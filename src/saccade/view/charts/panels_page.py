"""Panels of curves as a page: one drawing for a desk and one for a phone, on light and on dark paper; nothing is loaded."""

from html import escape

from saccade.view.charts.panels import Panels
from saccade.view.charts.panels_svg import NARROW, SKIPPED, faint_color, panels_svg, run_color
from saccade.view.output import colors
from saccade.view.output.display_text import fit
from saccade.view.output.svg import FAINT, INK, PAPER, QUIET

DARK = {PAPER: "#15181f", INK: "#e7e9ee", QUIET: "#a2a9b8", FAINT: "#2c313c", SKIPPED: "#ff6b9a"}
LIGHTER = 0.45  # how far from its color to white a curve is on dark paper
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 0; padding: 8px; background: {paper}; text-align: center }}
svg {{ max-width: 100%; height: auto }}
.narrow {{ display: none }}
@media (max-width: 640px) {{ .wide {{ display: none }} .narrow {{ display: block }} }}
@media (prefers-color-scheme: dark) {{
{dark}
}}
</style>
</head>
<body>
<div class="wide">{wide}</div>
<div class="narrow">{narrow}</div>
</body>
</html>
"""


def panels_page(chart: Panels) -> str:
    """The page."""
    return PAGE.format(
        title=escape(fit(chart.title, 200)),
        paper=PAPER,
        dark="\n".join([f"body {{ background: {DARK[PAPER]} }}", *(_rule(old, new) for old, new in _dark().items())]),
        wide=panels_svg(chart),
        narrow=panels_svg(chart, NARROW),
    )


def _dark() -> dict[str, str]:
    """Every color of a drawing, and what it is on dark paper."""
    runs = {run_color(number): _lighter(run_color(number)) for number in range(len(colors.DISTINCT))}
    faint = {faint_color(number): _mixed(runs[run_color(number)], DARK[PAPER], 0.6) for number in range(len(runs))}
    return {**DARK, **runs, **faint}


def _rule(old: str, new: str) -> str:
    return f'[fill="{old}"] {{ fill: {new} }} [stroke="{old}"] {{ stroke: {new} }}'


def _lighter(color: str) -> str:
    return _mixed(color, "#ffffff", LIGHTER)


def _mixed(color: str, other: str, share: float) -> str:
    """So much of the other color in the first."""
    both = [[int(each[place : place + 2], 16) for place in (1, 3, 5)] for each in (color, other)]
    return colors.hexadecimal([round(one * (1 - share) + two * share) for one, two in zip(*both, strict=True)])
