"""Your own files: each format comes in as it is meant, and whatever is wrong is told with its file and line."""

import gzip
import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.config import build, described
from saccade.data.examples import Example
from saccade.data.formats.text_files import Config, load, others_of, read
from saccade.data.stored.stored_examples import StoredExamples
from saccade.errors import DataError, UsageError
from tests.data.stored.stores import everything_is_large

PAIRS = [Example("ein Haus", "a house", "n"), Example("drei Äpfel", "three apples 🍎", ""), Example('"Ja"\x00', " yes", "x")]
SKIPPING = Config(skip_bad=True)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tsv(examples: list[Example]) -> str:
    return "".join(f"{p.input}\t{p.target}\t{p.group}\n" for p in examples)


def jsonl(examples: list[Example]) -> str:
    return "".join(json.dumps({"source": p.input, "target": p.target, "group": p.group}) + "\n" for p in examples)


def write(name: str, content: str | bytes) -> str:
    raw = content.encode() if isinstance(content, str) else content
    Path(name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return name


def problem(spec: str, config: Config | None = None) -> str:
    """The error of a file, which is always one line."""
    with pytest.raises(DataError) as error:
        read(spec, config or Config())
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "A.TSV", "a.b.tsv", "a.tsv.gz", "a.txt.gz"])
def test_tsv(name: str) -> None:
    assert read(write(name, tsv(PAIRS)), Config()) == PAIRS
    assert read(write(name, "a\tb\r\nc\td\r\n"), Config()) == [Example("a", "b"), Example("c", "d")]


@pytest.mark.parametrize(
    "header", ["text\tlabel", "Sentence\tLABEL", "source\ttarget\tgroup", "sentence | aspect\tlabel ", "Review\tSentiment"]
)
def test_a_header_is_skipped_and_told(header: str) -> None:
    told: list[str] = []
    assert read(write("a.tsv", f"\ufeff{header}\r\na\tb\n"), Config(), told.append) == [Example("a", "b")]
    assert told == [f"a.tsv: its first line is taken for a header and skipped: {header!r}"]
    with pytest.raises(DataError, match=r"a\.tsv:3: expected source TAB target"):
        read(write("a.tsv", f"{header}\na\tb\nalone\n"), Config(), told.append)
    with pytest.raises(DataError, match=r"a\.tsv: expected examples, got a header only"):
        read(write("a.tsv", f"{header}\n"), Config(), told.append)


@pytest.mark.parametrize(
    "line", ["text\tgood", "a text\tlabel", "label\ttext", "text\ttext", "text\tlabel\tde", "x\tlabel", "Text\tTexte"]
)
def test_what_is_like_a_header_is_an_example(line: str) -> None:
    told: list[str] = []
    assert read(write("a.tsv", f"{line}\na\tb\n"), Config(), told.append)[0] == Example(*line.split("\t"))
    assert read(write("a.tsv", "a\tb\ntext\tlabel\n"), Config(), told.append)[1] == Example("text", "label")
    write("a.de", "text\na")
    assert len(read(f"a.de,{write('a.en', 'label' + chr(10) + 'b')}", Config(), told.append)) == 2
    assert told == []


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz"])
def test_json_lines(name: str) -> None:
    assert read(write(name, jsonl(PAIRS)), Config()) == PAIRS
    own = Config(text="de", label="en", group="kind")
    lines = '{"de": "a\\tb", "en": "c\\n", "more": [1]}\n{"de": "a", "en": "b", "kind": "k"}'
    assert read(write(name, lines), own) == [Example("a\tb", "c\n"), Example("a", "b", "k")]


def test_labels_may_be_whole_numbers_and_truth_values() -> None:
    labels = ('"b"', "7", "2.0", "true")
    lines = "".join(f'{{"text": "a", "label": {label}}}\n' for label in labels)
    assert [one.target for one in read(write("a.jsonl", lines), Config())] == ["b", "7", "2", "True"]


@pytest.mark.parametrize(("one", "other"), [("t.de", "t.en"), ("t.de.gz", "t.en"), ("source", "target.tsv")])
def test_parallel_text(one: str, other: str) -> None:
    write(one, "ein Haus\nmit\tTab\n")
    write(other, "a house\r\nwith a tab")
    for spec in (f"{one},{other}", f"{one}, {other}"):
        assert read(spec, Config()) == [Example("ein Haus", "a house"), Example("mit\tTab", "with a tab")]


def test_a_file_that_exists_may_have_a_comma_in_its_name() -> None:
    assert read(write("my,own.tsv", "a\tb"), Config()) == [Example("a", "b")]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n", "\r\n\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_empty_ends(start: bytes, end: str) -> None:
    assert read(write("a.tsv", start + b"a\tb\nc\td" + end.encode()), Config()) == [Example("a", "b"), Example("c", "d")]
    assert read(write("a.jsonl", start + jsonl(PAIRS).strip().encode() + end.encode()), Config()) == PAIRS
    write("a.de", start + b"a\nc" + end.encode())
    write("a.en", "b\nd")
    assert read("a.de,a.en", Config()) == [Example("a", "b"), Example("c", "d")]


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t"), min_size=1).filter(str.strip)
examples_of_any_text = st.lists(st.builds(Example, text, text), min_size=1, max_size=5)


@given(examples_of_any_text)
def test_any_text_comes_back(examples: list[Example]) -> None:
    # A file's first character is not its text if it is a byte order mark.
    examples = [Example("x", "x"), *examples]
    assert read(write("a.tsv", tsv(examples)), Config()) == examples
    assert read(write("a.jsonl", jsonl(examples)), Config()) == examples
    write("a.de", "\n".join(p.input for p in examples))
    write("a.en", "\n".join(p.target for p in examples))
    assert read("a.de,a.en", Config()) == examples


GOOD_TSV, GOOD_JSON = b"a\tb\n", b'{"source": "a", "target": "b"}\n'
BAD = [
    ("a.tsv", b"alone\n", "expected source TAB target (or text TAB label), and TAB group"),
    ("a.tsv", b"a\tb\tc\td\n", "got 4 columns"),
    ("a.tsv", b"\n", "got an empty line"),
    ("a.tsv", b"\tb\n", "expected a source, got empty text"),
    ("a.tsv", b"a\t \n", "expected a target, got blank text"),
    ("a.tsv", b"a\t\n", "expected a target, got empty text"),
    ("a.tsv", b"abc\xff\tb\n", "expected UTF-8, got 0xff at byte 3 of the line"),
    ("a.tsv", b"a\tb" + 100 * b"c\t" + b"\n", "got 102 columns: 'a\\tbc"),
    ("a.jsonl", b"\n", "expected a JSON object, got ''"),
    ("a.jsonl", b"{'source': 1}\n", "expected a JSON object, got"),
    ("a.jsonl", b'["a", "b"]\n', "expected a JSON object, got '[\"a\", \"b\"]'"),
    ("a.jsonl", b"[" * 100_000 + b"\n", "maximum recursion depth"),
    ("a.jsonl", b'{"source": "a", "english": "b"}\n', "expected 'target', got 'source, english'"),
    ("a.jsonl", b'{"source": "a", "target": 7.5}\n', "expected a name or a whole number as 'target', got '7.5'"),
    ("a.jsonl", b'{"source": "a", "target": NaN}\n', "expected a name or a whole number as 'target', got 'nan'"),
    ("a.jsonl", b'{"words": "a", "target": "b"}\n', "expected 'source', got 'words, target'"),
    ("a.jsonl", b'{"source": null, "target": "b"}\n', "expected text as 'source', got 'None'"),
    ("a.jsonl", b'{"source": "a", "target": "b", "group": [3]}\n', "a whole number as 'group', got '[3]'"),
    ("a.jsonl", b'{"source": "", "target": "b"}\n', "expected a source, got empty text"),
    ("a.jsonl", b'{"source": "a\\ud800", "target": "b"}\n', "got half a surrogate pair"),
    ("a.jsonl", b'{"source": "\xe4", "target": "b"}\n', "expected UTF-8, got 0xe4 at byte 12 of the line"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "told"), BAD)
def test_a_bad_line_is_told_with_its_place_and_can_be_skipped(name: str, line: bytes, told: str) -> None:
    good = GOOD_TSV if name == "a.tsv" else GOOD_JSON
    write(name, good + line + good)
    message = problem(name)
    assert message.startswith(f"{name}:2: expected ")
    assert told in message
    assert message.endswith("or data.skip_bad=true")
    assert "; fix: " in message
    assert len(message) < 400
    reports: list[str] = []
    assert read(name, SKIPPING, reports.append) == [Example("a", "b")] * 2
    assert len(reports) == 1
    assert f"{name}: skipped 1 bad of 3 lines: {name}:2: " in reports[0]
    write(name, line + line.replace(b"\n", b"\r\n") + b"x")
    lost = problem(name, SKIPPING)
    assert "bad lines only; the first: " in lost or "; say data." in lost  # what the columns are cannot be told


def test_bad_lines_of_parallel_text_are_told_by_their_own_file() -> None:
    write("a.de", b"a\nb\nc\xff\nd\n\n")
    write("a.en", b"a\n\nc\nd\ne\n")
    assert problem("a.de,a.en").startswith("a.en:2: expected a target, got empty text")
    reports: list[str] = []
    assert read("a.de,a.en", SKIPPING, reports.append) == [Example("a", "a"), Example("d", "d")]
    assert all(place in reports[0] for place in ("skipped 3 bad of 5 lines", "a.en:2: ", "a.de:3: ", "a.de:5: "))


@pytest.mark.parametrize("config", [Config(), SKIPPING])
def test_parallel_files_of_different_length_are_never_paired(config: Config) -> None:
    write("a.de", "a\nb\nc\n\n")
    write("a.en", "a\nb\n")
    assert problem("a.de,a.en", config).startswith("a.de and a.en: expected as many lines in both, got 3 and 2; fix:")


def test_long_lines_are_bad() -> None:
    write("a.tsv", "ää\tbb\na\tbbb\n")
    assert len(read("a.tsv", Config(max_length=3))) == 2
    message = problem("a.tsv", Config(max_length=2))
    assert message.startswith(
        "a.tsv:2: expected a target of at most 2 characters (data.max_length), got 3; fix: shorten it or"
    )
    assert read("a.tsv", Config(max_length=2, skip_bad=True), print) == [Example("ää", "bb")]


def test_the_summary_names_three_places_and_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.tsv", "a\tb\n" + "bad\n" * 5)
    assert len(read("a.tsv", SKIPPING)) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "skipped 5 bad of 6 lines" in output.err
    assert [place in output.err for place in ("a.tsv:2:", "a.tsv:3:", "a.tsv:4:", "a.tsv:5:")] == [True, True, True, False]
    assert output.err.count("\n") == 1


def test_missing_files_are_told_with_the_nearest_name() -> None:
    write("train.tsv", "a\tb\n")
    assert problem("trian.tsv") == "trian.tsv: no such file; did you mean 'train.tsv'?"
    assert problem("train") == "train: no such file; did you mean 'train.tsv'?"
    assert problem("zzzzzz.jsonl") == "zzzzzz.jsonl: no such file"
    assert problem("none/train.tsv") == "none/train.tsv: no such file; there is no directory 'none' either"
    assert "train.de: no such file" in problem("train.de,train.en")
    assert "cannot be read" in problem("train.tsv/x.tsv")
    assert "cannot be read" in problem("a\x00.tsv")
    assert "cannot be read" in problem("a" * 5000 + ".tsv")


def test_what_is_no_file_of_pairs() -> None:
    Path("folder.tsv").mkdir()
    assert problem("folder.tsv").startswith("folder.tsv: expected a file, got a directory; known: my.csv")
    Path("folder").mkdir()
    assert problem("folder").startswith("folder: expected a folder of texts (.txt, .text, .md) for each label, got none;")
    for content in ("", "\n\n\r\n", b"\xef\xbb\xbf"):
        assert problem(write("a.tsv", content)) == "a.tsv: expected examples, got an empty file"
    assert problem(write("a.xls", "a,b")).startswith("a.xls: unknown format '.xls'; known: my.csv")
    assert problem(write("a.xls.gz", "a,b")).startswith("a.xls.gz: unknown format '.xls'; known: my.csv")
    assert problem(write("a", "a,b")).startswith("a: unknown format '(no suffix)'; known: my.csv")
    assert problem(write("a.tsv", "a\tb".encode("utf-16"))).startswith("a.tsv: expected UTF-8, got UTF-16; fix:")
    assert "gzip without .gz" in problem(write("a.tsv", gzip.compress(b"a\tb")))


def test_damaged_gzip() -> None:
    content = gzip.compress(random.Random(0).randbytes(1000).hex().encode())
    for damaged in (b"a\tb\n", content[:-20], content[:100], content[:50] + b"xxxxxxxxxxxx" + content[62:]):
        Path("a.tsv.gz").write_bytes(damaged)
        assert problem("a.tsv.gz").startswith("a.tsv.gz: cannot be read (")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read() -> None:
    Path(write("a.tsv", "a\tb")).chmod(0)
    assert problem("a.tsv").startswith("a.tsv: cannot be read (")


@pytest.mark.parametrize("spec", ["a,b,c", "a.de,", ",a.en"])
def test_wrong_numbers_of_files(spec: str) -> None:
    with pytest.raises(UsageError, match="expected one file, or two with a comma between"):
        read(spec, Config())


def numbered(count: int) -> list[Example]:
    return [Example(f"source {n}", f"target {n}") for n in range(count)]


def test_load_takes_each_split_from_its_file() -> None:
    for name in ("train", "valid", "test"):
        write(f"{name}.tsv", f"a\t{name}\n")
    splits = load(Config(train="train.tsv", valid="valid.tsv", test="test.tsv"))
    assert [part[0].target for part in (splits.train, splits.valid, splits.test)] == ["train", "valid", "test"]
    assert list(load(Config(train="train.tsv", held_out=0)).valid) == []
    with pytest.raises(UsageError, match=r"data\.train: expected a file"):
        load(Config())


def test_load_reports_every_file() -> None:
    for name in ("train", "valid", "test"):
        write(f"{name}.tsv", "bad\na\tb\n")
    reports: list[str] = []
    load(Config(train="train.tsv", valid="valid.tsv", test="test.tsv", skip_bad=True), reports.append)
    assert sorted(report.split(":")[0] for report in reports) == ["test.tsv", "train.tsv", "valid.tsv"]


@pytest.mark.parametrize(("count", "share", "held"), [(1000, 0.05, 50), (50_000, 0.05, 2000), (5, 0.05, 1), (2, 0.9, 1)])
def test_a_share_is_held_out(count: int, share: float, held: int) -> None:
    write("a.tsv", tsv(numbered(count)))
    splits = load(Config(train="a.tsv", held_out=share))
    assert len(splits.valid) == held
    assert Counter([*splits.train, *splits.valid]) == Counter(numbered(count))
    assert list(splits.test) == []


def test_a_source_is_never_on_both_sides() -> None:
    write("a.tsv", tsv([Example(f"source {n % 30}", f"target {n}") for n in range(90)]))
    splits = load(Config(train="a.tsv", held_out=0.2))
    assert (len(splits.train), len(splits.valid)) == (72, 18)
    assert not {pair.input for pair in splits.train} & {pair.input for pair in splits.valid}


def test_nothing_can_be_held_out_of_one_source() -> None:
    write("a.tsv", "a\tb\na\tc\n")
    with pytest.raises(DataError, match=r"a\.tsv: expected different sources.*data\.held_out=0"):
        load(Config(train="a.tsv"))


def test_the_config_is_checked_and_described() -> None:
    assert build(Config, {"train": "a.tsv", "held_out": 0.1}, "data").held_out == 0.1
    with pytest.raises(UsageError, match=r"data\.held_out"):
        build(Config, {"held_out": 1.0}, "data")
    assert all(line for *_, line in described(Config))


def test_other_data_may_name_its_columns_otherwise() -> None:
    """What a run was trained on has no say in what another file calls its columns."""
    config, expected = Config(text="review", label="stars"), [Example("a", "x"), Example("b", "y")]
    Path("own.csv").write_text("review,stars,text\na,x,1\nb,y,2\n")
    Path("other.csv").write_text("text,label\na,x\nb,y\n")
    assert others_of("own.csv", config) == others_of("other.csv", config) == expected
    assert others_of([{"text": "a", "label": "x"}, {"text": "b", "label": "y"}], config) == expected
    Path("strange.csv").write_text("body,kind\na long text,x\nanother text,x\n")
    with pytest.raises(DataError, match=r"columns are body, kind; rename 'body' to 'text' and 'kind' to 'label'$"):
        others_of("strange.csv", config)
    Path("pairs.tsv").write_text("a\tx\nb\ty\n")
    assert others_of("pairs.tsv", config) == expected


def test_large_tables_are_stored_wherever_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other data than that of the training, too, whatever it calls its columns."""
    everything_is_large(monkeypatch, tmp_path / "cache")
    Path("other.csv").write_text("text,label\na,x\nb,y\n")
    Path("lines.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n')
    for name in ("other.csv", "lines.jsonl"):
        found = others_of(name, Config(text="review", label="stars"))
        assert isinstance(found, StoredExamples)
        assert list(found) == [Example("a", "x"), Example("b", "y")]
        assert [one.files for one in found] == [one.files for one in read(name, Config())]
