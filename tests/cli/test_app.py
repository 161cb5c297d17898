"""Every command hands on exactly what is expected of it, under the names used there."""

import importlib
import inspect
import shlex
from typing import Any

import pytest
from typer.main import get_command

from saccade.cli import app as commands
from saccade.cli.main import run

WORDS = [
    "train dates train.steps=5 --fresh",
    "evaluate runs/a --lengths -o a.svg",
    "predict runs/a a.txt search.beam=2",
    "translate runs/a --beam 3",
    "generate runs/a --prompt a --top-k 3",
    "perplexity runs/a a.txt",
    "fill runs/a 'a [MASK] c' -n 3",
    "embed runs/a a.txt --out a.npy --pool first --normalized",
    "finetune runs/a task=label data.train=a.tsv",
    "compare runs/a runs/b --beam 2",
    "look runs/a text --head 1",
    "reproduce table --show",
    "reproduce --list",
    "vectors a.txt --out b.txt",
    "vectors b.txt --near a",
    "import dir --out runs/a",
    "export runs/a dir --format onnx",
    "new-project dir",
    "systems",
    "runs --json",
    "plot runs/a runs/b --metric loss --over time -o a.svg --log",
    "recipes --json",
    "config dates",
    "models --json",
    "plan gpt2-xl --devices 8xA100 --tokens 1B",
    "doctor",
    "data",
    "data show dates",
    "data get dates",
    "data sample",
]


def test_every_command_is_listed() -> None:
    root: Any = get_command(commands.app)
    names = [name for name in root.commands if name != "data"] + [f"data {name}" for name in root.commands["data"].commands]
    assert {*names} <= {" ".join(words.split()[: 1 + words.startswith("data ")]) for words in WORDS}


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    calls: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(commands, "call", calls.__setitem__)
    return calls


@pytest.mark.parametrize("words", WORDS)
def test_options_are_those_of_what_is_called(words: str, called: dict[str, dict[str, Any]]) -> None:
    assert run(shlex.split(words)) == 0
    [(place, options)] = called.items()
    module, function = place.split(".")
    inspect.signature(getattr(importlib.import_module(f"saccade.cli.{module}"), function)).bind(**options)


@pytest.mark.parametrize(
    ("words", "file", "settings"),
    [
        ("predict runs/a search.beam=2", "-", ["search.beam=2"]),
        ("predict runs/a a.txt search.beam=2", "a.txt", ["search.beam=2"]),
        ("translate runs/a search.beam=2 search.seed=1", "-", ["search.beam=2", "search.seed=1"]),
        ("predict runs/a", "-", []),
    ],
)
def test_a_setting_may_stand_in_the_place_of_the_file(
    words: str, file: str, settings: list[str], called: dict[str, dict[str, Any]]
) -> None:
    assert run(words.split()) == 0
    [options] = called.values()
    assert (options["file"], options["words"]) == (file, settings)
