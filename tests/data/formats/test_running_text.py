"""Running text of one's own: a file, several, a folder, a table; the end of few texts is held out, or some of many."""

from pathlib import Path
from typing import Any

import pytest

from saccade.data.formats.running_text import Config, load, read
from saccade.errors import DataError, UsageError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def texts(spec: str, **given: Any) -> list[str]:
    return [one.target for one in read(spec, Config(**given))]


def test_where_texts_are() -> None:
    Path("in/deep").mkdir(parents=True)
    Path("a.txt").write_bytes("\ufeffone\r\ntwo\n".encode())
    Path("in/b.txt").write_text("three")
    Path("in/deep/c.md").write_text("four")
    Path("in/picture.png").write_text("no text")
    Path("d.csv").write_text('id,body\n1,"five\nsix"\n2,seven\n')
    assert texts("a.txt") == ["one\ntwo\n"]
    assert texts("a.txt, in/b.txt") == ["one\ntwo\n", "three"]
    assert texts("in") == ["three", "four"]
    assert texts("d.csv", text="body") == ["five\nsix", "seven"]


def test_the_end_of_a_text_is_held_out() -> None:
    Path("a.txt").write_text("0123456789" * 10)
    splits = load(Config(train="a.txt"))
    assert ["".join(one.target for one in part) for _, part in splits.parts()] == ["0123456789" * 9, "0123456789", ""]
    assert load(Config(train="a.txt", held_out=0)).valid == []
    assert [len(part) for _, part in load(Config(train="a.txt", valid="a.txt")).parts()] == [1, 1, 0]


def test_of_many_texts_some_are_held_out_whole() -> None:
    Path("a.jsonl").write_text("".join(f'{{"text": "number {n}"}}\n' for n in range(40)))
    splits = load(Config(train="a.jsonl"))
    assert (len(splits.train), len(splits.valid)) == (36, 4)
    assert all(one.target.startswith("number ") for one in splits.valid)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("none.txt", "none.txt: no such file"),
        ("empty.txt", "empty.txt: expected text, got an empty file"),
        ("latin.txt", "latin.txt:2: expected UTF-8, got 0xe9; fix: convert the file"),
        ("folder", "folder: expected texts (.txt, .text, .md) in the folder, got none"),
    ],
)
def test_mistakes_are_told(spec: str, told: str) -> None:
    Path("empty.txt").write_text(" \n")
    Path("latin.txt").write_bytes(b"a\ncaf\xe9")
    Path("folder").mkdir()
    with pytest.raises(DataError) as error:
        load(Config(train=spec))
    assert told in str(error.value)
    with pytest.raises(UsageError, match=r"data\.train: expected a text"):
        load(Config())
