"""Vectors by the verb: learned, written, asked, and taken up by a training."""

import json
from pathlib import Path

import pytest

from .commands import here

TEXT = "".join(
    f"the {animal} eats {food} today\nthe {metal} conducts heat {n}\n"
    for n in range(12)
    for animal, food, metal in (("cat", "fish", "iron"), ("dog", "meat", "copper"), ("horse", "hay", "zinc"))
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text(TEXT)
    return tmp_path


def test_learned_written_asked_and_taken_up(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("vectors texts.txt --out v.txt --width 6 --epochs 3 --min-count 4", capsys)
    assert (answer.code, answer.out) == (0, "")
    assert "v.txt: vectors of 14 words" in answer.err
    lines = (place / "v.txt").read_text().splitlines()
    assert lines[0] == "14 6"
    assert {line.split()[0] for line in lines[1:]} >= {"cat", "iron", "the"}
    near = here("vectors v.txt --near cat --count 3 --json", capsys)
    found = [json.loads(line) for line in near.out.splitlines()]
    assert len(found) == 3
    assert found[0]["cosine"] >= found[1]["cosine"] >= found[2]["cosine"]
    assert here("vectors v.txt --near cat --count 1", capsys).out.split()[1] == found[0]["word"]
    (place / "my.tsv").write_text("the cat eats\tanimal\nthe iron conducts\tmetal\n")
    words = "data.train=my.tsv data.held_out=0 tokens.kind=word reader.vectors=v.txt train.steps=2 train.threads=1"
    trained = here(f"train document_attention {words} model.embedding_size=6", capsys)
    assert trained.code == 0
    assert "v.txt: vectors of 5 of 5 words" in trained.err


def test_the_same_again_is_the_same_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.txt", "two.txt"):
        assert here(f"vectors texts.txt texts.txt --out {name} --width 5 --epochs 1", capsys).code == 0
    assert (place / "one.txt").read_bytes() == (place / "two.txt").read_bytes()


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("vectors texts.txt", 2, "expected --out FILE"),
        ("vectors missing.txt --out v.txt", 3, "missing.txt: cannot be read"),
        ("vectors texts.txt --out v.txt --min-count 9999", 3, "no word occurs 9999 times"),
        ("vectors texts.txt texts.txt --near cat", 2, "one file of vectors, got 2"),
        ("vectors texts.txt --near cat", 3, "texts.txt:1: expected a word and its numbers, got what is none"),
        ("vectors v.txt --near catt", 2, "did you mean 'cat'"),
    ],
)
@pytest.mark.usefixtures("place")
def test_mistakes_are_told_in_one_line(command: str, code: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("v.txt").write_text("cat 1 2\ndog 3 4\n")
    answer = here(command, capsys)
    assert (answer.code, answer.err.count("\n")) == (code, 1)
    assert told in answer.err
