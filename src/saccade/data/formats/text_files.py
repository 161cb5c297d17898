"""Texts with labels, or with other texts, from your own files; each may also end in .gz.

    data.train=my.csv              a first line of names, then rows: commas, semicolons or TABs between, quoted where needed
    data.train=my.json             an array of objects; my.jsonl: one object per line; my.parquet: a table (extra `parquet`)
    data.train=my.tsv              text TAB label, perhaps TAB group; no quoting; a first line text TAB label is skipped
    data.train=train.de,train.en   parallel text: line n of the one is the source of line n of the other
    data.train=folder              folder/LABEL/*.txt: the name of a folder is the label of the texts in it

Columns are text (or source …) and label (or target …); data.text=review data.label=stars names others. A folder with train
and valid or test in it, as folders or files, gives all parts. Files are UTF-8, with or without a byte order mark, with LF or
CRLF.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from saccade.config import Count, Share
from saccade.data.examples import Example, Pair, PictureQuestion, Question, Splits
from saccade.data.formats import own_files, tables
from saccade.data.formats.own_files import OwnFiles, suffix
from saccade.data.formats.tables import NAMES, BadRow, Table, TableRow, as_text, decoded, excerpt, held_table, read_table
from saccade.data.stored import stored_examples
from saccade.errors import DataError, UsageError

INPUT, TARGET = str, str
OWN = "data.train=my.csv"
SIDES = ("source", "target")
SHOWN = 3  # bad lines that a summary names
TSV, PLAIN = (".tsv", ".txt"), (".txt", ".text", ".md")
FORMATS = (
    "my.csv, my.tsv or my.txt (source TAB target), my.json, my.jsonl, my.parquet, train.de,train.en (parallel text), "
    "a folder of texts by label, or .gz of these"
)

Place = tuple[tuple[str, ...], int]  # the files of an example, and the line; 0: all of the file
Parsed = Iterable[tuple[Place, Callable[[], Example]]]
Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the examples are, and what may be wrong with them."""

    train: str = ""
    """Training examples: my.csv, my.tsv, my.json, my.jsonl, my.parquet, a folder, or two files of parallel text with a comma
    between (train.de,train.en)."""
    held_out: Share = 0.05
    """Share of train that is held out when valid is empty, at most 2000 examples; 0: none."""
    text: str = ""
    """Column of the text that is read; empty: text, source, sentence, review or the like."""
    label: str = ""
    """Column of what is to be written, a label or a text; empty: label, target, class, sentiment or the like."""
    group: str = ""
    """Column of the group, for which scores are also reported; empty: group, which files may lack."""
    skip_bad: bool = False
    """Whether bad lines are left out; otherwise the first one is an error."""
    max_length: Count = 0
    """Longest source or target in characters, beyond which a line is bad; 0: no limit."""

    def columns(self) -> dict[str, str]:
        """The name that was given for each column."""
        return {key: getattr(self, key) for key in NAMES}

    def parsing(self) -> dict[str, Any]:
        """All that decides which examples a file has."""
        return {**self.columns(), "skip_bad": self.skip_bad, "max_length": self.max_length}


def to_stderr(text: str) -> None:
    """Tells the user in one line."""
    print(text, file=sys.stderr)


def load(config: Config, report: Callable[[str], None] = to_stderr) -> Splits:
    """The examples of all files; `report` is told of bad lines that were skipped."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    splits = config.splits(lambda spec: read(spec, config, report), lambda one: one.input.encode("utf-8", "surrogatepass"))
    if config.held_out and not config.valid and not splits.valid:
        hint = "fix: name a file as data.valid, or data.held_out=0"
        raise DataError(f"{config.train}: expected different sources, of which some are held out, got one; {hint}")
    return splits


def read(spec: str, config: Config, report: Callable[[str], None] = to_stderr) -> Sequence[Example]:
    """The examples of one file, of several, of two files of parallel text, or of a folder; of much text as a view of files
    that are prepared from it once."""
    return stored_examples.kept(_sources(spec), config.parsing(), partial(examples, spec, config), report)


def examples(spec: str, config: Config, report: Callable[[str], None] = to_stderr) -> Iterator[Example]:
    """The examples one after the other, each with where it was read."""
    if os.path.exists(os.path.expanduser(spec)) or not (files := own_files.matching(os.path.expanduser(spec))):
        files = [spec]
    for file in files:
        yield from _examples(file, config, report)


def _examples(spec: str, config: Config, report: Callable[[str], None]) -> Iterator[Example]:
    paths = _paths(spec)
    if len(paths) == 1 and os.path.isdir(paths[0]) and suffix(paths[0]) not in (*TSV, *tables.SUFFIXES):
        return checked(spec, _in_folders(paths[0]), config, report)
    if len(paths) == 2:
        return checked(spec, _parallel(paths), config, report)
    if suffix(paths[0]) in tables.SUFFIXES:
        return _of_table(read_table(paths[0], FORMATS), config, report)
    if suffix(paths[0]) in TSV or not os.path.exists(paths[0]):
        return _tsv(spec, paths[0], config, report)
    raise DataError(f"{paths[0]}: unknown format {suffix(paths[0]) or '(no suffix)'!r}; known: {FORMATS}")


def _sources(spec: str) -> list[Path]:
    """The files and folders that are meant, by the paths that examples name."""
    files = own_files.matching(os.path.expanduser(spec))
    return _paths(spec) if os.path.exists(os.path.expanduser(spec)) or not files else [Path(file) for file in files]


def others_of(data: Any, config: Config) -> Sequence[Example]:
    """The examples of other data than a run was trained on: a file, or rows that Python holds, under other names."""
    if isinstance(data, str | Path):
        paths = _paths(str(data))
        alone, kind = len(paths) == 1 and not os.path.isdir(paths[0]), suffix(paths[0])
        if alone and kind in TSV:
            first = next(own_files.lines(paths[0], FORMATS), b"")
            return read(str(data), _as_named(config, first.decode(errors="replace").split("\t")))
        if not alone or kind not in tables.SUFFIXES:
            return read(str(data), config)
        table = read_table(paths[0], FORMATS)
        named = _as_named(config, table.columns)
        return stored_examples.kept(paths, named.parsing(), partial(_of_table, table, named, rename=True), to_stderr)
    table = held_table(data)
    return examples_of(table, _as_named(config, table.columns), rename=True)


def _as_named(config: Config, columns: Sequence[str]) -> Config:
    """The config without the names of columns that are not among these."""
    named = {key: name if name in columns else "" for key, name in config.columns().items()}
    return replace(config, text=named["text"], label=named["label"], group=named["group"])


def examples_of(
    table: Table, config: Config, report: Callable[[str], None] = to_stderr, *, rename: bool = False
) -> list[Example]:
    """The rows of a table as examples; `rename` as in `Table.chosen`."""
    return list(_of_table(table, config, report, rename=rename))


def _of_table(table: Table, config: Config, report: Callable[[str], None], *, rename: bool = False) -> Iterator[Example]:
    if table.empty:
        raise DataError(f"{table.name}: expected examples, got no rows; add some")
    # Where no row can be read, there are no columns, and the first row tells why.
    columns = {"text": "text", "label": "label"}
    if table.columns:
        columns = table.chosen(config.columns(), ("text", "label"), rename=rename)
    classes = (table.classes or {}).get(columns["label"])

    def parse(row: TableRow) -> Example:
        text, label = row.cell(columns["text"]), row.cell(columns["label"])
        group = row.cell(columns["group"]) if "group" in columns and columns["group"] in row.cells else ""  # type: ignore[operator]
        return Example(
            as_text(text, columns["text"]),
            as_text(label, columns["label"], classes, label=True),
            as_text(group, columns.get("group", ""), label=True),
        )

    return checked(table.name, parsed(table, parse), config, report)


def parsed(table: Table, parse: Callable[[TableRow], Example]) -> Parsed:
    """The rows of a table with their places, each as what makes an example of it."""
    return (
        (((table.where(row),), 0) if table.unit else ((table.name,), row.number), partial(parse, row)) for row in table.rows
    )


def inputs_of(source: str | Table, text: str = "") -> Iterator[str] | None:
    """The texts of a table, or of its file, that are to be answered, row by row; None: a file of plain lines."""
    table = source if isinstance(source, Table) else tables.of_file(source, FORMATS)
    if table is None:
        return None
    return texts_of(table, text if text in table.columns else "", rename=True)


def texts_of(table: Table, text: str = "", *, rename: bool = False) -> Iterator[str]:
    """The texts in a column of a table, row by row."""
    column = table.chosen({"text": text}, ("text",), rename=rename)["text"] if table.columns else "text"
    for row in table.rows:
        try:
            yield as_text(row.cell(column), column)
        except BadRow as error:
            raise DataError(f"{table.where(row)}: {error.problem}; fix: {error.fix}") from None


def checked(spec: str, rows: Parsed, config: Config, report: Report) -> Iterator[Example]:
    """The examples of these rows, each with where it was read; the first bad one is an error, or all are skipped."""
    good = skipped = 0
    bad: list[str] = []
    for (files, number), parse in rows:
        try:
            example = _within(parse(), config)
        except BadRow as error:
            file = files[min(error.side, len(files) - 1)]
            place = f"{file}:{number}: {error.problem}" if number else f"{file}: {error.problem}"
            if not config.skip_bad:
                raise DataError(f"{place}; fix: {error.fix} or data.skip_bad=true") from None
            skipped += 1
            bad += [place] * (skipped <= SHOWN)
        else:
            good += 1
            yield replace(example, files=files, number=number)
    if not good:
        got = f"{skipped} bad lines only; the first: {bad[0]}" if bad else "none"
        raise DataError(f"{spec}: expected examples, got {got}")
    if bad:
        total = good + skipped
        report(f"{spec}: skipped {skipped} bad of {total} lines: {'; '.join(bad)}{'; …' * (skipped > SHOWN)}")


def _paths(spec: str) -> list[Path]:
    """One path, or two of parallel text; a file that exists may have a comma in its name."""
    names = [name.strip() for name in spec.split(",")]
    if len(names) == 1 or os.path.exists(os.path.expanduser(spec)):
        names = [spec]
    if len(names) > 2 or not all(names):
        raise UsageError(f"{spec}: expected one file, or two with a comma between, got {len(names)}; known: {FORMATS}")
    return [Path(os.path.expanduser(name)) for name in names]  # unlike Path's own, never raises


def _tsv(spec: str, path: Path, config: Config, report: Callable[[str], None]) -> Iterator[Example]:
    """A file of columns without quotes: text, label and perhaps group in this order, or by the names in its first line."""
    lines = own_files.trimmed(own_files.lines(path, FORMATS))
    first = next(lines, None)
    if first is None:
        raise DataError(f"{path}: expected examples, got an empty file")
    names = first.decode(errors="replace").split("\t")
    if any(config.columns().values()) or _names_columns(names):
        return _of_table(tables.tsv_table(path, FORMATS), config, report)
    if headed := is_header(first):
        report(f"{spec}: its first line is taken for a header and skipped: {excerpt(first)}")
        first = next(lines, None)
    if first is None:
        raise DataError(f"{spec}: expected examples, got a header only")
    numbered = enumerate(chain([first], lines), 1 + headed)
    return checked(
        spec, ((((str(path),), number), partial(_from_columns, line)) for number, line in numbered), config, report
    )


def is_header(line: bytes) -> bool:
    """Whether every column of a line is the name of one, in the order text, label, group."""
    columns = line.decode(errors="replace").lower().split("\t")
    return len(columns) > 1 and all(name.strip() in known for name, known in zip(columns, NAMES.values(), strict=False))


def _names_columns(names: Sequence[str]) -> bool:
    """Whether a first line of three or more columns names a text and a label, elsewhere than in the first two."""
    small = [name.strip().lower() for name in names]
    candidates = [[place for place, name in enumerate(small) if name in NAMES[key]] for key in ("text", "label")]
    return len(names) > 2 and all(len(places) == 1 for places in candidates) and (len(names) > 3 or candidates != [[0], [1]])


def _parallel(paths: Sequence[Path]) -> Iterator[tuple[Place, Callable[[], Example]]]:
    """The lines of two files side by side; empty ones at the end of one may belong to those of the other."""
    counted = [_counted(path) for path in paths]
    (longer, filled), (shortest, _) = max(counted), min(counted)
    counts = [min(count, max(shortest, filled)) if count == longer else count for count, _ in counted]
    if counts[0] != counts[1]:
        # Nobody can say which line is missing: to skip the surplus would pair every line after it with a wrong one.
        names = f"{paths[0]} and {paths[1]}"
        raise DataError(f"{names}: expected as many lines in both, got {counts[0]} and {counts[1]}; fix: align the files")
    rows = max(filled for _, filled in counted)
    if not rows:
        raise DataError(f"{paths[0]}: expected examples, got an empty file")
    both = (str(paths[0]), str(paths[1]))
    sides = (own_files.lines(path, FORMATS) for path in paths)
    for number, (one, other) in enumerate(islice(zip(*sides, strict=False), rows), 1):
        yield (both, number), partial(_from_parallel, one, other)


def _counted(path: Path) -> tuple[int, int]:
    """How many lines a file has, and up to which of them it is not empty."""
    count = filled = 0
    for count, line in enumerate(own_files.lines(path, FORMATS), 1):
        filled = count if line else filled
    return count, filled


def _in_folders(folder: Path) -> Iterator[tuple[Place, Callable[[], Example]]]:
    """The texts of folders named by their labels."""
    any_text = False
    for label in sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith(".")):
        for path in sorted(path for path in label.rglob("*") if suffix(path) in PLAIN and not path.name.startswith(".")):
            any_text = True
            yield ((str(path),), 0), partial(_whole, path, label.name)
    if not any_text:
        expected = f"expected a folder of texts ({', '.join(PLAIN)}) for each label"
        raise DataError(f"{folder}: {expected}, got none; known: {FORMATS}")


def _whole(path: Path, label: str) -> Example:
    try:
        return Example(own_files.text(path, FORMATS).replace("\r\n", "\n").strip(), label)
    except DataError as error:
        raise BadRow(str(error).removeprefix(f"{path}: "), "mend the file") from None


def _from_parallel(one: bytes, other: bytes) -> Example:
    return Example(decoded(one), decoded(other, side=1))


def _from_columns(line: bytes) -> Example:
    columns = decoded(line).split("\t")
    if len(columns) not in (2, 3):
        problem = "an empty line" if columns == [""] else f"{len(columns)} columns: {excerpt(line)}"
        fix = "name columns of its first line by data.text=… data.label=…, " * (len(columns) > 3) + "mend the line"
        expected = "expected source TAB target (or text TAB label), and TAB group if there are groups"
        raise BadRow(f"{expected}, got {problem}", fix)
    return Example(*columns)


def _within(pair: Example, config: Config) -> Example:
    """The pair if its texts are neither empty nor too long."""
    texts, names = (pair.input, pair.target), SIDES
    if isinstance(pair.input, Pair):
        texts, names = (pair.input.first, pair.input.second), ("first text", "second text")
    elif isinstance(pair.input, PictureQuestion):
        texts, names = (pair.input.question, pair.target), ("question", "target")
    elif isinstance(pair.input, Question):
        texts, names = (pair.input.text, pair.target), ("question", "answer")
    for side, (text, name) in enumerate(zip(texts, names, strict=True)):
        if not text or text.isspace():
            raise BadRow(f"expected a {name}, got {'blank' if text else 'empty'} text", side=side)
        if config.max_length and len(text) > config.max_length:
            limit = f"expected a {name} of at most {config.max_length} characters (data.max_length)"
            raise BadRow(f"{limit}, got {len(text)}", "shorten it", side)
    return pair
