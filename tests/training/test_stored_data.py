"""A run on stored examples is the run on the same examples in memory: same losses, same scores, also when it is resumed."""

import signal
from pathlib import Path

import pytest

from saccade.data import batches
from saccade.data.stored.running_texts import RunningTexts
from saccade.data.stored.stored_examples import StoredExamples
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from tests.data.stored.stores import everything_is_large

from .many import losses, trained
from .sittings import Pressed, lines
from .test_parallel import table

COMMON = ["steps=12", "valid_every=5", "save_every=4", "log_every=1", "threads=1", "batch_tokens=300", "schedule=constant"]
PAIRS = ["tokens.size=300", "model.hidden_size=8", "model.num_heads=2", "model.intermediate_size=16", "data.held_out=0.1"]
PAIRS += ["search.max_length=6"]


def settings(folder: Path, system: str) -> Settings:
    about = " | satz" if system == "atae_lstm" else ""
    rows = "".join(f"satz {n} {'lang ' * (n % 7)}{about}\tsentence {n % 5}\t{'ab'[n % 2]}\n" for n in range(90))
    (folder / "my.tsv").write_text(rows)
    words = [f"data.train={folder / 'my.tsv'}", *(f"train.{word}" for word in COMMON)]
    own = {"transformer": [*PAIRS, "writer.start=group"], "document_attention": ["model.hidden_size=6"]}
    own["atae_lstm"] = ["model.hidden_size=6", "reader.max_length=6"]
    return resolve({"system": system}, [*words, *own[system]])


def running(folder: Path) -> Settings:
    (folder / "my.txt").write_text("".join(f"satz {n} {'lang ' * (n % 7)}\n{'  mehr ü' * (n % 3)}" for n in range(90)))
    words = [
        f"data.train={folder / 'my.txt'}",
        *(f"train.{word}" for word in [*COMMON, "batch_size=3"] if "tokens" not in word),
    ]
    sizes = ["model.hidden_size=8", "model.num_layers=1", "model.num_heads=2", "writer.context_length=9", "tokens.size=280"]
    return resolve({"system": "gpt2"}, [*words, *sizes])


def told(run: Path) -> list[object]:
    return [(line.get("loss"), line.get("scores")) for line in lines(run) if line["event"] in ("train", "step", "valid")]


@pytest.mark.parametrize("system", ["transformer", "document_attention", "atae_lstm"])
@pytest.mark.usefixtures("put_back")
def test_stored_is_as_in_memory(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(tmp_path, system)
    train(tmp_path / "memory", given, Quiet())
    everything_is_large(monkeypatch, tmp_path / "cache")
    train(tmp_path / "stored", given, Quiet())
    assert isinstance(Run.open(tmp_path / "stored").splits().train, StoredExamples)
    assert len(told(tmp_path / "memory")) > 10
    assert told(tmp_path / "stored") == told(tmp_path / "memory")


@pytest.mark.usefixtures("put_back")
def test_stored_running_text_is_as_in_memory_also_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = running(tmp_path)
    train(tmp_path / "memory", given, Quiet())
    everything_is_large(monkeypatch, tmp_path / "cache")
    train(tmp_path / "stored", given, Quiet())
    assert isinstance(Run.open(tmp_path / "stored").splits().train, RunningTexts)
    with pytest.raises(Interrupted):
        train(tmp_path / "cut", given, Pressed(6, signal.SIGINT))
    train(tmp_path / "cut", given, Quiet(), resume=True)
    assert len(told(tmp_path / "memory")) > 10
    assert told(tmp_path / "cut") == told(tmp_path / "stored") == told(tmp_path / "memory")
    tokenizers = {(tmp_path / run / "tokenizer.json").read_text() for run in ("memory", "stored", "cut")}
    assert len(tokenizers) == 1


@pytest.mark.usefixtures("put_back")
def test_resumed_is_uninterrupted_also_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings(tmp_path, "transformer")
    everything_is_large(monkeypatch, tmp_path / "cache")
    for name, value in {"WHOLE": 20, "GROUP": 16, "BLOCK": 4}.items():
        monkeypatch.setattr(batches, name, value)
    train(tmp_path / "whole", given, Quiet())
    with pytest.raises(Interrupted):
        train(tmp_path / "cut", given, Pressed(6, signal.SIGINT))
    train(tmp_path / "cut", given, Quiet(), resume=True)
    assert told(tmp_path / "cut") == told(tmp_path / "whole")


@pytest.mark.long
@pytest.mark.usefixtures("put_back")
def test_two_processes_make_the_steps_of_one(tmp_path: Path) -> None:
    """The first prepares all that the second opens; the one that trains alone has all in memory."""
    tables = {"pairs": table(settings(tmp_path, "transformer")), "text": table(running(tmp_path))}
    for name, given in tables.items():
        train(tmp_path / f"{name}-alone", resolve(given), Quiet())
    jobs = [
        {"out": str(tmp_path / name), "table": given, "cache": str(tmp_path / "cache")} for name, given in tables.items()
    ]
    assert trained(tmp_path, jobs) == [["", ""], ["", ""]]
    assert {place.name.partition("-")[0] for place in (tmp_path / "cache").iterdir()} > {"examples", "tokenizer", "running"}
    for name in tables:
        assert losses(tmp_path / name) == pytest.approx(losses(tmp_path / f"{name}-alone"), rel=1e-6, abs=1e-6)
