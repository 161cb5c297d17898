"""Awkward inputs: each is read as it is meant, or refused in one line that says where, what was expected, and the fix."""

import errno
import gzip
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import saccade
from saccade import inputs
from saccade.errors import DataError, SaccadeError, UsageError
from saccade.lock import locked

from .commands import SMALL, here

READ = "data sample document_attention --split train data.held_out=0 data.train="
TRAIN = f"train bahdanau {SMALL} --out new data.train="
LABELS = "train document_attention train.steps=2 train.threads=1 --out new data.train="
GOOD, BAD = b"axa\ta-x\nbyb\tb-y\nczc\tc-z\n", b"axa\ta-x\nonly one column\n"
CSV = b"text,label\na,x\nb,y\n"


@dataclass(frozen=True)
class Awkward:
    """Files, a command, its exit code, and what its one line of error, or of success its output, must say."""

    name: str
    files: Mapping[str, bytes | None]  # None: a directory
    command: str
    code: int
    words: tuple[str, ...]


def one(name: str, file: str, content: bytes | None, command: str, code: int, *words: str) -> Awkward:
    """Of a single file, whose name ends the command."""
    return Awkward(name, {file: content}, command + (f"'{file}'" if command.endswith(("=", " ")) else ""), code, words)


INPUTS = [
    # Encodings
    one("UTF-16", "a.csv", "text,label\na,x\n".encode("utf-16"), READ, 3, "a.csv: expected UTF-8, got UTF-16", "convert"),
    one("UTF-16 without mark", "a.csv", "text,label\n".encode("utf-16-le"), READ, 3, "a.csv: expected", "data.text="),
    one("Latin-1 in CSV", "a.csv", b"text,label\na,x\ncaf\xe9,y\n", READ, 3, "a.csv:3: expected UTF-8, got 0xe9", "convert"),
    one("Latin-1 in TSV", "a.tsv", b"a\tx\ncaf\xe9\ty\n", READ, 3, "a.tsv:2: expected UTF-8, got 0xe9"),
    one("byte order mark", "a.csv", b"\xef\xbb\xbf" + CSV, READ, 0, "a\tx\nb\ty\n"),
    one("NUL", "a.csv", b"text,label\na\0b,x\nb,y\n", READ, 0, "\tx\nb\ty\n"),
    one("Latin-1 in validation", "a.tsv", b"a\tx\ncaf\xe9\ty\n", f"{TRAIN}good.tsv data.valid=a.tsv", 3,
        "a.tsv:2: expected UTF-8, got 0xe9"),
    one("Latin-1 in the test", "a.tsv", b"a\tx\ncaf\xe9\ty\n", f"{TRAIN}good.tsv data.test=a.tsv", 3,
        "a.tsv:2: expected UTF-8, got 0xe9"),
    one("Latin-1 to predict", "a.txt", b"axa\ncaf\xe9\n", "predict run ", 3, "a.txt:2: not UTF-8", "convert"),
    one("UTF-16 to predict", "a.txt", "axa\n".encode("utf-16"), "predict run ", 3, "a.txt", "UTF-8"),
    one("half a surrogate pair", "a.json", b'[{"text": "\\ud800", "label": 1}]', READ, 3,
        "a.json: item 1", "surrogate pair"),
    # Line ends and long lines
    one("CRLF", "a.csv", CSV.replace(b"\n", b"\r\n"), READ, 0, "a\tx\nb\ty\n"),
    one("CRLF to predict", "a.csv", b"text\r\naxa\r\nbyb\r\n", "predict run ", 0, "\n"),
    one("old Mac line ends", "a.csv", CSV.replace(b"\n", b"\r"), READ, 0, "a\tx\nb\ty\n"),
    one("no line end", "a.csv", CSV.rstrip(), READ, 0, "b\ty\n"),
    one("line break in quotes", "a.csv", b'text,label\n"a\nb",x\nbad\n', READ, 3, "a.csv:4: expected 2 columns, got 1"),
    one("a long field", "a.csv", b"text,label\n" + b"w " * 100_000 + b",x\n", READ, 0, "w w w"),
    one("a long line for training", "a.tsv", GOOD + b"a" * 50 + b"\tb\n", TRAIN, 3,
        "a.tsv:4: 50 tokens, at most 40", "shorten"),
    one("a long line in validation", "a.tsv", GOOD + b"a" * 50 + b"\tb\n", f"{TRAIN}good.tsv data.valid=a.tsv", 3,
        "a.tsv:4:"),
    one("a long line in the test", "a.tsv", GOOD + b"a" * 50 + b"\tb\n", f"{TRAIN}good.tsv data.test=a.tsv", 3, "a.tsv:4:"),
    one("a long line to predict", "a.txt", b"axa\n" + b"b" * 50, "predict run ", 3,
        "a.txt:2: 50 tokens, at most 40", "shorten"),
    one("a long row to predict", "a.csv", b"text\naxa\n" + b"b" * 50, "predict run ", 3,
        "a.csv: row 2: 50 tokens, at most 40"),
    # Bad lines in every part
    one("bad training line", "a.tsv", BAD, TRAIN, 3, "a.tsv:2: expected source TAB target", "fix: mend the line"),
    one("bad validation line", "a.tsv", BAD, f"{TRAIN}good.tsv data.valid=a.tsv", 3, "a.tsv:2: expected source TAB target"),
    one("bad test line", "a.tsv", BAD, f"{TRAIN}good.tsv data.test=a.tsv", 3, "a.tsv:2: expected source TAB target"),
    one("bad line to evaluate", "a.tsv", BAD, "evaluate run --data a.tsv", 3, "a.tsv:2: expected source TAB target"),
    one("bad row to predict", "a.jsonl", b'{"text": "axa"}\n{"text": null}\n', "predict run ", 3,
        "a.jsonl:2: expected text", "None"),
    one("JSON lines to predict", "a.jsonl", b'{"text": "axa"}\n{"text": "byb"}\n', "predict run ", 0, "\n"),
    one("other columns to predict", "a.csv", b"id,words\n1,a long text\n", "predict run ", 3, "rename 'words' to 'text'"),
    one("other columns to evaluate", "a.csv", b"id,words,kind\n1,a long text,x\n2,another text,x\n",
        "evaluate run --data a.csv", 3, "rename 'words' to 'text' and 'kind' to 'label'"),
    # What is not there, empty, or something else
    one("empty file", "a.csv", b"", READ, 3, "a.csv: expected a first line that names the columns, got an empty file"),
    one("header only", "a.csv", b"text,label\n", READ, 3, "a.csv: expected examples, got no rows"),
    one("empty array", "a.json", b"[]", READ, 3, "a.json: expected examples, got no rows"),
    one("no such file", "a.csv", CSV, f"{READ}b.csv", 3, "b.csv: no such file", "did you mean 'a.csv'?"),
    one("directory for a file", "a.csv", None, READ, 3, "a.csv: expected a file, got a directory"),
    one("empty folder", "texts", None, READ, 3, "texts: expected a folder of texts", "for each label, got none"),
    one("file for a directory", "texts", b"a", READ, 3, "texts: unknown format '(no suffix)'", "known: my.csv"),
    one("spreadsheet", "a.xlsx", b"PK\x03\x04", READ, 3, "a.xlsx: unknown format '.xlsx'"),
    one("gzip cut short", "a.csv.gz", gzip.compress(CSV)[:-9], READ, 3, "a.csv.gz: cannot be read"),
    one("no parquet", "a.parquet", b"PAR1 is not here", READ, 3, "a.parquet: cannot be read as parquet"),
    # Columns
    one("other columns", "a.csv", b"id,review,stars\n1,a long text,5\n2,another one,4\n3,a third,5\n", READ, 3,
        "a.csv: expected a column label, columns are id, review, stars; say data.label=stars"),
    one("no column known", "a.csv", b"id,body,stars\n1,a long text,5\n2,another one,4\n3,third,5\n", READ, 3,
        "data.text=body data.label=stars"),
    one("a column misspelled", "a.csv", CSV, f"{READ}a.csv data.text=txt", 3,
        "'txt'", "columns are text, label; say data.text=text"),
    one("two columns that may be meant", "a.csv", b"question,sentence,label\na,b,x\n", READ, 3, "say data.text="),
    one("a column twice", "a.csv", b"text,label,text\na,x,b\n", f"{READ}a.csv data.text=text", 3,
        "expected one column 'text', got 2"),
    one("ragged rows", "a.csv", CSV + b"c,z,more\n", READ, 3, "a.csv:4: expected 2 columns, got 3", "fix: mend the line"),
    one("ragged rows skipped", "a.csv", CSV + b"c,z,more\n", f"{READ}a.csv data.skip_bad=true", 0, "a\tx\nb\ty\n"),
    one("a quote left open", "a.csv", CSV + b'"c,z\n', READ, 3, "a.csv:4: cannot be read as CSV", "never closed"),
    one("semicolons", "a.csv", b"text;label\na, b;x\n", READ, 0, "a, b\tx\n"),
    one("JSON cut short", "a.json", b'[{"text": "a",\n "label"', READ, 3, "a.json:2: expected a JSON array of objects"),
    one("JSON of columns", "a.json", b'{"text": ["a"], "label": ["x"]}', READ, 3, "a.json:1: expected text as 'text', got"),
    # Labels
    one("numbers as labels", "a.json", b'[{"text": "a", "label": 1}, {"text": "b", "label": 2.0}]', READ, 0, "a\t1\nb\t2\n"),
    one("NaN as label", "a.jsonl", b'{"text": "a", "label": NaN}', READ, 3, "a.jsonl:1: expected a name or a whole number"),
    one("an empty label", "a.csv", CSV + b"c,\n", READ, 3, "a.csv:4: expected a target, got empty text"),
    one("one class", "a.csv", b"text,label\na,x\nb,x\nc,x\n", LABELS, 3, "expected at least 2 different labels", "got x"),
    one("equal texts", "a.csv", b"text,label\na,x\na,y\n", LABELS, 3,
        "a.csv: expected different sources", "data.held_out=0"),
    # Paths
    one("spaces and umlauts", "Bücher und Äpfel.csv", CSV, READ, 0, "a\tx\nb\ty\n"),
    one("commas", "a,b,c.csv", CSV, READ, 0, "a\tx\nb\ty\n"),
    Awkward("tilde", {"home/a.csv": CSV}, f"{READ}~/a.csv", 0, ("a\tx\nb\ty\n",)),
    one("NUL in a path", "a.csv", CSV, f"{READ}a\0.csv", 3, "cannot be read"),
    one("a path without end", "a.csv", CSV, f"{READ}{'a' * 300}.csv", 3, "cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize("awkward", INPUTS, ids=lambda awkward: awkward.name)
def test_awkward_input(
    awkward: Awkward, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(place / "home"))
    for name, content in awkward.files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if content is None else path.write_bytes(content)
    answer = here(awkward.command, capsys)
    assert answer.code == awkward.code, answer
    assert "Traceback" not in answer.err
    if awkward.code:
        *_, line = answer.err.splitlines()
        assert line.startswith("saccade: ")
        assert "unexpected" not in line, line
        assert [word for word in awkward.words if word not in line] == [], line
        assert len(line) < 500
        assert not (place / "new").exists(), "a start that failed leaves nothing"
    else:
        assert [word for word in awkward.words if word not in answer.out] == [], answer.out


def test_a_disk_that_cannot_be_read(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(path: Path, fix: str = "") -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(inputs, "opened", broken)
    answer = here(f"{READ}good.tsv", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1)
    assert "good.tsv: cannot be read (Input/output error)" in answer.err


def test_two_processes_never_write_one_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("new").mkdir()
    with locked(Path("new")):
        answer = here(f"{TRAIN}good.tsv", capsys)
    assert answer.code in (1, 2), answer
    assert answer.err.count("\n") == 1
    assert "new" in answer.err


def numbers() -> Iterator[int]:
    """Rows that are no rows."""
    yield from range(3)


HELD: list[tuple[str, Callable[[], Any], type[SaccadeError], str]] = [
    ("an int", lambda: 7, UsageError, "data: expected a file, (text, label) pairs, dicts, a DataFrame"),
    ("bytes", lambda: b"text\tlabel", UsageError, "got bytes"),
    ("an empty list", list, DataError, "data: expected examples, got no rows"),
    ("a list of None", lambda: [None, None], DataError, "data: row 1: expected (text, label) or a dict, got 'None'"),
    ("a generator of ints", numbers, DataError, "data: row 1: expected (text, label) or a dict, got '0'"),
    ("texts without labels", lambda: ["a", "b"], DataError, "data: expected a column label, columns are text"),
    (
        "a text that is None",
        lambda: [("a", "x"), (None, "y")],
        DataError,
        "data: row 2: expected text as 'text', got 'None'",
    ),
    ("a text that is bytes", lambda: [(b"a", "x")], DataError, "data: row 1: expected text as 'text', got \"b'a'\""),
    ("a label that is NaN", lambda: [("a", float("nan"))], DataError, "row 1: expected a name or a whole number"),
    ("a label that is a list", lambda: [("a", [1, 0])], DataError, "row 1: expected a name or a whole number"),
    ("a dict of lists", lambda: {"text": ["a"], "label": ["x"]}, UsageError, "expected rows as train, valid or test"),
    ("an unknown part", lambda: {"train": [("a", "x")], "unsupervised": []}, UsageError, "got them as 'unsupervised'"),
    ("an unknown key", lambda: {"train": [("a", "x")], "txt": "a"}, UsageError, "txt"),
    ("an array of numbers", lambda: np.zeros((3, 4)), DataError, "data: row 1: expected (text, label) or a dict"),
]


@pytest.mark.parametrize(("make", "kind", "words"), [row[1:] for row in HELD], ids=[row[0] for row in HELD])
def test_awkward_data_in_python(make: Callable[[], Any], kind: type[SaccadeError], words: str, tmp_path: Path) -> None:
    with pytest.raises(kind) as error:
        saccade.train("document_attention", data=make(), out=tmp_path / "new", steps=2, quiet=True)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "new").exists()


def test_scalars_of_numpy_are_labels_and_texts(place: Path) -> None:
    model = saccade.load("run")
    rows = [(np.str_("axa"), np.str_("a-x")), {"text": "byb", "label": "b-y"}]
    assert model.evaluate(rows)["all"]["examples"] == 2
