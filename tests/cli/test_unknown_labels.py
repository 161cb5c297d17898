"""A label that is judged and was never learned is told with its file and line, whatever carries it, before any work."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.data.examples import PARTS

from .commands import here


def texts(path: Path, labels: str, between: str = "") -> None:
    path.write_text("".join(f"text {number}{between}\t{label}\n" for number, label in enumerate(labels)))


def bags(path: Path, labels: str) -> None:
    rows = [f"{number},{label},{number},{k}" for number, label in enumerate(labels) for k in range(2)]
    path.write_text("\n".join(["bag,label,a,b", "", *rows]) + "\n")  # an empty line counts, too


def pictures(path: Path, labels: str) -> None:
    for number, label in enumerate(labels):
        file = path / label / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((32, 32), 20 * number, np.uint8)).save(file)


def listed(path: Path, labels: str) -> None:
    folder = path.with_suffix("")
    pictures(folder, labels)
    rows = [f"{folder.name}/{label}/{number}.png,{label}" for number, label in enumerate(labels)]
    path.write_text("\n".join(["path,label", *rows]) + "\n")


def numbers(path: Path, labels: str) -> None:
    values = labels.translate(str.maketrans("abz", "12?"))
    path.write_text("".join(f"a {number}\t{value}\n" for number, value in enumerate(values)))


CASES: dict[str, tuple[str, str, Callable[[Path, str], None], str]] = {
    "texts": ("document_attention", ".tsv", texts, "{}.tsv:3: label 'z' is in "),
    "documents": ("han", ".tsv", texts, "{}.tsv:3: label 'z' is in "),
    "aspects": ("atae_lstm", ".tsv", lambda path, labels: texts(path, labels, " | it"), "{}.tsv:3: label 'z' is in "),
    "bags": ("attention_mil", ".csv", bags, "{}.csv:7: label 'z' is in "),
    "folders of bags": ("attention_mil", "", pictures, "{}/z/2.png: label 'z' is in "),
    "pictures": ("se_resnet", "", pictures, "{}/z/2.png: label 'z' is in "),
    "pictures in a list": ("se_resnet", ".csv", listed, "{}.csv:4: label 'z' is in "),
    "sets": ("deep_sets", ".tsv", numbers, "{}.tsv:3: expected a number as target, got '?'"),
}


@pytest.mark.parametrize("part", ["valid", "test"])
@pytest.mark.parametrize("kind", CASES)
def test_it_is_told_by_its_place(
    kind: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    system, suffix, make, told = CASES[kind]
    for name in ("train", "valid", "test"):
        make(tmp_path / f"{name}{suffix}", "abz" if name == part else "abab")
    data = " ".join(f"data.{name}={name}{suffix}" for name in ("train", "valid", "test"))
    answer = here(f"train {system} {data} train.steps=1 train.threads=1 --out run", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1), answer.err
    assert f" {told.format(part)}" in answer.err
    assert answer.err.endswith(", or data.skip_bad=true\n") == (suffix == ".tsv")


def test_texts_that_were_taken_for_labels_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"a {number}\tthe number {number}\n" for number in range(30)))
    answer = here(f"train document_attention data.train={pairs} --out {tmp_path / 'run'}", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1), answer.err
    assert "in no training example; most labels occur once, as texts do: for those train transformer" in answer.err


@pytest.mark.parametrize("part", ["valid", "test"])
def test_nodes_are_told_by_their_row(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = tmp_path / "nodes.csv"
    nodes.write_text(f"id,label,split,x\na,one,train,1\n\nb,two,train,2\nc,z,{part},3\nd,one,valid,1\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    words = f"data.nodes={nodes} data.edges={tmp_path / 'edges.csv'} train.steps=1 train.threads=1"
    answer = here(f"train gat {words} --out {tmp_path / 'run'}", capsys)
    assert (answer.code, answer.err.count("\n")) == (3, 1), answer.err
    assert f"{nodes}:5: label 'z' is in the {PARTS[part]} data, but in no training example; " in answer.err
    assert answer.err.endswith("or mend the column split\n")


def test_an_example_that_cannot_be_read_is_told_by_its_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "long.tsv").write_text("axa\ta-x\n" + "a" * 50 + "\ta\n")
    train = "train bahdanau data.train=long.tsv data.held_out=0 reader.max_length=40 --out new tokens.kind=char"
    for command in ("evaluate run --data long.tsv", train):
        answer = here(command, capsys)
        assert (answer.code, answer.err.count("\n")) == (3, 1)
        assert "long.tsv:2: 50 tokens, at most 40 expected" in answer.err
