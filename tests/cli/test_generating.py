"""Text that goes on from a prompt, as it is printed: piece by piece, the same for the same seed, on one line to the end."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from saccade.exchange.opening import load as load_run
from saccade.kernels.runtime import kernels_on
from saccade.layers.linear import at_rest
from saccade.trained import TrainedModel

from .commands import apart, here

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
    method: dict[str, Any] = {} if "max_length" in search else {"method": "sample"}
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
    assert here(f"generate {plays} --prompt to --file -", capsys).code == 2
    empty = here(["generate", str(plays), "--prompt", " "], capsys)
    assert (empty.code, empty.out, empty.err.count("\n")) == (3, "", 1)


def test_the_end_of_the_context_is_told(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"generate {plays} --prompt to --max-length 30"
    ended, slid = here(command, capsys), here(f"{command} --slide", capsys)
    told = "note: the text ended where the context (16 tokens) is full; --slide goes on from its later half\n"
    assert (ended.code, ended.err, len(ended.out)) == (0, told, len("to") + 15 + 1)
    assert (slid.err, len(slid.out)) == ("", len("to") + 30 + 1)
    assert slid.out.startswith(ended.out[:-1])
    long = here(["generate", str(plays), "--prompt", "to be or not to be"], capsys)
    assert (long.code, long.out, "prompt of 18 tokens, at most 16 expected" in long.err) == (3, "", True)


def test_stop_strings_end_texts(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = "".join(load_run(plays).stream("to"))
    stop = whole[7:9]
    wanted = whole[: whole.index(stop)]
    assert here(["generate", str(plays), "-p", "to", "--stop", "~~", "--stop", stop], capsys).out == f"to{wanted}\n"
    row = json.loads(here(["generate", str(plays), "-p", "to", "--stop", stop, "--json"], capsys).out)
    assert row == {"prompt": "to", "text": wanted, "ended": "stop"}
    empty = here(["generate", str(plays), "-p", "to", "--stop", ""], capsys)
    assert (empty.code, "stop: expected a run that writes text, and texts that are not empty" in empty.err) == (2, True)


def test_many_prompts_come_from_a_file_in_order(
    plays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = ["to", "or", "not to be or", "or"]
    (tmp_path / "prompts.txt").write_text("\n".join(prompts) + "\n")
    file = f"--file {tmp_path / 'prompts.txt'}"
    model = load_run(plays)
    shown = here(f"generate {plays} {file} --max-length 4", capsys).out
    assert shown == "\n".join(f"{one}{''.join(model.stream(one, max_length=4))}\n" for one in prompts)
    rows = [json.loads(line) for line in here(f"generate {plays} {file} --json --seed 3 -n 2", capsys).out.splitlines()]
    assert [(row["prompt"], row["seed"]) for row in rows] == [(one, seed) for one in prompts for seed in (3, 4)]
    assert rows[2]["text"] != rows[6]["text"]  # a line has random numbers of its own
    full = here(f"generate {plays} {file} --max-length 16", capsys).err
    assert "note: 4 texts ended where the context (16 tokens) is full" in full
    (tmp_path / "prompts.txt").write_text("or\n" + "x" * 2000)
    answer = here(f"generate {plays} {file}", capsys)
    assert (answer.code, answer.out, "prompts.txt:2: 2000 tokens" in answer.err) == (3, "", True)


def test_a_beam_gives_its_best_texts(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = load_run(plays).predict("to", beam=3, n_best=3, max_length=5, method="beam")
    rows = [
        json.loads(line)
        for line in here(f"generate {plays} -p to --beam 3 -n 3 --max-length 5 --json", capsys).out.splitlines()
    ]
    assert [row["text"] for row in rows] == [best.text, *(one.text for one in best.alternatives)]
    assert len({row["text"] for row in rows}) == 3
    streamed = here(f"generate {plays} -p to --beam 3 --max-length 5", capsys).out
    assert streamed == f"to{load_run(plays).predict('to', beam=3, max_length=5, method='beam').text}\n"
    refused = here(f"generate {plays} -p to --beam 3 --temperature 2", capsys)
    assert (refused.code, "search.temperature: says nothing to search.method=beam" in refused.err) == (2, True)


def test_a_prompt_may_come_from_standard_input(plays: Path) -> None:
    answer = apart(f"generate {plays} --prompt - --max-length 3", stdin="to be\nor\n")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "to be\nor" + "".join(load_run(plays).stream("to be\nor", max_length=3)) + "\n"


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
    words = [
        sys.executable,
        "-m",
        "saccade",
        "generate",
        str(plays),
        "--prompt",
        "to",
        "--slide",
        "--max-length",
        f"{10**8}",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(6) == b"totttt"
        process.send_signal(signal.SIGINT)
        rest, messages = process.communicate(timeout=60)
    assert (process.returncode, messages) == (130, b"saccade: interrupted\n")
    assert rest.endswith(b"\n")


@pytest.mark.skipif(not kernels_on(), reason="kernels are off")
def test_texts_of_rounded_weights(plays: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = load_run(plays)
    for precision in ("int8", "int4"):
        with at_rest(precision):  # type: ignore[arg-type]
            wanted = "".join(model.stream("to be"))
        answer = here(f"generate {plays} --prompt be --precision {precision}", capsys)
        assert answer.code == 0, answer.err
        assert (
            here(["generate", str(plays), "--prompt", "to be", "--precision", precision], capsys).out == f"to be{wanted}\n"
        )
    wrong = here(f"generate {plays} --prompt be --precision half", capsys)
    assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)
