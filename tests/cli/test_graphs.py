"""Runs that label the nodes of a user's graph, by every verb, and what cannot be done with them."""

import json
from pathlib import Path

import pytest

from .commands import here

NAMES = [f"p{number}" for number in range(24)]
SMALL = (
    "model.hidden_size=4 model.num_heads=2 model.dropout=0.1 train.steps=60 train.learning_rate=0.05 "
    "train.valid_every=20 train.threads=1"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two circles of friends, each with a word of its own; nobody between them."""
    monkeypatch.chdir(tmp_path)
    split = ["train", "train", "train", "valid", "test", ""]
    labels = ["even", "odd"]
    rows = [f"{name},{labels[i % 2]},{split[i // 2 % 6]},{i % 2},{1 - i % 2}" for i, name in enumerate(NAMES)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,split,a,b", *rows]) + "\n")
    edges = [f"{name},{NAMES[(i + 2) % 24]}" for i, name in enumerate(NAMES)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    answer = here(f"train gat data.name=graph_files data.nodes=nodes.csv data.edges=edges.csv {SMALL}", capsys)
    assert answer.code == 0, answer.err
    return tmp_path / "runs" / "gat"


def test_a_graph_by_every_verb(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run.parents[1] / "nodes.csv").unlink()  # the run keeps its graph
    told = json.loads(here(f"evaluate {run} --json", capsys).out)
    assert told["data"] == "test"
    assert told["scores"]["all"]["examples"] == 4
    assert told["scores"]["all"]["accuracy"] == 1.0
    (run.parent / "in.txt").write_text("p10\n\np11\n")
    lines = here(f"predict {run} {run.parent / 'in.txt'}", capsys).out.split("\n")
    assert lines == ["even", "", "odd", ""]
    shown = here(f"look {run} p10 --no-color", capsys).out
    assert "p8 (even)" in shown
    assert "layer 2" in shown
    assert here(f"look {run} p10 --out {run.parent / 'node.svg'}", capsys).code == 0
    drawn = (run.parent / "node.svg").read_text()
    assert ">p12 0." in drawn
    assert ">even<" in drawn  # in the legend of classes


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("evaluate {run} --data my.tsv", 2, "leave it out"),
        ("evaluate {run} --lengths", 2, "reads texts"),
        ("look {run} p10 --to de", 2, "expected a run that writes several languages"),
        ("look {run} nobody", 2, "unknown node 'nobody'; known: p0"),
        ("translate {run}", 2, "writes text"),
        ("train gat data.name=text_files data.train=my.tsv --out x", 2, "expected examples of node (data.nodes=nodes.csv"),
        ("train gat data.train=my.tsv --out x", 2, "unknown key in [data]"),
        ("train gat --out x", 2, "expected two CSV files"),
        (
            "train bahdanau data.name=graph_files data.nodes=a data.edges=b",
            2,
            "expected examples of text (data.train=my.csv",
        ),
        ("train bag_of_words data.train=my.tsv model.features=binary model.hidden_size=4", 2, "model.hidden_size: binary"),
        ("train sst2-attention data.fold=10", 2, "data.fold: expected 0 to 9, got 10"),
    ],
)
def test_what_cannot_be_done(command: str, code: int, words: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(command.format(run=run), capsys)
    assert (answer.code, answer.err.count("\n")) == (code, 1), answer.err
    assert words in answer.err


def test_a_graph_without_features_or_judges_is_told(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bare.csv").write_text("id,label\np0,x\np1,y\n")
    (tmp_path / "few.csv").write_text("source,target\np0,p1\n")
    answer = here("train gat data.name=graph_files data.nodes=bare.csv data.edges=few.csv --out bare", capsys)
    assert answer.code == 3
    assert "at least one column of features" in answer.err
    (tmp_path / "full.csv").write_text("id,label,a\np0,x,1\np1,y,2\n")
    command = (
        "train gat data.name=graph_files data.nodes=full.csv data.edges=few.csv train.steps=2 train.threads=1 --out full"
    )
    assert here(command, capsys).code == 0
    answer = here("evaluate full", capsys)
    assert answer.code == 3
    assert "in the column split of its nodes" in answer.err
