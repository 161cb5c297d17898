"""CSV files, whose first line names the columns: with commas, semicolons or TABs between, quoted where needed."""

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.formats import own_files
from saccade.data.formats.own_files import BOM
from saccade.errors import DataError
from saccade.inputs import LONGEST_LINE

DELIMITERS = ",;\t"
CSV = "a CSV file"

Numbered = list[tuple[int, list[str]]]  # each row with the line on which it begins


def csv_rows(path: Path, content: bytes) -> tuple[list[str], Numbered]:
    """The names of the columns, and the rows below; bytes that are not UTF-8 are kept as surrogates."""
    rows = numbered_rows(path, io.StringIO(content.removeprefix(BOM).decode(errors="surrogateescape"), newline=""))
    return next(rows)[1], list(rows)


def numbered_rows(path: Path, file: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file, each with the line on which it begins; of the first, the names of the columns.

    Whatever stands most often in the first line is what stands between columns: a comma, a semicolon or a TAB.
    """
    lines = iter(file)
    before = list(_to_text(lines))
    header = next((line for line in before[-1:] if line.strip()), "")
    delimiter = max(DELIMITERS, key=header.count)
    csv.field_size_limit(LONGEST_LINE)  # Python's own limit is shorter than some texts
    rows, start, named = csv.reader(chain(before, lines), delimiter=delimiter, strict=True), 1, False
    try:
        for row in rows:
            if row:
                yield start, row if named else [name.strip() for name in row]
                named = True
            start = rows.line_num + 1
    except csv.Error as error:
        unclosed = "the quote that opens in this row is never closed" if "unexpected end" in str(error) else str(error)
        raise DataError(f"{path}:{start}: cannot be read as CSV ({unclosed}); mend the row") from None
    if not named:
        raise DataError(f"{path}: expected a first line that names the columns, got an empty file")


def _to_text(lines: Iterator[str]) -> Iterator[str]:
    """The lines up to the first that is not blank."""
    for line in lines:
        yield line
        if line.strip():
            return


def require_once(where: str, names: list[str], wanted: Iterable[str]) -> None:
    """Refuse several columns of a name that is wanted."""
    for name in wanted:
        if names.count(name) > 1:
            raise DataError(f"{where}: expected one column {name!r}, got {names.count(name)}; rename the others")


class CsvTable:
    """A CSV file of which some columns are expected and all others are numbers: its header, and its rows as texts."""

    def __init__(self, path: Path, wanted: tuple[str, ...]) -> None:
        self.path, self.wanted = path.expanduser(), wanted
        content = own_files.content(self.path, CSV)
        try:
            content.decode()
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(f"{path}:{line}: cannot be read as CSV in UTF-8; fix: convert the file") from None
        self.header, numbered = csv_rows(path, content)
        self.rows, self.lines = [row for _, row in numbered], [line for line, _ in numbered]
        for name in wanted:
            if name not in self.header:
                got = ", ".join(self.header)
                raise DataError(f"{path}: expected a column {name!r} in the first line, got {got}; rename or add it")
        require_once(str(path), self.header, wanted)
        for place, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise DataError(f"{self.where(place)}: expected {len(self.header)} columns, got {len(row)}; mend the row")

    def where(self, place: int) -> str:
        """The file and the line of what stands in this place of a column, for messages."""
        return f"{self.path}:{self.lines[place]}"

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
                values = [float(row[place]) for place in places]
            except ValueError:
                values = [float("nan")]
            if not np.isfinite(np.array(values).astype(np.float32)).all():
                raise DataError(f"{self.where(number)}: expected finite numbers as features, got {','.join(row)!r}")
            yield values
