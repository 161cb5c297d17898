"""Commands as the system sees them: signals, closed pipes, poor terminals, and what is not imported."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from .commands import EXAMPLES, SMALL, apart, here, started, wait_for
from .test_verbs import VERBS

EVERY = "train.log_every=1 train.save_every=300 train.valid_every=300"
LONG = f"train bahdanau data.train=good.tsv {SMALL} train.steps=300 {EVERY}"

QUICK = """
import sys
from saccade.cli.main import run
for verb in sys.argv[1:]:
    assert run(verb.split()) == 0, verb
    loaded = {"torch", "numba", "saccade.cli.verbs"} & set(sys.modules)
    assert not loaded, (verb, loaded)
"""


def test_help_and_listings_do_without_torch() -> None:
    helped = ["--help", "--version", *(f"{verb} --help" for verb in VERBS)]
    listed = ["systems", "systems --json", "recipes", "recipes --json", "data", "data --json"]
    ended = subprocess.run([sys.executable, "-c", QUICK, *helped, *listed], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


def stopped(command: str, run: Path, number: int, lines: int) -> tuple[int, str, float]:
    """The exit code, messages and seconds of a training that got a signal once its log had so many lines."""
    with started(command) as process:
        wait_for(run / "log.jsonl", process, lines)
        process.send_signal(number)
        begun = time.monotonic()
        _, messages = process.communicate(timeout=30)
        return process.returncode, messages, time.monotonic() - begun


@pytest.mark.long
def test_signals_write_a_checkpoint_and_resume_finishes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = place / "long"
    step = 0
    for command, number, code in (
        (f"{LONG} --out long", signal.SIGINT, 130),
        ("train long --resume", signal.SIGTERM, 143),
    ):
        ended, messages, seconds = stopped(command, run, number, step + 2)
        assert ended == code, messages
        assert seconds < 30
        assert "Traceback" not in messages
        line = messages.splitlines()[-1]
        before, step = step, int(line.split("stopped at step ")[1].split(",")[0])
        assert line == f"saccade: stopped at step {step}, checkpoint written; go on with: saccade train long --resume"
        assert before < step < 300
        assert (run / "checkpoints" / f"step-{step:08}").is_dir()
    answer = here("train long --resume", capsys)
    assert answer.code == 0
    assert f"going on from step {step}" in answer.err
    steps = [json.loads(line)["step"] for line in (run / "log.jsonl").read_text().splitlines() if '"step",' in line]
    assert steps == list(range(1, 301))


def test_interrupt_outside_training(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("saccade.data.formats.text_files.read", interrupted)
    answer = here("evaluate run --data good.tsv", capsys)
    assert (answer.code, answer.out, answer.err) == (130, "", "saccade: interrupted\n")


@pytest.mark.parametrize("command", ["systems", "--help", "data", "predict run many.txt"])
def test_reader_that_leaves(command: str, place: Path) -> None:
    (place / "many.txt").write_text("".join(line.split("\t")[0] + "\n" for line in EXAMPLES.splitlines()) * 60)
    words = [sys.executable, "-m", "saccade", *command.split()]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_head_of_a_long_output(place: Path) -> None:
    command = f"{sys.executable} -m saccade data | head -1"
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"data directory: {place / 'data'}\n", "")


@pytest.mark.parametrize(
    ("environment", "commands"),
    [
        ({"PYTHONIOENCODING": "ascii"}, ("train --help", "config dates", "look run 'aéa'", "systems tést")),
        ({"LC_ALL": "C"}, ("train --help", "look run 'aéa'", "systems tést")),
    ],
    ids=["ascii", "C"],
)
def test_poor_terminal(environment: dict[str, str], commands: tuple[str, ...], place: Path) -> None:
    for command in commands:
        answer = apart(command, **environment)
        assert answer.code == (2 if "tést" in command else 0), answer
        assert "Traceback" not in answer.err
        assert "saccade: unexpected" not in answer.err
        assert "PYTHONIOENCODING" not in environment or (answer.out + answer.err).isascii() or "config" in command


def test_data_is_utf8_whatever_the_terminal(place: Path) -> None:
    Path("pairs.tsv").write_text("é日\tñ\nb\tc\n", encoding="utf-8")
    command = "data sample bahdanau data.train=pairs.tsv data.held_out=0 --split train"
    assert apart(command, PYTHONIOENCODING="ascii").out == "é日\tñ\nb\tc\n"


def test_file_names_that_are_not_text(place: Path) -> None:
    name = os.fsdecode(b"caf\xe9.svg")
    words = [sys.executable, "-m", "saccade", "look", "run", "axa", "-o", name]
    ended = subprocess.run(words, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert Path(name).exists()


def on_a_terminal(command: str, columns: int, **environment: str) -> tuple[int, str]:
    """The exit code and all that a terminal of this width got."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR", "TERM")}
    words = [sys.executable, "-m", "saccade", *command.split()]
    kept |= {"OMP_NUM_THREADS": "1", "TERM": "xterm", **environment}
    with subprocess.Popen(words, stdin=other, stdout=other, stderr=other, env=kept) as process:
        os.close(other)
        seen = b""
        try:
            while data := os.read(main, 4096):
                seen += data
        except OSError:  # the other side is closed
            pass
        os.close(main)
    return process.returncode, seen.decode()


def test_narrow_terminal(place: Path) -> None:
    code, seen = on_a_terminal(f"{LONG} train.steps=5 --out new", 20)
    assert code == 0, seen
    assert "training" in seen
    assert "done: new at step 5" in seen
    assert on_a_terminal("--help", 20)[0] == 0


def test_no_color(place: Path) -> None:
    for command in ("look run axa", "--help"):
        code, seen = on_a_terminal(command, 20, NO_COLOR="1")
        assert code == 0, seen
        assert "\x1b[3" not in seen
        assert "\x1b[48" not in seen
