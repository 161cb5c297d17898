"""CSV files whose first line names the columns, some of which are expected and all others are numbers."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.inputs import require_regular


class CsvTable:
    """A CSV file: its header, and its rows as texts."""

    def __init__(self, path: Path, wanted: tuple[str, ...]) -> None:
        self.path, self.wanted = path, wanted
        try:
            require_regular(path, "name a CSV file")
            with path.open(encoding="utf-8-sig", newline="") as file:
                numbered = [(number, row) for number, row in enumerate(csv.reader(file, strict=True), 1) if row] or [(1, [])]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DataError(f"{path}: cannot be read as CSV in UTF-8 ({reason})") from None
        header, self.rows = numbered[0][1], [row for _, row in numbered[1:]]
        self.places = [number for number, _ in numbered[1:]]  # empty lines count, so that an editor finds the row
        self.header = [name.strip() for name in header]
        for name in wanted:
            if name not in self.header:
                raise DataError(
                    f"{path}: expected a column {name!r} in the first line, got {', '.join(header) or 'nothing'}"
                )
        for place, row in enumerate(self.rows):
            if len(row) != len(header):
                raise DataError(f"{self.where(place)}: expected {len(header)} columns, got {len(row)}; mend the row")

    def where(self, place: int) -> str:
        """The file and the row of what stands in this place of a column, for messages."""
        return f"{self.path}: row {self.places[place]}"

    def column(self, name: str) -> list[str]:
        """The texts of a column."""
        place = self.header.index(name)
        return [row[place].strip() for row in self.rows]

    def others(self, without: tuple[str, ...]) -> tuple[str, ...]:
        """The names of all other columns."""
        return tuple(name for name in self.header if name not in without)

    def numbers(self, without: tuple[str, ...]) -> NDArray[np.float32]:
        """All other columns, (rows, columns)."""
        places = [place for place, name in enumerate(self.header) if name not in without]
        return np.array(list(self._numbers(places)), np.float32).reshape(len(self.rows), len(places))

    def _numbers(self, places: list[int]) -> Iterator[list[float]]:
        for number, row in enumerate(self.rows):
            try:
                found = [float(row[place]) for place in places]
            except ValueError:
                found = [float("nan")]
            if not np.isfinite(np.array(found).astype(np.float32)).all():
                raise DataError(f"{self.where(number)}: expected finite numbers as features, got {','.join(row)!r}")
            yield found
