"""Commands for the tests: run here, where torch is loaded already, or in a process of their own; and a small run to use."""

import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from saccade.cli.main import run
from tests.made_tasks import CHARACTERS

EXAMPLES = "".join(f"{a}{b}{a}\t{a}-{b}\n" for a in "abcdefgh" for b in "xyzuvwé")
SMALL = (
    "model.embedding_size=8 model.hidden_size=8 model.readout_size=4 train.steps=6 train.batch_tokens=400 "
    "train.valid_every=3 "
    "train.save_every=3 train.log_every=2 train.threads=1 search.max_length=8 reader.max_length=40"
)
TRAIN = f"train bahdanau data.train=good.tsv data.test=good.tsv {' '.join(CHARACTERS)} {SMALL}"


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str


def here(command: str | list[str], capsys: pytest.CaptureFixture[str]) -> Answer:
    """The command in this process."""
    capsys.readouterr()
    code = run(shlex.split(command) if isinstance(command, str) else command)
    return Answer(code, *capsys.readouterr())


def apart(command: str, *, stdin: str = "", **environment: str) -> Answer:
    """The command as users run it."""
    words = [sys.executable, "-m", "saccade", *shlex.split(command)]
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "PYTHONIOENCODING")}
    ended = subprocess.run(
        words,
        input=stdin.encode(),
        capture_output=True,
        timeout=60,
        env={**kept, "OMP_NUM_THREADS": "1", **environment},
    )
    return Answer(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def started(command: str) -> subprocess.Popen[str]:
    """The command, left running."""
    words = [sys.executable, "-m", "saccade", *shlex.split(command)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for(path: Path, process: subprocess.Popen[str], lines: int = 1) -> None:
    """Until a file has so many lines."""
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.01)
