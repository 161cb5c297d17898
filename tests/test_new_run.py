"""A training as one begins it from Python: keywords, data as people hold it, and runs that are there already."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch

import saccade
from saccade.cli.main import run as run_command
from saccade.errors import DataError, UsageError
from saccade.trained import TrainedModel
from saccade.training.memory import random_tensors, restore_random


@pytest.fixture(scope="module", autouse=True)
def as_before() -> Iterator[None]:
    """Threads and random states, which a training changes, as they were."""
    threads, states = torch.get_num_threads(), random_tensors()
    yield
    torch.set_num_threads(threads)
    restore_random(states)


@pytest.fixture(scope="module")
def reversed_letters(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    """Trained by the words of Python."""
    folder = tmp_path_factory.mktemp("train")
    (folder / "pairs.tsv").write_text("".join(f"ab{n}\t{n}ba\n" for n in range(40)))
    model: TrainedModel = saccade.train(
        "luong",
        data=folder / "pairs.tsv",
        out=folder / "run",
        epochs=2,
        batch_size=12,
        learning_rate=1e-2,
        threads=1,
        quiet=True,
        model={"hidden_size": 8, "embedding_size": 6, "dropout": 0.1},
        writer={"label_smoothing": 0.1, "metric": "bleu"},
        search={"max_length": 9},
    )
    return model


def test_training_takes_the_words_of_the_command_line_as_keywords(reversed_letters: TrainedModel) -> None:
    settings = reversed_letters.run.settings
    assert (settings.system, settings.dataset) == ("luong", "text_files")
    assert (settings.train.epochs, settings.train.batch_size, settings.train.learning_rate) == (2.0, 12, 1e-2)
    assert (settings.model.hidden_size, settings.writer.label_smoothing, reversed_letters.search().max_length) == (8, 0.1, 9)
    assert isinstance(reversed_letters.predict("ab3").text, str)
    assert "bleu" in reversed_letters.evaluate("valid")["all"]


def test_training_goes_on_or_begins_anew_only_if_that_is_said(reversed_letters: TrainedModel, tmp_path: Path) -> None:
    path = reversed_letters.run.path
    data = path.parent / "pairs.tsv"
    with pytest.raises(UsageError, match="already holds a run"):
        saccade.train("luong", data=data, out=path, quiet=True)
    with pytest.raises(UsageError, match=r"model\.\w+ cannot change at step .*; leave it as it was, .* fresh=True"):
        saccade.train("luong", data=data, out=path, resume=True, quiet=True)
    before = reversed_letters.run.checkpoints.steps()[-1]
    again = saccade.train(path, resume=True, quiet=True, epochs=3, keep=1)
    assert again.run.path == path
    assert (again.run.settings.train.epochs, again.run.settings.model) == (3.0, reversed_letters.run.settings.model)
    assert again.run.checkpoints.steps()[-1] == before * 3 // 2


REVIEWS = [(f"a {'good' if n % 2 else 'bad'} film {n}", n % 2) for n in range(40)]
FEW_STEPS: dict[str, Any] = {"steps": 3, "threads": 1, "quiet": True, "model": {"embedding_size": 4, "hidden_size": 4}}


def test_data_from_python_is_kept_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pandas.DataFrame(REVIEWS, columns=["review", "stars"])
    given: dict[str, Any] = {"train": frame, "label": "stars"}
    model = saccade.train("document_attention", data=given, out="run", **FEW_STEPS)
    before = (tmp_path / "run" / "data.train.jsonl").read_bytes()
    scores = dict(model.evaluate()["all"])
    assert dict(model.evaluate(model.splits.valid)["all"]) == scores
    assert model.evaluate(frame)["all"]["examples"] == model.evaluate(REVIEWS)["all"]["examples"] == 40
    saccade.train("document_attention", data=given, out="run", resume=True, **FEW_STEPS)  # is finished
    other: dict[str, Any] = {**given, "train": frame[::-1]}
    with pytest.raises(DataError, match="run: the training data has changed; bring it back"):
        saccade.train("document_attention", data=other, out="run", resume=True, **FEW_STEPS)
    assert (tmp_path / "run" / "data.train.jsonl").read_bytes() == before
    saccade.train("document_attention", data=other, out="run", fresh=True, **FEW_STEPS)
    assert (tmp_path / "run" / "data.train.jsonl").read_bytes() != before
    # Anew from the command line, which has no data but the run's own.
    assert run_command(["train", "run", "--fresh", "-q", "train.seed=1"]) == 0
    (tmp_path / "run").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path.parent)
    assert saccade.load(tmp_path / "moved").evaluate()["all"]["examples"] == scores["examples"]
    (tmp_path / "moved" / "data.train.jsonl").write_bytes(before)
    with pytest.raises(DataError, match=r"data\.train\.jsonl: expected the file that the run was made with"):
        saccade.load(tmp_path / "moved")


def test_a_run_finds_its_data_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path = tmp_path / "alone" / "here"  # above which nobody has a file of the same name
    home = tmp_path / "home"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)
    lines = "".join(f"{text}\t{label}\n" for text, label in REVIEWS)
    Path("my.tsv").write_text(lines)
    scores = dict(saccade.train("document_attention", data="my.tsv", out="runs/x", **FEW_STEPS).evaluate()["all"])
    monkeypatch.chdir(tmp_path)
    assert dict(saccade.load("home/runs/x").evaluate()["all"]) == scores
    home.rename(tmp_path / "moved")
    assert dict(saccade.load("moved/runs/x").evaluate()["all"]) == scores, "run and data were moved together"
    (tmp_path / "moved" / "runs" / "x").rename(tmp_path / "x")
    with pytest.raises(DataError, match=r"my\.tsv: no such file"):
        saccade.load("x").evaluate()
    Path("my.tsv").write_text(lines)
    assert dict(saccade.load("x").evaluate()["all"]) == scores, "the data is where we are"


def test_data_may_be_a_table_of_keys(tmp_path: Path) -> None:
    sizes = {"train_size": 40, "valid_size": 8, "test_size": 8, "locales": "en_US,de_DE"}
    model = saccade.train("dates", data=sizes, out=tmp_path / "run", steps=1, threads=1, quiet=True)
    assert [len(part) for _, part in model.splits.parts()] == [40, 8, 8]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"lr": 0.1}, "train.lr: no such key; did you mean train.learning_rate=0.1?"),
        ({"label_smoothing": 0.1}, "train.label_smoothing: no such key; did you mean writer.label_smoothing=0.1?"),
        ({"model": {"hiden_size": 3}}, "unknown key in [model] 'hiden_size'; did you mean 'hidden_size'?"),
        ({"stps": 5}, "unknown key in [train] 'stps'; did you mean 'steps'?"),
        ({"resum": True}, "unknown keyword 'resum'; did you mean 'resume'?"),
        ({"modle": {"hidden_size": 3}}, "unknown keyword 'modle'; did you mean 'model'?"),
        ({"model": 5}, "model: expected a table of keys of [model], such as {'key': 1}, got int"),
        ({"label": "stars"}, "label: a column is named with the data; fix: data={'train': …, 'label': 'stars'}"),
        ({"steps": 0}, "train.steps: input should be greater than 0, got 0"),
        ({"device": "gpu"}, "device: expected one of auto, cpu"),
    ],
)
def test_wrong_keywords_are_refused_and_nothing_is_left(keys: dict[str, Any], told: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"ab{n}\t{n}ba\n" for n in range(40)))
    with pytest.raises(UsageError) as error:
        saccade.train("luong", data=tmp_path / "pairs.tsv", out=tmp_path / "run", quiet=True, **keys)
    assert str(error.value).startswith(told)
    assert not (tmp_path / "run").exists()
