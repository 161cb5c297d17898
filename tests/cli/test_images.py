"""Pictures by every verb: train, evaluate, predict, look, on folders of one's own and on Fashion-MNIST."""

import json
from pathlib import Path

import pytest

from tests.made import fashion_mnist, photos

from .commands import here

SMALL = (
    "model.channels=8 model.num_stages=2 model.max_shift=1 train.steps=30 train.batch_tokens=20 train.learning_rate=0.02 "
    "train.valid_every=15 "
    "train.threads=1"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    photos(tmp_path / "photos", each=20)
    photos(tmp_path / "more", each=5)
    answer = here(f"train se_resnet data.train=photos data.test=more data.size=12 {SMALL}", capsys)
    assert answer.code == 0, answer.err
    return tmp_path / "runs" / "se_resnet"


def test_ones_own_pictures_by_every_verb(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here(f"evaluate {run} --json", capsys).out)
    assert told["scores"]["all"]["accuracy"] == 1.0
    (run.parent / "in.txt").write_text("more/red/1.png\ntest#0\n\nmore/blue/0.jpg\n")
    assert here(f"predict {run} {run.parent / 'in.txt'}", capsys).out.splitlines() == ["red", "blue", "", "blue"]
    shown = here(f"look {run} test#7 --look 'stage 2 block 1'", capsys)
    assert shown.code == 0
    assert "red: test#7" in shown.out
    for kind in ("svg", "png", "html", "trace"):
        target = run.parent / f"look.{kind}"
        assert here(f"look {run} more/red/1.png --out {target}", capsys).code == 0
        assert target.stat().st_size > 500


@pytest.mark.parametrize("asked", ["none.png", "test#10", "photos.csv"])
def test_mistakes_are_told_in_one_line(asked: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run.parent / "in.txt").write_text(f"{asked}\n")
    answer = here(f"predict {run} {run.parent / 'in.txt'}", capsys)
    assert answer.code in (2, 3)
    assert answer.err.count("\n") == 1
    assert asked in answer.err


def test_other_pictures_and_a_sample_of_them(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert here(f"evaluate {run} --data more", capsys).out.splitlines()[2].split()[:2] == ["all", "10"]
    assert "\tblue\t" in here(f"data sample {run}/config.toml --count 1", capsys).out
    answer = here(f"evaluate {run} --lengths", capsys)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "texts" in answer.err


def test_the_plain_network_looks_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    fashion_mnist(tmp_path)
    words = f"data.held_out=10 model.excitation=none {SMALL} train.warmup=0"
    answer = here(f"train fashion-mnist-se {words}", capsys)
    assert answer.code == 0, answer.err
    run = tmp_path / "runs" / "fashion-mnist-se"
    assert here(f"evaluate {run}", capsys).out.splitlines()[2].split()[:2] == ["all", "20"]
    answer = here(f"look {run} test#0", capsys)
    assert answer.code == 2
    assert "se_resnet, as this run is configured, has no attention to show" in answer.err


def test_a_place_of_the_picture_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    photos(tmp_path / "photos", each=10)
    words = f"data.train=photos data.size=12 model.excitation=none model.self_attention=1 {SMALL} train.steps=2"
    assert here(f"train se_resnet {words}", capsys).code == 0
    shown = here("look runs/se_resnet train#1 --pixel 3,4 --no-color --out places.svg", capsys)
    assert shown.code == 0, shown.err
    assert "from the place 3, 4" in Path("places.svg").read_text(encoding="utf-8")
    assert "from the place 3, 3" in here("look runs/se_resnet train#1 --no-color", capsys).out  # the middle of 6 × 6
    for wrong, told in (
        ("3", "--pixel: expected a row and a column such as 3,4, got '3'"),
        ("6,0", "from 0,0 to 5,5, got 6,0"),
    ):
        answer = here(f"look runs/se_resnet train#1 --pixel {wrong}", capsys)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert told in answer.err


def test_a_system_that_reads_texts_is_told_the_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(f"train se_resnet data.name=sentences --out {tmp_path / 'x'}", capsys)
    assert answer.code == 2
    assert "se_resnet: expected examples of picture (data.train=FOLDER" in answer.err
