"""Looks at heads: a layer and a head by number, a report that sorts, and what changes without some heads."""

import json
from pathlib import Path

import pytest

from saccade.exchange.opening import load
from saccade.view import load as load_trace

from ..exchange import encoder_models, gpt_models
from .commands import here


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return gpt_models.run(tmp_path_factory.mktemp("looking") / "gpt").run.path


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published directory."""
    path = tmp_path_factory.mktemp("looking") / "bert"
    encoder_models.published("bert", path)
    return path


def test_a_layer_and_a_head_by_number(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(["look", str(bert), "the cat sat", "--layer", "2", "--head", "1", "--no-color"], capsys)
    assert "self-attention, layer 2 · head 1" in answer.out
    drawn = tmp_path / "a.svg"
    assert here(["look", str(bert), "the cat sat", "--layer", "2", "-o", str(drawn)], capsys).code == 0
    assert "self-attention, layer 2" in drawn.read_text()
    answer = here(["look", str(bert), "the cat sat", "--layer", "3"], capsys)
    assert (answer.code, "layer: expected a layer from 1 to 2" in answer.err) == (2, True)


def test_heads_are_reported_and_sorted(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("the cat sat\n\na dog\n")
    lines = here(["look", str(bert), "--file", str(texts), "--sort", "separator", "--count", "3"], capsys).out.splitlines()
    assert lines[0].startswith("bert: 4 heads on 2 texts")
    assert lines[0].endswith("sorted by separator")
    assert (len(lines), lines[-1]) == (6, "1 more heads")
    table = json.loads(here(["look", str(bert), "--file", str(texts), "--sort", "separator", "--json"], capsys).out)
    shares = [row["separator"] for row in table["heads"]]
    assert shares == sorted(shares, reverse=True)
    assert table["heads"] == load(bert).heads(["the cat sat", "a dog"]).sorted("separator").table()
    out = tmp_path / "heads.svg"
    assert here(["look", str(bert), "a dog", "--heads", "-o", str(out)], capsys).out.split() == [str(out)]
    assert ">previous</text>" in out.read_text()


def test_rollout_and_flow_are_further_looks(gpt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.trace"
    assert here(["look", str(gpt), "to be or not", "--rollout", "--flow", "-o", str(out)], capsys).code == 0
    (scene,) = load_trace(out).scenes
    assert [(look.name, look.kind) for look in scene.looks[2:]] == [
        ("attention rollout", "rollout"),
        ("attention flow", "flow"),
    ]
    assert scene.title == "to be or not"
    answer = here(["look", str(gpt), "to be", "--reading", "--no-color"], capsys)
    assert "to be" in answer.out.splitlines()[0]
    assert "→" not in answer.out


def test_what_changes_without_heads(gpt: Path, bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = here(["look", str(gpt), "to be or not", "--without", "1.0", "--without", "2"], capsys).out
    assert "without 1.0, 2" in told
    assert "next token" in told
    (table,) = json.loads(here(["look", str(gpt), "to be or not", "--without", "1.0", "--json"], capsys).out)
    assert table["change"] == pytest.approx(load(gpt).ablation("to be or not", ["1.0"]).change)
    (table,) = json.loads(here(["look", str(bert), "the [MASK] sat", "--without", "2", "--json"], capsys).out)
    assert list(table["outputs"]) == ["filled in 1"]
    with_all, without = tmp_path / "a.trace", tmp_path / "b.trace"
    here(["look", str(bert), "the cat", "-o", str(with_all)], capsys)
    here(["look", str(bert), "the [MASK]", "--without", "1", "-o", str(without)], capsys)
    assert load_trace(without).scenes[0].looks[1].name == load_trace(with_all).scenes[0].looks[1].name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--count", "3"], "--count: expected --heads"),
        (["--json"], "--json: expected --heads or --without"),
        (["--sort", "previos"], "unknown measure 'previos'; did you mean 'previous'"),
        (["--without", "9.9"], "without: expected a layer from 1 to 2, got 9"),
        (["--heads", "-o", "a.trace"], "a.trace: expected a name that ends in .svg, .png, .html, .json, .csv"),
        (["--reading"], "reading: expected a language model, got bert"),
    ],
)
def test_what_cannot_be_is_said(options: list[str], said: str, bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(["look", str(bert), "the [MASK] sat", *options], capsys)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_without_a_text_there_is_nothing(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    assert "there is nothing to look at" in here(["look", str(bert), " "], capsys).err
    assert "Missing argument TEXT" in here(["look", str(bert)], capsys).err
    assert "expected a text on each line" in here(["look", str(bert), "--file", str(tmp_path / "empty.txt")], capsys).err
