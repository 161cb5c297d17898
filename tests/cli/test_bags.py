"""Runs that label bags, by every verb: a CSV file of one's own, and pictures."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .commands import here

SMALL = (
    "model.hidden_sizes=[8] model.attention_size=4 model.dropout=0.0 train.steps=80 "
    "train.learning_rate=0.02 train.batch_tokens=40 train.threads=1"
)


def table(path: Path, labeled: bool = True) -> None:
    dice, rows = np.random.default_rng(0), []
    for bag in range(30):
        for place in range(2 + bag % 3):
            first = 5 if bag % 2 and place == 0 else 0
            rows.append([str(bag), ("no", "yes")[bag % 2], str(int(first > 0)), str(first), f"{dice.normal():.3f}"])
    lines = [",".join(row if labeled else [row[0], *row[3:]]) for row in rows]
    path.write_text("\n".join(["bag,label,mark,a,b" if labeled else "bag,a,b", *lines]) + "\n")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "bags.csv")
    answer = here(f"train attention_mil data.train=bags.csv data.test=bags.csv {SMALL}", capsys)
    assert answer.code == 0, answer.err
    return tmp_path / "runs" / "attention_mil"


def test_bags_by_every_verb(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here(f"evaluate {run} --json", capsys).out)["scores"]["all"]
    assert (told["examples"], told["accuracy"]) == (30, 1.0)
    assert told["instance_auc"] == 1.0
    assert "instance AUC" in here(f"evaluate {run} --data bags.csv", capsys).out
    table(Path("new.csv"), labeled=False)
    Path("in.txt").write_text("new.csv#1\n\nnew.csv#2\ntest#3\n")
    assert here(f"predict {run} in.txt", capsys).out.split("\n") == ["yes", "", "no", "yes", ""]
    shown = here(f"look {run} test#1 --no-color", capsys).out
    assert "known label: yes" in shown
    assert here(f"look {run} new.csv#1 --out bag.svg", capsys).code == 0
    assert "yes" in Path("bag.svg").read_text()
    assert here("data sample runs/attention_mil/config.toml --count 1", capsys).out == "0\tno\t2 instances\n"


def test_features_are_known_by_their_names(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line.split(",") for line in Path("bags.csv").read_text().splitlines()]
    Path("turned.csv").write_text("".join(f"{b},{bag},{label},{a}\n" for bag, label, _, a, b in rows))
    Path("other.csv").write_text(Path("bags.csv").read_text().replace("mark,a,b", "mark,a,c"))
    told = [json.loads(here(f"evaluate {run} --data {name} --json", capsys).out) for name in ("bags.csv", "turned.csv")]
    assert told[0]["scores"]["all"]["loss"] == told[1]["scores"]["all"]["loss"]
    Path("in.txt").write_text("turned.csv#1\nturned.csv#2\n")
    assert here(f"predict {run} in.txt", capsys).out == "yes\nno\n"
    for command in (
        f"evaluate {run} --data other.csv",
        f"look {run} other.csv#1",
        f"train attention_mil data.train=bags.csv data.valid=other.csv {SMALL} --out x",
    ):
        answer = here(command, capsys)
        assert (answer.code, answer.err.count("\n")) == (3, 1), answer.err
        assert "other.csv: expected the features" in answer.err
        assert "(a, b); missing: b; unknown: c;" in answer.err


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("predict {run} in.txt", 3, "in.txt:3: test#30: expected test#0 to test#29"),
        ("look {run} none.csv", 3, "none.csv: no such file"),
        ("train attention_mil --out x", 2, "data.train: expected bags"),
        (
            "train attention_mil data.name=text_files data.train=a.tsv --out x",
            2,
            "expected examples of bag (data.train=bags.csv",
        ),
        ("train musk1 data.fold=99", 2, "data.fold: expected 0 to 49, got 99"),
        ("evaluate {run} --lengths", 2, "reads texts"),
    ],
)
def test_what_cannot_be_done(command: str, code: int, words: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.txt").write_text("test#0\n\ntest#30\n")
    answer = here(command.format(run=run), capsys)
    assert (answer.code, answer.err.count("\n")) == (code, 1), answer.err
    assert words in answer.err


def test_a_picture_in_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Tissue with a spot in one tile is sick; the weights tell which tile."""
    monkeypatch.chdir(tmp_path)
    dice = np.random.default_rng(0)
    for number in range(16):
        pixels = dice.integers(0, 60, (48, 48), dtype=np.uint8)
        if number % 2:
            pixels[2:14, 34:46] = 250
        path = tmp_path / "slides" / ("well", "sick")[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    answer = here(
        f"train attention_mil data.train=slides data.tile=16 {SMALL} train.learning_rate=0.005 train.steps=40", capsys
    )
    assert answer.code == 0, answer.err
    assert (
        json.loads(here("evaluate runs/attention_mil --split train --json", capsys).out)["scores"]["all"]["accuracy"] == 1.0
    )
    assert here("look runs/attention_mil slides/sick/1.png --out look.trace", capsys).code == 0
    from saccade.view import load

    (scene,) = load("look.trace").scenes
    assert int(scene.looks[0].weights.argmax()) == 2


def test_what_is_told_to_look_at_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "bags.csv")
    told = here(f"train attention_mil data.train=bags.csv {SMALL} train.steps=2", capsys).out
    assert "saccade look runs/attention_mil valid#0 --out look.html" in told
    assert here("look runs/attention_mil valid#0 --out look.html", capsys).code == 0
