"""Text that goes on from a prompt, as it is printed: piece by piece, the same for the same seed, on one line to the end."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saccade.exchange.opening import load as load_run
from saccade.trained import TrainedModel

from .commands import here

SIZES = "model.hidden_size=8 model.num_layers=1 model.num_heads=2 writer.context_length=16 tokens.kind=char"
TRAIN = f"train gpt2 data.train=plays.tsv data.valid=plays.tsv {SIZES} train.steps=2 train.threads=1 search.max_length=12"


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A language model, trained once."""
    from saccade.cli.main import run

    place = tmp_path_factory.mktemp("plays")
    (place / "plays.tsv").write_text("".join(f"x\tto be or not to be {n}\n" for n in range(30)))
    words = TRAIN.replace("plays.tsv", str(place / "plays.tsv")).split()
    assert run([*words, "--out", str(place / "plays"), "--quiet"]) == 0
    return place / "plays"


def test_a_language_model_is_followed_by_generate(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = here(f"train {plays} --resume", capsys).out
    assert f"saccade generate {plays} --prompt TEXT" in told
    assert "saccade predict" not in told


def test_pieces_come_after_the_prompt(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(["generate", str(plays), "--prompt", "to be"], capsys)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "to be" + "".join(load_run(plays).stream("to be")) + "\n"


def test_a_seed_is_a_text_and_several_follow_each_other(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"generate {plays} --prompt or --max-length 20 --json"
    rows = [json.loads(line) for line in here(f"{command} --seed 4 --n 3", capsys).out.splitlines()]
    assert [(row["prompt"], row["seed"]) for row in rows] == [("or", 4), ("or", 5), ("or", 6)]
    assert len({row["text"] for row in rows}) == 3
    for row in rows:
        assert [json.loads(here(f"{command} --seed {row['seed']}", capsys).out)] == [row]
        assert row["text"] == "".join(load_run(plays).stream("or", method="sample", max_length=20, seed=row["seed"]))
    shown = here(f"generate {plays} --prompt or --max-length 20 --seed 4 --n 3", capsys).out
    assert shown == "\n".join(f"or{row['text']}\n" for row in rows)


@pytest.mark.parametrize(
    ("option", "search"),
    [
        ("--temperature 0.01", {"temperature": 0.01}),
        ("--top-k 1", {"top_k": 1}),
        ("--top-p 0.3", {"top_p": 0.3}),
        ("--min-p 0.9", {"min_p": 0.9}),
        ("--repetition-penalty 3", {"repetition_penalty": 3.0}),
        ("--max-length 3", {"max_length": 3}),
    ],
)
def test_options_are_those_of_the_search(
    option: str, search: dict[str, Any], plays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    method = {} if "max_length" in search else {"method": "sample"}
    expected = "".join(load_run(plays).stream("to", **method, **search))
    assert here(f"generate {plays} --prompt to {option}", capsys).out == f"to{expected}\n"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--temperature 0", ("search.temperature", "greater than 0", "got 0")),
        ("--top-p 1.5", ("search.top_p", "less than or equal to 1", "got 1.5")),
        ("--top-k=-1", ("--top-k", "greater than or equal to 0")),
        ("--n 0", ("--n", "greater than or equal to 1")),
        ("--n 100000", ("--n: expected at most 1000, got 100000",)),
        ("--max-length 0", ("--max-length", "greater than or equal to 1")),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(
    option: str, words: tuple[str, ...], plays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = here(f"generate {plays} --prompt to {option}", capsys)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1), answer.err
    assert [word for word in words if word not in answer.err] == []


def test_prompts_that_are_none(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = here(f"generate {plays}", capsys)
    assert (missing.code, missing.out, "--prompt" in missing.err) == (2, "", True)
    empty = here(["generate", str(plays), "--prompt", " "], capsys)
    assert (empty.code, empty.out, empty.err.count("\n")) == (3, "", 1)


def test_a_translator_answers_its_prompt(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("generate run --prompt axa", capsys)
    assert (answer.code, answer.out) == (0, load_run("run").predict("axa").text + "\n")
    long = here(["generate", "run", "--prompt", "a" * 41], capsys)
    assert (long.code, long.out, "41 tokens, at most 40" in long.err) == (3, "", True)


def test_who_writes_no_text_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.tsv").write_text("a good film\tyes\na bad film\tno\n")
    words = "data.train=my.tsv data.held_out=0 tokens.kind=word train.steps=1 train.threads=1 --quiet --out labels"
    assert here(f"train document_attention {words}", capsys).code == 0
    answer = here("generate labels --prompt a", capsys)
    told = "labels: expected a run that writes text, got document_attention; use saccade predict"
    assert (answer.code, answer.out, answer.err) == (2, "", f"saccade: {told}\n")


def test_an_interrupt_ends_the_line(
    plays: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(self: TrainedModel, prompt: str, **search: object) -> object:
        yield " or"
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainedModel, "stream", interrupted)
    answer = here(f"generate {plays} --prompt be", capsys)
    assert (answer.code, answer.out, answer.err) == (130, "be or\n", "saccade: interrupted\n")


def test_pieces_are_there_before_the_end_and_ctrl_c_stops_them(plays: Path) -> None:
    words = [sys.executable, "-m", "saccade", "generate", str(plays), "--prompt", "to be", "--max-length", "100000000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(6).startswith(b"to be")
        process.send_signal(signal.SIGINT)
        rest, messages = process.communicate(timeout=60)
    assert (process.returncode, messages) == (130, b"saccade: interrupted\n")
    assert rest.endswith(b"\n")
