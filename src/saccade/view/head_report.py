"""A report of heads: what each attends to on the texts given, as a table that sorts by any column, and as a picture."""

import base64
import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.errors import UnknownName
from saccade.view.drawings import head_grid
from saccade.view.head_measures import MEASURES, HeadSums
from saccade.view.output.saving import DRAWINGS, kind_of, save_drawing, write
from saccade.view.output.screen import this_screen

FILES = (*DRAWINGS, ".json", ".csv")


@dataclass(frozen=True)
class HeadReport:
    """Every head with its measures: the share of its weight on the previous token, on the same, the next, the first and on
    separators, the entropy of its rows and the mean distance. `texts` and `tokens` say what they were measured on.

    report = model.heads("The animal didn't cross the street.")
    print(report.sorted("previous"))
    report.save("heads.svg")
    """

    system: str
    sums: Mapping[str, HeadSums]
    texts: int
    tokens: int
    by: str = ""
    "The measure that it is sorted by; else layers and heads stand in their order."
    ascending: bool = False

    def sorted(self, by: str, *, ascending: bool = False) -> "HeadReport":
        """The same report with its heads in the order of a measure, the largest first."""
        if by not in MEASURES:
            raise UnknownName("measure", by, MEASURES)
        return HeadReport(self.system, self.sums, self.texts, self.tokens, by, ascending)

    def order(self) -> list[tuple[str, int]]:
        """The name of the look and the head, in the order of the table; what has no such measure stands last."""
        found = head_grid.every(self.sums)
        if not self.by:
            return found
        sign = 1 if self.ascending else -1

        def place(one: tuple[str, int]) -> tuple[bool, float]:
            value = self.sums[one[0]].mean(self.by, one[1])
            return value is None, 0.0 if value is None else sign * value

        return sorted(found, key=place)

    def table(self) -> list[dict[str, Any]]:
        """A row for each head: look, layer (from 1), head (from 0) and measures, None where there is nothing to measure."""
        return [
            {"look": name, "layer": self.sums[name].layer, "head": head}
            | {measure: self.sums[name].mean(measure, head) for measure in MEASURES}
            for name, head in self.order()
        ]

    def terminal(self, count: int | None = None, width: int | None = None) -> str:
        """The table as text, of so many heads."""
        screen, order = this_screen(False, width), self.order()
        shown = order[:count]
        rows = head_grid.lines(self.sums, shown, screen)
        left = [f"{len(order) - len(shown)} more heads"] if len(shown) < len(order) else []
        return "\n".join([screen.fit(self._title(), screen.width), *rows, *left])

    def _title(self) -> str:
        count = sum(one.heads for one in self.sums.values())
        plural = "s" * (self.texts != 1)
        which = f", sorted by {self.by}" if self.by else ""
        return f"{self.system}: {count:,} heads on {self.texts:,} text{plural}, {self.tokens:,} tokens{which}"

    def svg(self, measure: str | None = None) -> str:
        """A grid of layers and heads for every measure, or for one."""
        if measure is not None and measure not in MEASURES:
            raise UnknownName("measure", measure, MEASURES)
        return head_grid.drawn(self.sums, self._title(), measure=measure)

    def save(self, path: str | Path, measure: str | None = None) -> Path:
        """Writes the picture (.svg, .png, .html), of all measures or of one, or the numbers (.json, .csv)."""
        target = Path(path)
        kind = kind_of(target, FILES)
        if kind == ".json":
            write(target, self.json().encode())
        elif kind == ".csv":
            write(target, self._csv().encode())
        else:
            save_drawing(self.svg(measure), target)
        return target

    def json(self) -> str:
        """The report as JSON."""
        facts = {"system": self.system, "texts": self.texts, "tokens": self.tokens, "sorted_by": self.by or None}
        return json.dumps({**facts, "heads": self.table()})

    def _csv(self) -> str:
        written, rows = io.StringIO(), self.table()
        table = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return written.getvalue()

    def __str__(self) -> str:
        return self.terminal()

    def _repr_html_(self) -> str:
        """The picture, as an image: it reaches nothing else in the notebook."""
        return f'<img alt="heads" src="data:image/svg+xml;base64,{base64.b64encode(self.svg().encode()).decode()}">'
