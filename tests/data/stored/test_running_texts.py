"""Stored running text is that of a list: the same texts, the same ends held out, in pieces that come to the whole."""

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from saccade.data.examples import Example, Splits
from saccade.data.formats import own_files, running_text
from saccade.data.formats.running_text import Config
from saccade.data.stored.preparations import directory
from saccade.data.stored.running_texts import RunningTexts
from saccade.errors import DataError

from .stores import everything_is_large

ODD = "Ein „Satz“.\nNoch\u2003\neiner\n\n mehr\n\u3000weit\nso\n𝄞\nfort\x00\x1f\nund\n" * 3


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("SACCADE_CACHE", str(tmp_path / "cache"))


def both(monkeypatch: pytest.MonkeyPatch, **given: Any) -> tuple[Splits, Splits]:
    """All parts in lists, and stored."""
    listed = running_text.load(Config(**given))
    everything_is_large(monkeypatch, directory())
    return listed, running_text.load(Config(**given))


def require_same(listed: Splits, stored: Splits) -> None:
    assert stored.fingerprint() == listed.fingerprint()
    for (_, one), (_, other) in zip(listed.parts(), stored.parts(), strict=True):
        assert list(other) == list(one)
        assert [text.where() for text in other] == [text.where() for text in one]
        if isinstance(other, RunningTexts):
            assert "".join(other.pieces) == "".join(text.target for text in one)
            assert other.inputs == [""] * len(one)


@pytest.mark.parametrize(("count", "share"), [(1, 0.3), (2, 0.3), (5, 0.3), (30, 0.3), (5, 0)])
def test_the_same_is_held_out(count: int, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [ODD[number % 7 :] + "x" * number for number in range(count)] if count > 2 else [ODD, "ab"][:count]
    Path("a.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in [*texts, " "]))
    listed, stored = both(monkeypatch, train="a.jsonl", held_out=share)
    assert isinstance(stored.train, RunningTexts)
    assert isinstance(stored.valid, RunningTexts)
    require_same(listed, stored)


def test_files_folders_and_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_files, "BLOCK", 3)
    Path("in").mkdir()
    Path("in/a.txt").write_bytes(b"\xef\xbb\xbf" + ODD.replace("\n", "\r\n").encode() + b"\r\r\n\r")
    Path("in/b 12").with_suffix(".md").write_text(ODD)
    Path("c.txt.gz").write_bytes(gzip.compress(ODD.encode()))
    require_same(*both(monkeypatch, train="in", test="c.txt.gz", held_out=0.2))


def test_pieces_end_only_where_a_newline_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.txt").write_text(ODD)
    _, stored = both(monkeypatch, train="a.txt", held_out=0)
    assert isinstance(stored.train, RunningTexts)
    pieces = list(stored.train.pieces)
    assert len(pieces) > 6
    for one, other in pairwise(pieces):
        assert (one[-1], one[-2].isspace(), other[0].isspace()) == ("\n", False, False)


def test_what_is_wrong_is_told_in_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_files, "BLOCK", 3)
    contents = [b" \n \n ", b"\xef\xbb\xbf", b"ab\n\nc\xc3\xa9\n\xe9f", "ab\n\u3000".encode()[:-1], b"\xff\xfea"]
    told: list[Sequence[str]] = []
    for large in (False, True):
        if large:
            everything_is_large(monkeypatch, directory())
        lines = []
        for number, content in enumerate(contents):
            Path(f"{number}.txt").write_bytes(content)
            with pytest.raises(DataError) as error:
                running_text.read(f"{number}.txt", Config())
            lines.append(str(error.value))
        told.append(lines)
    assert told[0] == told[1]


def test_small_files_stay_in_lists() -> None:
    Path("a.txt").write_text(ODD)
    assert running_text.read("a.txt", Config()) == [Example("", ODD)]
