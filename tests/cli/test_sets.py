"""Runs on sets, by every verb: numbers of one's own, words that belong, items that do not."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from saccade.errors import UsageError
from saccade.exchange.opening import load as load_run

from .commands import here

SMALL = (
    "train.steps=250 train.learning_rate=0.02 train.schedule=cosine train.batch_tokens=200 "
    "train.threads=1 train.valid_every=250"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numbers_of_ones_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prices = {"tea": 2.5, "milk": 1.0, "bread": 3.0}
    dice, lines = np.random.default_rng(0), []
    for _ in range(80):
        basket = dice.choice(sorted(prices), dice.integers(1, 5)).tolist()
        lines.append(f"{' '.join(basket)}\t{sum(prices[item] for item in basket):.1f}\n")
    (place / "my.tsv").write_text("".join(lines))
    answer = here(f"train deep_sets data.train=my.tsv data.test=my.tsv tokens.kind=word {SMALL}", capsys)
    assert answer.code == 0, answer.err
    told = json.loads(here("evaluate runs/deep_sets --json", capsys).out)["scores"]["all"]
    assert told["exact_match"] > 0.9
    shown = here("evaluate runs/deep_sets --data my.tsv --lengths", capsys).out
    assert re.split(r" {2,}", shown.splitlines()[1].strip()) == ["examples", "exact match", "mean absolute error"]
    (place / "in.txt").write_text("tea milk tea\nmilk tea tea\n")
    lines = here("predict runs/deep_sets in.txt", capsys).out.split()
    assert lines[0] == lines[1]
    assert float(lines[0]) == pytest.approx(6.0, abs=0.15)
    assert "look" not in answer.out
    alike = here("look runs/deep_sets 'tea milk' --no-color", capsys)
    assert (alike.code, "deep_sets, as this run is configured, has no attention to show" in alike.err) == (2, True)
    with pytest.raises(UsageError, match="no attention to show"):
        load_run("runs/deep_sets").look("tea milk")
    assert here("translate runs/deep_sets", capsys).code == 2


def test_words_that_belong(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "my.tsv").write_text("tea milk\tsugar\nmilk sugar\ttea\nnail wood\thammer\nwood hammer\tnail\n" * 10)
    data = "data.train=my.tsv data.test=my.tsv data.held_out=0 tokens.kind=word"
    assert here(f"train set_expansion {data} model.embedding_size=8 {SMALL}", capsys).code == 0
    assert "by frequency" in here("evaluate runs/set_expansion", capsys).out
    (place / "in.txt").write_text("milk tea\n")
    assert here("predict runs/set_expansion in.txt", capsys).out == "sugar\n"
    assert len(here("predict runs/set_expansion in.txt --n-best 3 --scores", capsys).out.splitlines()) == 3
    assert here("look runs/set_expansion 'tea milk' --out look.svg", capsys).code == 0
    shown = here("look runs/set_expansion 'tea milk' --no-color", capsys).out
    assert "4 words" in shown
    assert "<unk>" not in shown


def test_the_odd_one_of_ones_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dice, rows = np.random.default_rng(0), ["bag,label,mark,a,b"]
    for bag in range(40):
        odd, base = int(dice.integers(5)), dice.normal(size=2)
        for item in range(5):
            a, b = base + (item == odd) * 4 + dice.normal(size=2) / 10
            rows.append(f"{bag},x,{int(item == odd)},{a:.3f},{b:.3f}")
    (place / "bags.csv").write_text("\n".join(rows) + "\n")
    command = (
        f"train set_outlier data.train=bags.csv data.test=bags.csv model.hidden_size=8 {SMALL} train.learning_rate=0.01"
    )
    assert here(command, capsys).code == 0
    shown = here("evaluate runs/set_outlier --data bags.csv", capsys).out
    assert "accuracy by chance" in shown
    assert "20.00%" in shown
    told = json.loads(here("evaluate runs/set_outlier --json", capsys).out)["scores"]["all"]
    assert told["accuracy"] > 0.9
    (place / "in.txt").write_text("test#0\nbags.csv#0\n")
    one, other = here("predict runs/set_outlier in.txt", capsys).out.split()
    assert one == other
    assert "marked item: 4" in here("look runs/set_outlier test#0 --no-color", capsys).out


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("train deep_sets --out x", 2, "data.train"),
        ("train deep_sets data.name=mil --out x", 3, "expected a number as target, got 'positive'"),
        (
            "train set_outlier data.name=text_files data.train=a.tsv --out x",
            2,
            "expected examples of bag (data.train=bags.csv",
        ),
        ("train digit-sum data.test_sizes=[0] --out x", 2, "data.test_sizes: expected sizes of at least 1"),
        ("train mnist-outlier data.size=2 --out x", 2, "data.size: of two nobody can tell"),
        ("train deep_sets data.train=words.tsv tokens.kind=word --out x", 3, "expected a number as target, got 'many'"),
    ],
)
def test_what_cannot_be_done(command: str, code: int, words: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "words.tsv").write_text("".join(f"a b{n}\tmany\n" for n in range(20)))
    answer = here(command, capsys)
    assert (answer.code, answer.err.count("\n")) == (code, 1), answer.err
    assert words in answer.err
