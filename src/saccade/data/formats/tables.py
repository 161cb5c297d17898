"""Rows with named columns, of files (CSV, JSON, JSONL, parquet) and of what Python holds (pandas, `datasets`, lists)."""

import difflib
import io
import json
import math
import re
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from saccade.data.examples import Example
from saccade.data.formats import own_files
from saccade.data.formats.csv_tables import numbered_rows, require_once
from saccade.errors import DataError, MissingExtra, UsageError

JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (".csv", ".json", *JSON_LINES, ".parquet")
# What columns are called, in small letters, in the order of a TSV file. Others are asked for.
NAMES: dict[str, tuple[str, ...]] = {
    "text": ("text", "source", "sentence", "sentence | aspect", "review", "document", "question", "input"),
    "label": ("label", "target", "class", "category", "sentiment", "output"),
    "group": ("group",),
}
SURROGATE = re.compile("[\ud800-\udfff]")
LOOKED_AT = 200  # rows by which a guess is made
LONGEST = 40  # characters of the name of a column; what is longer is a text

Value = Any  # of a cell: text, a number, a truth value, nothing, a list


class BadRow(Exception):  # noqa: N818 - caught by who reads the rows
    """What is wrong with a row, how it is mended, and in which of several files it is."""

    def __init__(self, problem: str, fix: str = "mend the line", side: int = 0) -> None:
        super().__init__(problem)
        self.problem, self.fix, self.side = problem, fix, side


@dataclass(frozen=True)
class TableRow:
    """The line or item of a row, and its cells by column, or what is wrong with all of it."""

    number: int
    cells: Mapping[str, Value] | BadRow

    def cell(self, name: str) -> Value:
        """What stands in this column."""
        if isinstance(self.cells, BadRow):
            raise self.cells
        if name not in self.cells:
            raise BadRow(f"expected {name!r}, got {excerpt(', '.join(map(str, self.cells)))}")
        return self.cells[name]


@dataclass(frozen=True)
class Table:
    """Rows with named columns."""

    name: str
    columns: Sequence[str]
    rows: Iterable[TableRow]
    """In a list, or read from their file whenever they are gone through."""
    unit: str = ""
    """What the number of a row counts, where that is not lines of the file."""
    classes: Mapping[str, Sequence[str]] | None = None
    """The names that the numbers of a column stand for (a ClassLabel of `datasets`)."""
    named: bool = True
    """Whether columns have names of their own; of pairs they have not."""
    held: bool = False
    """Whether Python holds it, and what it lacks is said in Python's words."""

    @property
    def empty(self) -> bool:
        """Whether there are no rows."""
        return next(iter(self.rows), None) is None

    def where(self, row: TableRow) -> str:
        """The file and line of a row."""
        return f"{self.name}: {self.unit} {row.number}" if self.unit else f"{self.name}:{row.number}"

    def chosen(
        self,
        given: Mapping[str, str],
        wanted: Sequence[str],
        *,
        rename: bool = False,
        names: Mapping[str, Sequence[str]] = NAMES,
    ) -> dict[str, str]:
        """The column of each key (text, label): the one that the user names, or the only one with a known name of `names`.

        `rename`: whether all that a user can do about a wrong name is to change it in the file.
        """
        column_of: dict[str, str] = {}
        for key, name in {key: name * self.named for key, name in given.items()}.items():
            known = [own for own in self.columns if (own == name if name else own.strip().lower() in names[key])]
            if len(known) == 1:
                column_of[key] = known[0]
            elif known and name:
                require_once(self.name, list(self.columns), [name])
        missing = [key for key in wanted if key not in column_of]
        named = [key for key, name in given.items() if name and self.named and key not in column_of]
        if missing or named:
            self._require_names([name for name in given.values() if name])
            keys = {key: name for key, name in given.items() if key in (*missing, *named)}
            near = {key: self._guess(key, (name, *names[key]), column_of) for key, name in keys.items()}
            if {*keys} == {"text", "label"} and not any(keys.values()) and self._of_pairs():
                near = dict(zip(("text", "label"), self.columns, strict=True))
            fix = " ".join(shlex.quote(f"data.{key}={own}") for key, own in near.items())
            if self.held:
                fix = f"data={{'train': …, {', '.join(f'{key!r}: {own!r}' for key, own in near.items())}}}"
            if rename:
                fix = f"rename {' and '.join(f'{own!r} to {keys[key] or key!r}' for key, own in near.items())}"
            elif "bag" in self.columns:
                fix += ", or data.name=bag_files if each row is an instance of a bag"
            expected = " and ".join(f"a column {repr(name) if name else key}" for key, name in keys.items())
            columns = ", ".join(map(str, self.columns))[:200]
            raise DataError(f"{self.name}: expected {expected}, columns are {columns}; {'' if rename else 'say '}{fix}")
        return column_of

    def _require_names(self, given: Sequence[str]) -> None:
        """Whether the first line may be one of names; where it holds a text that is like no given name, it is an example."""
        kind = own_files.suffix(Path(self.name))
        texts = [own for own in self.columns if len(own) > LONGEST]
        if self.held or kind in (".json", *JSON_LINES, ".parquet") or not texts:
            return
        if not any(difflib.get_close_matches(name, self.columns) for name in given):
            got, keys = excerpt(texts[0]), "leave data.text and data.label out, or "
            fix = f"{'' if kind == '.csv' else keys}write text,label above it"
            raise DataError(f"{self.name}: expected the names of columns in the first line, got {got}; {fix}")

    def _of_pairs(self) -> bool:
        """Whether there are two columns of texts that are nearly all different, as sources and targets are."""
        rows = [row.cells for row in islice(self.rows, LOOKED_AT) if not isinstance(row.cells, BadRow)]
        sizes = [len({str(row.get(own, "")) for row in rows}) for own in self.columns]
        return len(sizes) == 2 and min(sizes) > len(rows) / 2

    def _guess(self, key: str, names: Sequence[str], taken: Mapping[str, str]) -> str:
        """The column that may have been meant: of a like name, the longest texts, or the fewest different values."""
        left = [own for own in self.columns if own not in taken.values()] or list(self.columns)
        for like in names:
            if like and (near := difflib.get_close_matches(like, left, n=1, cutoff=0.75)):
                return near[0]
        rows = [row.cells for row in islice(self.rows, LOOKED_AT) if not isinstance(row.cells, BadRow)]
        sizes = {own: sum(len(str(row.get(own, ""))) for row in rows) for own in left}
        different = {own: len({str(row.get(own, "")) for row in rows}) for own in left}
        if key == "text":
            return max(left, key=sizes.__getitem__, default="COLUMN")
        longest = max(left, key=sizes.__getitem__, default="")
        others = [own for own in left if "text" in taken or own != longest]
        return min(others, key=different.__getitem__, default="COLUMN")


class FileRows(Iterable[TableRow]):
    """Rows that are read anew from their file each time."""

    def __init__(self, read: Callable[[], Iterator[TableRow]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[TableRow]:
        return self._read()


def of_file(name: str, known: str) -> Table | None:
    """The rows of a file that is a table; None: another file."""
    return read_table(Path(name).expanduser(), known) if own_files.suffix(Path(name)) in SUFFIXES else None


def read_table(path: Path, known: str) -> Table:
    """The rows of a file, by what its name ends in; only an array in JSON is held in memory."""
    match own_files.suffix(path):
        case ".csv":
            with closing(_csv(path, known)) as first:
                columns = next(first)[1]
            return Table(str(path), columns, FileRows(partial(_csv_rows, path, known, columns)))
        case ".parquet":
            return _objects(str(path), FileRows(partial(_parquet, path, known)), "row")
        case ".json" if _first_letter(path, known) != b"{":
            return _array(path)
    return _objects(str(path), FileRows(partial(_json_lines, path, known)))


def tsv_table(path: Path, known: str) -> Table:
    """The rows of a TSV file whose first line names the columns; nothing is quoted."""
    with closing(_tsv_cells(path, known)) as first:
        columns = next(first)
    return Table(str(path), columns, FileRows(partial(_tsv_rows, path, known, columns)))


def _tsv_rows(path: Path, known: str, columns: Sequence[str]) -> Iterator[TableRow]:
    for number, cells in enumerate(islice(_tsv_cells(path, known), 1, None), 2):
        yield TableRow(number, _cells(columns, cells))


def _tsv_cells(path: Path, known: str) -> Generator[list[str], None, None]:
    for line in own_files.trimmed(own_files.lines(path, known)):
        yield line.decode(errors="surrogateescape").split("\t")


def _csv_rows(path: Path, known: str, columns: Sequence[str]) -> Iterator[TableRow]:
    for number, cells in islice(_csv(path, known), 1, None):
        yield TableRow(number, _cells(columns, cells))


def _csv(path: Path, known: str) -> Generator[tuple[int, list[str]], None, None]:
    """The rows of a CSV file, the names of its columns first; bytes that are not UTF-8 are kept as surrogates."""
    with own_files.opened(path, known) as file, io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text:
        yield from numbered_rows(path, text)


def _json_lines(path: Path, known: str) -> Iterator[TableRow]:
    for number, line in enumerate(own_files.trimmed(own_files.lines(path, known)), 1):
        yield TableRow(number, _object(line))


def _first_letter(path: Path, known: str) -> bytes:
    """What a file begins with, white space left out."""
    return next((line.lstrip()[:1] for line in own_files.lines(path, known) if line.strip()), b"")


def _cells(columns: Sequence[str], cells: Sequence[str]) -> dict[str, Value] | BadRow:
    if len(cells) == len(columns):
        return dict(zip(columns, cells, strict=True))
    return BadRow(f"expected {len(columns)} columns, got {len(cells)}: {excerpt(' | '.join(cells))}")


def _object(line: bytes) -> dict[str, Value] | BadRow:
    """A line of JSON."""
    try:
        return _flat(json.loads(decoded(line)))
    except BadRow as error:
        return error
    except (ValueError, RecursionError) as error:
        return BadRow(f"expected a JSON object, got {excerpt(line)} ({error})")


def _flat(value: Value) -> dict[str, Value] | BadRow:
    """An object, and what is inside of its objects under names such as translation.de."""
    if not isinstance(value, Mapping):
        return BadRow(f"expected a JSON object, got {excerpt(json.dumps(value, default=str))}")
    inner = {f"{key}.{name}": one for key, own in value.items() if isinstance(own, Mapping) for name, one in own.items()}
    return {**{str(key): own for key, own in value.items() if not isinstance(own, Mapping)}, **inner}


def _objects(name: str, rows: Iterable[TableRow], unit: str = "") -> Table:
    """A table of objects; a column is what some of them have."""
    columns = dict.fromkeys(key for row in rows if not isinstance(row.cells, BadRow) for key in row.cells)
    return Table(name, list(columns), rows, unit)


def _numbered(objects: Iterable[dict[str, Value] | BadRow]) -> list[TableRow]:
    return [TableRow(number, cells) for number, cells in enumerate(objects, 1)]


def _array(path: Path) -> Table:
    """A JSON file that is an array of objects."""
    text = own_files.text(path, "an array of objects")
    try:
        items = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: expected a JSON array of objects, got {error.msg}; mend the line") from None
    except RecursionError:
        raise DataError(f"{path}: expected a JSON array of objects, got one that is nested too deeply") from None
    if not isinstance(items, list):
        raise DataError(f"{path}: expected a JSON array of objects, got {type(items).__name__}; fix: [{{…}}, {{…}}]")
    return _objects(str(path), _numbered(map(_flat, items)), "item")


def _parquet(path: Path, known: str) -> Iterator[TableRow]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra(f"{path}: parquet", "pyarrow", "parquet") from None
    with own_files.opened(path, known) as file:
        source = file if file.seekable() else io.BytesIO(file.read())
        try:
            batches = parquet.ParquetFile(source).iter_batches(batch_size=LOOKED_AT)
            for number, row in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1):
                yield TableRow(number, _flat(row))
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:120]
            raise DataError(f"{path}: cannot be read as parquet ({reason}); fix: write it again") from None


def held_table(data: Any, name: str = "data") -> Table:
    """The rows of what Python holds: a DataFrame, a `datasets.Dataset`, dicts or (text, label) pairs."""
    if hasattr(data, "to_dict") and hasattr(data, "iloc"):  # pandas
        if getattr(data, "ndim", 2) != 2:
            raise UsageError(f"{name}: expected a DataFrame with columns, got one column; give the whole table")
        names = [str(column) for column in data.columns]
        require_once(name, names, names)
        columns = {own: data[column].tolist() for own, column in zip(names, data.columns, strict=True)}
        return _columns(name, columns, len(data))
    if hasattr(data, "column_names") and hasattr(data, "features"):  # datasets
        classes = {own: kind.names for own, kind in data.features.items() if hasattr(kind, "names")}
        return replace(_objects(name, _numbered(map(_flat, data)), "row"), classes=classes, held=True)
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        forms = "a file, (text, label) pairs, dicts, a DataFrame or a datasets.Dataset"
        raise UsageError(f"{name}: expected {forms}, got {type(data).__name__}")
    rows = list(data)
    table = _objects(name, _numbered(map(_held, rows)), "row")
    return replace(table, held=True, named=any(isinstance(row, Mapping) for row in rows))


def _columns(name: str, columns: Mapping[str, Sequence[Value]], count: int) -> Table:
    rows = _numbered(_flat({own: values[i] for own, values in columns.items()}) for i in range(count))
    return Table(name, list(columns), rows, "row", held=True)


def _held(row: Any) -> dict[str, Value] | BadRow:
    """A row of a list."""
    if isinstance(row, Mapping):
        return _flat(row)
    if isinstance(row, Example):
        return {"text": row.input, "label": row.target, "group": row.group}
    if isinstance(row, str):
        return {"text": row}
    if isinstance(row, Sequence) and not isinstance(row, bytes) and len(row) in (2, 3):
        return dict(zip(("text", "label", "group"), row, strict=False))
    return BadRow(f"expected (text, label) or a dict, got {excerpt(repr(row))}", "mend the row")


def as_text(value: Value, name: str, classes: Sequence[str] | None = None, *, label: bool = False) -> str:
    """A cell as text; of labels also numbers, whole ones without a point, and truth values."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a scalar of numpy
        value = value.item()
    if label and isinstance(value, int | float) and math.isfinite(value) and value == int(value):
        number = value if isinstance(value, bool) else int(value)
        return classes[number] if classes and 0 <= number < len(classes) else str(number)
    if not isinstance(value, str):
        expected = "a name or a whole number" if label else "text"
        raise BadRow(f"expected {expected} as {name!r}, got {excerpt(repr(value))}")
    if value.isascii() or not SURROGATE.search(value):
        return str(value)
    try:
        return decoded(value.encode("utf-8", "surrogateescape"), repr(name))
    except UnicodeEncodeError:  # JSON can write half a pair, UTF-8 cannot
        raise BadRow(f"expected Unicode text as {name!r}, got half a surrogate pair") from None


def decoded(line: bytes, name: str = "", side: int = 0) -> str:
    """Bytes as UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        place = f"0x{line[error.start]:02x} at byte {error.start} of {name or 'the line'}"
        raise BadRow(f"expected UTF-8, got {place} (counted from 0)", "convert the file", side) from None


def excerpt(value: str | bytes, most: int = 40) -> str:
    """The beginning of a text on one line."""
    raw = value if isinstance(value, bytes) else value[: 5 * most].encode(errors="replace")
    text = raw[: 5 * most].decode(errors="replace")
    return repr(text[:most] + "…" if len(text) > most else text)
