"""Text pairs from your own files: TSV, JSON lines, or two files of parallel text, each also gzipped.

    data.train=my.tsv              source TAB target, or source TAB target TAB group; no quoting;
                                   a header such as text TAB label is skipped
    data.train=my.jsonl            one object per line, {"source": …, "target": …} or {"text": …, "label": …}; data.source,
                                   data.target and data.group name other fields
    data.train=train.de,train.en   line n of the one is the source of line n of the other

Files are UTF-8, with or without a byte order mark, with LF or CRLF. Empty lines may only stand at the end.
"""

import difflib
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.config import Count, Share
from saccade.data.examples import Example, Splits
from saccade.data.formats.own_files import OwnFiles
from saccade.errors import DataError, UsageError
from saccade.inputs import content as content_of

INPUT, TARGET = str, str
OWN = "data.train=my.tsv"
SIDES = ("source", "target")
ALSO = {"source": "text", "target": "label"}  # what files of labeled texts call them
# Names of columns, in small letters, by which a first line is known for a header.
HEADERS = (
    {"text", "source", "sentence", "sentence | aspect", "review", "document", "question", "input"},
    {"label", "target", "class", "category", "sentiment", "output"},
    {"group"},
)
SHOWN = 3  # bad lines that a summary names
FORMATS = "my.tsv or my.txt (source TAB target), my.jsonl or my.ndjson, train.de,train.en (parallel text), or .gz of these"
SURROGATE = re.compile("[\ud800-\udfff]")
FOREIGN = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip without .gz in its name"}

Row = tuple[bytes, ...]  # a line of the file, or of both files
Parse = Callable[[Row], Example]


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the examples are, and what may be wrong with them."""

    train: str = ""
    """Training examples: my.tsv, my.jsonl, or two files of parallel text with a comma between (train.de,train.en)."""
    held_out: Share = 0.05
    """Share of train that is held out when valid is empty, at most 2000 examples; 0: none."""
    source: str = "source"
    """JSON field of the input; where there is no field of this name, text."""
    target: str = "target"
    """JSON field of the target; where there is no field of this name, label."""
    group: str = "group"
    """JSON field of the group, which objects may lack."""
    skip_bad: bool = False
    """Whether bad lines are left out; otherwise the first one is an error."""
    max_length: Count = 0
    """Longest source or target in characters, beyond which a line is bad; 0: no limit."""


class _BadLine(Exception):  # noqa: N818 - caught in this file
    """What is wrong with a line, how it is mended, and in which of the files it is."""

    def __init__(self, problem: str, fix: str = "mend the line", side: int = 0) -> None:
        super().__init__(problem)
        self.problem, self.fix, self.side = problem, fix, side


def to_stderr(text: str) -> None:
    """Tells the user in one line."""
    print(text, file=sys.stderr)


def load(config: Config, report: Callable[[str], None] = to_stderr) -> Splits:
    """The examples of all files; `report` is told of bad lines that were skipped."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    found = config.splits(lambda spec: read(spec, config, report), lambda one: one.input.encode("utf-8", "surrogatepass"))
    if config.held_out and not config.valid and not found.valid:
        hint = "fix: name a file as data.valid, or data.held_out=0"
        raise DataError(f"{config.train}: expected different sources, of which some are held out, got one; {hint}")
    return found


def read(spec: str, config: Config, report: Callable[[str], None] = to_stderr) -> list[Example]:
    """The examples of one file, or of two files of parallel text."""
    paths = _paths(spec)
    rows = _rows(paths)
    parse = _parser(paths, config)
    first = 1
    if parse is _from_columns and is_header(rows[0][0]):
        report(f"{spec}: its first line is taken for a header and skipped: {_excerpt(rows.pop(0)[0])}")
        first = 2
    if not rows:
        raise DataError(f"{spec}: expected examples, got a header only")
    names = tuple(map(str, paths))
    good: list[Example] = []
    bad: list[str] = []
    for number, row in enumerate(rows, first):
        try:
            pair = _within(parse(row), config)
            good.append(replace(pair, files=names, number=number))
        except _BadLine as error:
            place = f"{paths[min(error.side, len(paths) - 1)]}:{number}: {error.problem}"
            if not config.skip_bad:
                raise DataError(f"{place}; fix: {error.fix} or data.skip_bad=true") from None
            bad.append(place)
    if not good:
        raise DataError(f"{spec}: expected examples, got {len(rows)} bad lines only; the first: {bad[0]}")
    if bad:
        report(f"{spec}: skipped {len(bad)} bad of {len(rows)} lines: {'; '.join(bad[:SHOWN])}{'; …' * (len(bad) > SHOWN)}")
    return good


def is_header(line: bytes) -> bool:
    """Whether every column of a line is the name of one."""
    columns = line.decode(errors="replace").lower().split("\t")
    return len(columns) > 1 and all(name.strip() in known for name, known in zip(columns, HEADERS, strict=False))


def _paths(spec: str) -> list[Path]:
    """One path, or two of parallel text; a file that exists may have a comma in its name."""
    names = [name.strip() for name in spec.split(",")]
    if len(names) == 1 or os.path.exists(spec):
        names = [spec]
    if len(names) > 2 or not all(names):
        raise UsageError(f"{spec}: expected one file, or two with a comma between, got {len(names)}; known: {FORMATS}")
    return [Path(os.path.expanduser(name)) for name in names]  # unlike Path's own, never raises


def _parser(paths: Sequence[Path], config: Config) -> Parse:
    if len(paths) == 2:
        return _from_parallel
    suffixes = [suffix.lower() for suffix in paths[0].suffixes]
    match suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:]:
        case [".tsv" | ".txt", *_]:
            return _from_columns
        case [".jsonl" | ".ndjson", *_]:
            return lambda row: _from_object(row, config)
    raise DataError(f"{paths[0]}: unknown format {''.join(suffixes[-2:]) or '(no suffix)'!r}; known: {FORMATS}")


def _rows(paths: Sequence[Path]) -> list[Row]:
    """The lines of one file, or of two side by side."""
    files = [_lines(path) for path in paths]
    longer, shortest = max(files, key=len), min(map(len, files))
    while len(longer) > shortest and not longer[-1]:
        longer.pop()
    counts = [len(lines) for lines in files]
    if len(set(counts)) > 1:
        # Nobody can say which line is missing: to skip the surplus would pair every line after it with a wrong one.
        names = f"{paths[0]} and {paths[1]}"
        raise DataError(f"{names}: expected as many lines in both, got {counts[0]} and {counts[1]}; fix: align the files")
    rows = list(zip(*files, strict=True))
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise DataError(f"{paths[0]}: expected examples, got an empty file")
    return rows


def _lines(path: Path) -> list[bytes]:
    """The lines of a file without their ends."""
    try:
        content = content_of(path, f"known: {FORMATS}")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file{_nearest(path)}") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    foreign = FOREIGN.get(content[:2])
    if foreign:
        raise DataError(f"{path}: expected UTF-8, got {foreign}; fix: convert or rename the file")
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


def _nearest(path: Path) -> str:
    """A hint at the file that may have been meant."""
    try:
        near = difflib.get_close_matches(path.name, sorted(entry.name for entry in path.parent.iterdir()), n=1)
    except OSError:
        return f"; there is no directory {str(path.parent)!r} either"
    return f"; did you mean {str(path.parent / near[0])!r}?" if near else ""


def _from_columns(row: Row) -> Example:
    columns = _decoded(row[0]).split("\t")
    if len(columns) not in (2, 3):
        problem = "an empty line" if columns == [""] else f"{len(columns)} columns: {_excerpt(row[0])}"
        raise _BadLine(f"expected source TAB target (or text TAB label), and TAB group if there are groups, got {problem}")
    return Example(*columns)


def _from_parallel(row: Row) -> Example:
    return Example(_decoded(row[0]), _decoded(row[1], side=1))


def _from_object(row: Row, config: Config) -> Example:
    text = _decoded(row[0])
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"expected a JSON object, got {_excerpt(row[0])} ({error})") from None
    if not isinstance(values, dict):
        raise _BadLine(f"expected a JSON object, got {_excerpt(row[0])}")
    return Example(
        _field(values, "source", config.source),
        _field(values, "target", config.target),
        _field(values, "group", config.group) if config.group in values else "",
    )


def _field(values: dict[str, object], key: str, name: str) -> str:
    names = [name, ALSO[key]] if name == key and key in ALSO else [name]
    name = next((each for each in names if each in values), "")
    if not name:
        wanted, known = " or ".join(map(repr, names)), _excerpt(", ".join(values).encode("utf-8", "replace"))
        raise _BadLine(f"expected the field {wanted}, got {known}", fix=f"name the field by data.{key}=…, mend the line")
    value = values[name]
    if key == "target" and isinstance(value, int):  # labels are often numbered
        return str(value)
    if not isinstance(value, str):
        raise _BadLine(f"expected text as {name!r}, got {_excerpt(repr(value).encode('utf-8', 'replace'))}")
    if not value.isascii() and SURROGATE.search(value):  # JSON can write half a pair, UTF-8 cannot
        raise _BadLine(f"expected Unicode text as {name!r}, got half a surrogate pair")
    return value


def _decoded(line: bytes, side: int = 0) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        place = f"0x{line[error.start]:02x} at byte {error.start} of the line"
        raise _BadLine(f"expected UTF-8, got {place} (counted from 0)", "convert the file", side) from None


def _within(pair: Example, config: Config) -> Example:
    """The pair if its texts are neither empty nor too long."""
    for side, text in enumerate((pair.input, pair.target)):
        if not text or text.isspace():
            raise _BadLine(f"expected a {SIDES[side]}, got {'blank' if text else 'empty'} text", side=side)
        if config.max_length and len(text) > config.max_length:
            limit = f"expected a {SIDES[side]} of at most {config.max_length} characters (data.max_length)"
            raise _BadLine(f"{limit}, got {len(text)}", "shorten it", side)
    return pair


def _excerpt(line: bytes) -> str:
    """The beginning of a line on one line."""
    text = line[:200].decode(errors="replace")
    return repr(text[:40] + "…" if len(text) > 40 else text)
