"""The list of all scores, normalizers and masks, read from the registries: what the documentation shows."""

import inspect
from collections.abc import Mapping

from saccade.attention.masks import MASKS
from saccade.attention.normalizers import NORMALIZERS
from saccade.attention.score import Score
from saccade.attention.scores import SCORES, Perceptron

HEADER = """\
# Scores, normalizers and masks

Written by `.venv/bin/python -m saccade.attention > docs/catalog.md` from the registries; a test keeps it so.
Any score goes with any normalizer, any mask and either layout, rectangles (`attend`) and edge lists (`attend_edges`).
"""


def catalog() -> str:
    """The whole list, as Markdown."""
    parts = [
        HEADER,
        "## Scores\n",
        _table(SCORES, {name: _path(kind) for name, kind in SCORES.items()}),
        "## Normalizers\n",
        _table(NORMALIZERS),
        "## Masks\n",
        _table(MASKS),
    ]
    return "\n".join(parts)


def _path(kind: type[Score]) -> str:
    if kind.fold is not Score.fold:
        return "fused scaled dot product"
    if issubclass(kind, Perceptron):
        return "fused kernel"
    return "blocks of rows" + ("; on edges a fused kernel" if kind.pool_edges is not Score.pool_edges else "")


def _call(entry: object) -> str:
    assert callable(entry)
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = [p for p in inspect.signature(entry).parameters.values() if p.kind not in variable]
    shown = (p.name if p.default is p.empty else f"{p.name}={p.default}" for p in parameters)
    return f"{getattr(entry, '__name__', entry)}({', '.join(shown)})"


def _table(registry: Mapping[str, object], computed: Mapping[str, str] | None = None) -> str:
    head = "| name | made by | what it is |" + (" computed by |" if computed else "")
    rows = [head, "|---" * (head.count("|") - 1) + "|"]
    for name, entry in registry.items():
        what = " ".join((entry.__doc__ or "").split("\n\n")[0].split()).replace("|", "\\|")
        rows.append(f"| `{name}` | `{_call(entry)}` | {what} |" + (f" {computed[name]} |" if computed else ""))
    return "\n".join(rows) + "\n"
