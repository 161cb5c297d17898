"""Rows with named columns come in alike from every format, and which column is which is told or asked."""

import gzip
import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pandas
import pytest

from saccade.data.examples import Example
from saccade.data.formats import tables
from saccade.data.formats.tables import held_table, read_table
from saccade.data.formats.text_files import Config, examples_of, inputs_of, read
from saccade.errors import DataError, MissingExtra

ROWS = [{"id": 1, "text": 'two\nlines, "quoted"; and a\ttab', "label": "x"}, {"id": 2, "text": "Äpfel", "label": "y"}]
EXAMPLES = [Example(str(row["text"]), str(row["label"])) for row in ROWS]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str) -> str:
    """The rows in a file of this kind."""
    frame, plain = pandas.DataFrame(ROWS), name.removesuffix(".gz")
    match plain.rpartition(".")[2].partition("_")[0]:
        case "csv":
            frame.to_csv(plain, index=False, sep={"a.csv": ",", "semicolon.csv": ";", "tab.csv": "\t"}[plain])
        case "parquet":
            frame.to_parquet(plain)
        case "json":
            frame.to_json(plain, orient="records", indent=1)
        case _:
            frame.to_json(plain, orient="records", lines=True)
    if plain != name:
        Path(name).write_bytes(gzip.compress(Path(plain).read_bytes()))
    return name


@pytest.mark.parametrize(
    "name", ["a.csv", "semicolon.csv", "tab.csv", "a.csv.gz", "a.json", "a.json.gz", "a.jsonl", "a.parquet", "a.parquet.gz"]
)
def test_every_format_gives_the_same_examples(name: str) -> None:
    assert read(written(name), Config()) == EXAMPLES
    assert list(inputs_of(name) or []) == [example.input for example in EXAMPLES]


def test_lines_of_json_may_be_called_json() -> None:
    Path("a.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert read("a.json", Config()) == EXAMPLES


def test_a_row_that_spans_lines_is_told_by_its_first() -> None:
    Path("a.csv").write_text('text,label\n"a\nb\nc",x\n\n"d\ne",\n')
    with pytest.raises(DataError, match=r"^a\.csv:6: expected a target, got empty text"):
        read("a.csv", Config())
    assert read("a.csv", Config(skip_bad=True), print)[0].where() == "a.csv:2"


def test_columns_inside_of_objects_have_their_path_as_name() -> None:
    Path("a.json").write_text('[{"translation": {"de": "ein Haus", "en": "a house"}}]')
    assert read("a.json", Config(text="translation.de", label="translation.en")) == [Example("ein Haus", "a house")]


@pytest.mark.parametrize(
    ("header", "given", "told"),
    [
        ("id,review,stars", {}, "expected a column label, columns are id, review, stars; say data.label=stars"),
        ("bag,x,label", {}, "say data.text=x, or data.name=bag_files if each row is an instance of a bag"),
        ("id,body,stars", {}, "a column text and a column label, columns are id, body, stars; say data.text=body data."),
        ("id,body,stars", {"text": "bdy", "label": "stars"}, "'bdy', columns are id, body, stars; say data.text=body"),
        ("text,source,label", {}, "say data.text=text"),
        ("id,What did you like most about our new product?,stars", {"text": "What did you like most"}, "text=What did you"),
        ("text,label,kind", {"group": "knd"}, "expected a column 'knd', columns are text, label, kind; say data.group=kind"),
    ],
)  # fmt: skip
def test_other_columns_are_asked_for(header: str, given: dict[str, Any], told: str) -> None:
    rows = "".join(f"{n},a long text {n},{n % 2}\n" for n in range(5))
    Path("a.csv").write_text(f"{header}\n{rows}")
    with pytest.raises(DataError) as error:
        read("a.csv", Config(**given))
    assert told in str(error.value)


def test_columns_of_pairs_are_proposed_in_their_order() -> None:
    rows = [(f"the house number {n} of the street", f"Haus {n}") for n in range(5)]
    Path("a.csv").write_text("english,in German\n" + "".join(f"{one},{other}\n" for one, other in rows))
    with pytest.raises(DataError, match=r"; say data\.text=english 'data\.label=in German'$"):
        read("a.csv", Config())
    frame = pandas.DataFrame(rows, columns=["english", "german"])
    with pytest.raises(DataError, match=r"; say data=\{'train': …, 'text': 'english', 'label': 'german'\}$"):
        held_table(frame).chosen({"text": "", "label": ""}, ("text", "label"))


@pytest.mark.parametrize(
    ("name", "between", "fix"),
    [("a.csv", ",", ""), ("a.tsv", "\t", "leave data.text and data.label out, or ")],
)
def test_a_first_line_that_is_a_text_names_no_columns(name: str, between: str, fix: str) -> None:
    text = "a film that is much longer than any name of a column could be"
    Path(name).write_text(f"{text}{between}good\n{text} and dull{between}bad\n")
    with pytest.raises(DataError) as error:
        read(name, Config(label="stars"))
    told = (
        f"{name}: expected the names of columns in the first line, got {text[:40] + '…'!r}; {fix}write text,label above it"
    )
    assert str(error.value) == told


def test_tsv_columns_by_name() -> None:
    Path("a.tsv").write_text("id\tsentence\tlabel\n1\ta\tx\n2\tb\ty\n")
    assert read("a.tsv", Config()) == [Example("a", "x"), Example("b", "y")]
    assert read("a.tsv", Config(text="id", label="sentence")) == [Example("1", "a", ""), Example("2", "b", "")]


def test_parquet_without_its_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    Path("a.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtra, match=r"a\.parquet: parquet needs pyarrow.*pip install 'saccade\[parquet\]'"):
        read_table(Path("a.parquet"), "")


class _Labels:
    names = ("bad", "good")


class _Dataset(list[dict[str, Any]]):
    """What `datasets.Dataset` is known by."""

    column_names = ("sentence", "label")
    features = {"sentence": object(), "label": _Labels()}  # noqa: RUF012


HELD = {
    "frame": pandas.DataFrame({"n": [0.5, 1.5], "text": ["a", "b"], "label": [1.0, 2.0]}),
    "strings": pandas.DataFrame({"text": ["a", "b"], "label": ["1", "2"]}),
    "pairs": [("a", 1), ["b", 2]],
    "dicts": iter([{"text": "a", "label": 1}, {"text": "b", "label": 2}]),
    "examples": [Example("a", "1"), Example("b", "2")],
}


@pytest.mark.parametrize("kind", HELD)
def test_what_python_holds(kind: str) -> None:
    assert examples_of(held_table(HELD[kind]), Config()) == [Example("a", "1"), Example("b", "2")]


def test_pairs_have_no_names_of_their_own() -> None:
    assert examples_of(held_table([("a", "x")]), Config(text="review", label="stars")) == [Example("a", "x")]


def test_numbers_of_a_data_set_with_class_names_are_those_names() -> None:
    rows = _Dataset([{"sentence": "a", "label": 1}, {"sentence": "b", "label": 0}])
    assert examples_of(held_table(rows), Config()) == [Example("a", "good"), Example("b", "bad")]


def test_missing_values_of_a_frame_are_told_with_their_row() -> None:
    frame = pandas.DataFrame({"text": ["a", None], "label": [1, 2]})
    with pytest.raises(DataError, match=r"^data: row 2: expected text as 'text', got"):
        examples_of(held_table(frame), Config())
    assert len(examples_of(held_table(frame), Config(skip_bad=True), print)) == 1


def test_names_of_columns_are_small_letters() -> None:
    assert all(name == name.lower() for names in tables.NAMES.values() for name in names)


def test_inputs_are_read_row_by_row(tmp_path: Path) -> None:
    (tmp_path / "my.jsonl").write_text('{"text": "first"}\n{"text": "second"}\n{"text": [3]}\n')
    rows = inputs_of(str(tmp_path / "my.jsonl")) or iter(())
    assert list(islice(rows, 2)) == ["first", "second"]
    with pytest.raises(DataError, match=r"my\.jsonl:3: "):
        next(rows)
