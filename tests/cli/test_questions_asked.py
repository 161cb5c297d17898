"""Questions about pictures by every verb: train, evaluate, predict, look, with two words and with one."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import saccade
from tests.made_questions import asked

from .commands import here

SMALL = (
    "model.channels=4 model.num_stages=2 model.hidden_size=16 model.dropout=0.0 train.steps=150 train.batch_tokens=16 "
    "train.learning_rate=0.01 train.valid_every=50 train.threads=1 train.patience=0"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    asked(tmp_path / "learned")
    asked(tmp_path / "others", each=3)
    answer = here(
        f"train ask_attend_answer data.train=learned/asked.csv data.test=others/asked.csv data.size=12 {SMALL}", capsys
    )
    assert answer.code == 0, answer.err
    assert "uneven" not in answer.err
    return tmp_path / "runs" / "ask_attend_answer"


def test_ones_own_questions_by_every_verb(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here(f"evaluate {run} --json", capsys).out)["scores"]
    assert told["all"]["accuracy"] == 1.0
    assert told["color"]["examples"] == told["yes or no"]["examples"] == 6
    assert here(f"evaluate {run} --data others/asked.csv", capsys).out.splitlines()[2].split()[:2] == ["all", "12"]
    Path("in.txt").write_text("others/red1.png ||| what color is it ?\n\ntest#1\nothers/blue0.png|||is it red ?\n")
    assert here(f"predict {run} in.txt", capsys).out.splitlines() == ["red", "", "yes", "no"]
    Path("in.csv").write_text("picture,question\nothers/red1.png,is it red ?\nothers/blue1.png,what color is it ?\n")
    assert here(f"predict {run} in.csv", capsys).out.splitlines() == ["yes", "blue"]
    shown = here(f"look {run} others/red1.png 'is it red ?' 'what color is it ?'", capsys)
    assert shown.code == 0, shown.err
    assert shown.out.index("yes: others/red1.png") < shown.out.index("red: others/red1.png")
    assert "question: what color is it ?" in shown.out
    for kind in ("svg", "png", "html", "trace"):
        target = run.parent / f"look.{kind}"
        assert here(f"look {run} others/red1.png 'is it red ?' --out {target}", capsys).code == 0
        assert target.stat().st_size > 500
    words = here(f"look {run} test#0 --look words", capsys).out
    assert "what color is it ?" in words
    assert here(f"look {run} others/red1.png", capsys).code == 3

    model = saccade.load(run)
    pixels = np.asarray(Image.open("others/blue2.png").resize((12, 12)))
    assert model.predict((Image.open("others/blue2.png"), "is it red ?")).text == "no"
    assert [one.text for one in model.predict([(pixels, "is it red ?"), ("others/red0.png", "what color is it ?")])] == [
        "no",
        "red",
    ]
    assert model.look((pixels, "is it red ?")).weights("hops").shape == (2, 36)
    held = [((pixels, "is it red ?"), "no"), ((pixels, "what color is it ?"), "green")]
    assert model.evaluate(held)["all"]["accuracy"] == 0.5
