"""Filling in, vectors and fine-tuning by command."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

from saccade import config
from saccade.trained import TrainedModel
from saccade.view.output.display_text import visible

from ..systems.test_bert import run
from .commands import here

pytestmark = pytest.mark.usefixtures("put_back")
TEXTS = ["red fox", "one bird sees the hill", "the sun goes down . and it sings"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    """A small BERT, trained for two steps."""
    return run(tmp_path_factory.mktemp("encoder") / "bert", 2)


def test_the_likeliest_tokens_are_printed_with_their_shares(
    encoder: TrainedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "red [MASK] runs over [MASK] ."
    best = encoder.predict(text, n_best=3)
    assert best.token_probabilities is not None
    told = here(["fill", str(encoder.run.path), text, "-n", "3"], capsys)
    lines = told.out.splitlines()
    assert lines[0] == visible(best.text)
    assert [line for line in lines if line.startswith("[MASK]")] == ["[MASK] 1:", "[MASK] 2:"]
    assert lines[2].split() == [f"{100 * best.token_probabilities[0]:.2f}%", visible(best.tokens[0])]
    assert len(lines) == 1 + 2 * 4
    facts = json.loads(here(["fill", str(encoder.run.path), text, "-n", "3", "--json"], capsys).out)
    assert facts["text"] == best.text
    assert [row["token"] for row in facts["masks"][1]] == [one.tokens[1] for one in (best, *best.alternatives)]
    shares = [row["probability"] for row in facts["masks"][0]]
    assert shares == sorted(shares, reverse=True)


def test_there_must_be_something_to_fill_in_and_a_model_that_can(
    encoder: TrainedModel, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = here(["fill", str(encoder.run.path), "red fox"], capsys)
    assert told.code == 2
    assert "expected a text with [MASK] where a token is to be filled in, got 'red fox'; write it there" in told.err
    told = here(["fill", "run", "red [MASK]"], capsys)
    assert "run: expected a model that fills in tokens, got one for another task; use saccade predict" in told.err
    told = here(["generate", str(encoder.run.path), "--prompt", "red"], capsys)
    assert told.err.endswith("expected a run that writes text, got bert; use saccade fill\n")
    told = here(["embed", "run", "good.tsv"], capsys)
    assert "run: expected an encoder such as bert, got bahdanau; it makes no vectors" in told.err


def test_vectors_are_written_row_by_row(encoder: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    given = ["embed", str(encoder.run.path), str(tmp_path / "t.txt")]
    printed = [json.loads(line) for line in here(given, capsys).out.splitlines()]
    wanted = encoder.embed(TEXTS)
    np.testing.assert_allclose(printed, wanted, atol=1e-6)
    told = here([*given, "--out", str(tmp_path / "v.npy")], capsys)
    assert told.err.strip() == f"{tmp_path / 'v.npy'}: 3 vectors"
    found = np.load(tmp_path / "v.npy")
    assert (found.shape, found.dtype) == ((3, 8), np.float32)
    np.testing.assert_array_equal(found, wanted)
    answer = here([*given, "--out", str(tmp_path / "v.jsonl"), "--pool", "first", "--normalized", "--json"], capsys)
    assert json.loads(answer.out) == {"file": str(tmp_path / "v.jsonl"), "vectors": 3}
    lines = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    np.testing.assert_allclose(lines, encoder.embed(TEXTS, pool="first", normalized=True), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(lines, axis=1), 1, atol=1e-6)


def test_what_cannot_be_read_or_written_is_told_and_leaves_no_file(
    encoder: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.txt").write_text("red\n\nfox\n")
    given = ["embed", str(encoder.run.path), str(tmp_path / "t.txt"), "--out"]
    told = here([*given, str(tmp_path / "v.npy")], capsys)
    assert told.code == 3
    assert f"{tmp_path / 't.txt'}:2: expected a text, got an empty line; leave it out" in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]
    assert "--out: expected a file *.npy or *.jsonl, got v.csv; rename it" in here([*given, "v.csv"], capsys).err
    (tmp_path / "t.txt").write_text("")
    assert here([*given, str(tmp_path / "v.npy")], capsys).code == 0
    assert np.load(tmp_path / "v.npy").shape == (0, 0)


def test_a_model_is_trained_further_for_a_task_whatever_directories_are_called(
    encoder: TrainedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.tsv").write_text("".join(f"red fox {n}\t{'ab'[n % 2]}\n" for n in range(40)))
    words = ["task=label", "data.train=my.tsv", "train.steps=2", "train.valid_every=2", "train.warmup=0", "train.threads=1"]
    with contextlib.chdir(tmp_path):
        (tmp_path / "bert").symlink_to(encoder.run.path)  # a directory with the name of the system is not meant
        told = here(["finetune", "bert", *words, "--quiet"], capsys)
        assert (told.code, told.err) == (0, "")
        table = config.read(tmp_path / "runs" / "bert-label" / "config.toml")
        assert (table["system"], table["task"], table["start"]) == ("bert", "label", "bert")
        told = here(["finetune", "bert", *words, "--quiet"], capsys)
        assert told.code == 2
        assert "runs/bert-label" in told.err
        told = here(
            ["finetune", "bert", *words[1:], "train.steps=3", "--resume", "--out", "runs/bert-label", "--quiet"], capsys
        )
        assert told.code == 0, told.err
