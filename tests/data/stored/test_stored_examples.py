"""Stored examples are those of a list: the same, in the same order, with the same messages, whatever the format."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import Example, Splits
from saccade.data.formats import text_files
from saccade.data.formats.text_files import Config, read
from saccade.data.stored import stored_examples
from saccade.data.stored.preparations import directory
from saccade.data.stored.stored_examples import StoredExamples
from saccade.errors import DataError

from .stores import everything_is_large

PAIRS = [Example(f"satz {n} „ü“\x00", f"text {n % 4}", "fr" if n % 3 else "") for n in range(11)]


def tsv(examples: Sequence[Example]) -> bytes:
    return "".join(f"{one.line()}\n" for one in examples).encode()


def csv(examples: Sequence[Example]) -> bytes:
    return ("text,label,group\n" + "".join(f'"{one.input}","{one.target}",{one.group}\n' for one in examples)).encode()


def jsonl(examples: Sequence[Example]) -> bytes:
    rows = [{"a": {"b": one.input}, "label": one.target, "group": one.group} for one in examples]
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def array(examples: Sequence[Example]) -> bytes:
    return json.dumps([{"text": e.input, "label": e.target, "group": e.group} for e in examples]).encode()


FORMS: dict[str, tuple[Callable[[Sequence[Example]], bytes], Config]] = {
    "a.tsv": (tsv, Config()),
    "a.tsv.gz": (lambda examples: gzip.compress(tsv(examples)), Config()),
    "a.csv": (csv, Config()),
    "a.jsonl": (jsonl, Config(text="a.b")),
    "a.json": (array, Config()),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("SACCADE_CACHE", str(tmp_path / "cache"))


def both(spec: str, config: Config, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Example], StoredExamples]:
    """The examples in a list, and stored."""
    listed = read(spec, config)
    assert isinstance(listed, list)
    everything_is_large(monkeypatch, directory())
    stored = read(spec, config)
    assert isinstance(stored, StoredExamples)
    return listed, stored


def places(examples: Sequence[Example]) -> list[tuple[str, str]]:
    return [(one.where(), one.where(1)) for one in examples]


def require_same(listed: Sequence[Example], stored: StoredExamples) -> None:
    assert list(stored) == listed == [stored[i] for i in range(len(listed))]
    assert places(stored) == places(listed)
    assert Splits(stored, [], []).fingerprint() == Splits(listed, [], []).fingerprint()


@pytest.mark.parametrize("name", FORMS)
def test_every_format_gives_the_examples_of_a_list(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, config = FORMS[name]
    Path(name).write_bytes(form(PAIRS))
    listed, stored = both(name, config, monkeypatch)
    assert listed == PAIRS
    require_same(listed, stored)


def test_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": [one.input for one in PAIRS], "label": [one.target for one in PAIRS]})
    parquet.write_table(table, "a.parquet", row_group_size=4)
    listed, stored = both("a.parquet", Config(), monkeypatch)
    assert stored[3].where() == "a.parquet: row 4"
    require_same(listed, stored)


def test_parallel_text_folders_and_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.de").write_text("eins\nzwei\ndrei\n\n")
    Path("a.en").write_text("one\ntwo\nthree")
    for name in ("b/good/1.txt", "b/bad/2.txt", "b/good/3.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"text of {name}\n")
    Path("parts").mkdir()
    for part in range(3):
        Path(f"parts/{part}.tsv.gz").write_bytes(gzip.compress(tsv(PAIRS[4 * part : 4 * part + 4])))
    for spec, count in (("a.de,a.en", 3), ("b", 3), ("parts/*.tsv.gz", 11)):
        with monkeypatch.context() as patch:
            listed, stored = both(spec, Config(), patch)
        assert len(listed) == count
        require_same(listed, stored)


def test_views_are_lazy_and_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.tsv").write_bytes(tsv(PAIRS))
    listed, stored = both("a.tsv", Config(), monkeypatch)
    for part in (slice(2, 9), slice(None, None, -2), slice(3, 3)):
        view = stored[part]
        assert isinstance(view, StoredExamples)
        require_same(listed[part], view)
    some = stored[np.array([7, 0, 7, 10])]
    require_same([listed[i] for i in (7, 0, 7, 10)], some)
    require_same([listed[10], listed[7]], some[3:1:-1])
    assert stored[-1] == listed[-1]
    with pytest.raises(IndexError):
        stored[11]
    assert list(stored.targets[2:5]) == [one.target for one in listed[2:5]]
    assert stored.groups.different() == ["", "fr"]


def test_what_is_wrong_is_told_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.tsv").write_bytes(tsv(PAIRS) + b"nothing\nx\t\xff\n\nz\tw\n")
    Path("b.de").write_text("eins\nzwei\n")
    Path("b.en").write_text("one\n")
    specs = ("a.tsv", "b.de,b.en", "gone.tsv")
    told: dict[bool, list[str]] = {False: [], True: []}
    for large in (False, True):
        if large:
            everything_is_large(monkeypatch, directory())
        for spec in specs:
            with pytest.raises(DataError) as error:
                read(spec, Config())
            told[large].append(str(error.value))
        for _ in range(2):  # what was skipped is told again when it is opened again
            read("a.tsv", Config(skip_bad=True), told[large].append)
    assert told[True] == told[False]
    assert told[True][-1] == told[True][-2]
    assert "skipped 3 bad of 15 lines: a.tsv:12: " in told[True][-1]


def test_a_source_is_read_once_and_anew_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    everything_is_large(monkeypatch, directory())
    Path("a.tsv").write_bytes(tsv(PAIRS))
    first = read("a.tsv", Config())
    with monkeypatch.context() as patch:
        patch.setattr(text_files, "examples", lambda *given: pytest.fail("read again"))
        again = read(str(Path("a.tsv").absolute()), Config())
    assert list(again) == list(first)
    assert again[4].where() == f"{Path('a.tsv').absolute()}:5"
    os.utime("a.tsv", ns=(0, 0))
    Path("a.tsv").write_bytes(tsv(PAIRS[::-1]))
    assert list(read("a.tsv", Config())) == PAIRS[::-1]
    assert list(read("a.tsv", Config(skip_bad=True, max_length=11))) == PAIRS[9::-1]


def test_small_sources_stay_in_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(tsv(PAIRS))
    Path("a.tsv.gz").write_bytes(content)
    monkeypatch.setattr(stored_examples, "LARGE", 4 * len(content) + 1)
    assert isinstance(read("a.tsv.gz", Config()), list)
    monkeypatch.setattr(stored_examples, "LARGE", 4 * len(content))
    assert isinstance(read("a.tsv.gz", Config()), StoredExamples)
