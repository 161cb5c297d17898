"""`--processes N`: torchrun with the same words, one voice on the terminal, and the exit code of who has told why."""

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from saccade.cli import launching
from saccade.cli.launching import ended
from saccade.cli.main import run
from saccade.training.checkpoints.store import Checkpoints
from tests.made_tasks import CHARACTERS

from .commands import SMALL

GIVEN = {"resume": False, "fresh": False, "yes": False, "data_dir": None, "machine": False, "quiet": False}
SECONDS = 55.0


def test_the_words_go_on_to_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(launching, "_run", given.append)
    monkeypatch.setenv("OMP_NUM_THREADS", "")  # so that what is set below is put back
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "INFO")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    words = ["train", "dates", "train.steps=3", "--processes", "2", "--out", "a b", "--resume", "--yes", "--quiet"]
    assert run([*words, "--data-dir", "d"]) == 0
    start = ["--standalone", "--nproc-per-node", "2", "-m", "saccade", "train", "dates", "train.steps=3"]
    assert given == [[*start, "--resume", "--yes", "--quiet", "--out", "a b", "--data-dir", "d"]]
    assert (os.environ["OMP_NUM_THREADS"], os.environ["TORCH_CPP_LOG_LEVEL"]) == ("4", "INFO")
    launching.launch(3, "dates", [], None, **{**GIVEN, "fresh": True, "machine": True})  # type: ignore[arg-type]
    assert given[1][2:] == ["3", "-m", "saccade", "train", "dates", "--fresh", "--json"]


def test_torchrun_is_not_started_by_torchrun(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    assert run(["train", "dates", "--processes", "2"]) == 2
    assert (
        capsys.readouterr().err == "saccade: rank 0: --processes: torchrun has started this process already; leave it out\n"
    )


@pytest.mark.parametrize(
    ("codes", "code", "text"),
    [
        ({0: -15, 1: 3}, 3, ""),
        ({1: -9, 0: 1}, 1, ""),
        ({0: -15, 1: -9}, 1, "rank 1 was ended by SIGKILL; was there enough memory?"),
        ({0: -11, 1: -15}, 1, "rank 0 was ended by SIGSEGV"),
        ({0: -15, 1: -15}, 1, "rank 0 was ended by SIGTERM"),
    ],
)
def test_it_ends_as_the_process_that_has_told_why(codes: dict[int, int], code: int, text: str) -> None:
    found = ended(codes)
    assert (found.exit_code, str(found), found.agreed) == (code, text, text == "")


@pytest.mark.long
def test_a_terminal_shows_one_bar_and_one_line_at_the_end(tmp_path: Path) -> None:
    """Ctrl-C leaves a checkpoint and 130; nothing of torchrun's is seen."""
    (tmp_path / "good.tsv").write_text("".join(f"{a}{b}\t{b}{a}\n" for a in "abcdefgh" for b in "xyzuvw"))
    words = f"train bahdanau data.train=good.tsv {' '.join(CHARACTERS)} {SMALL} train.steps=100000 train.log_every=1"
    child, terminal = pty.fork()
    if not child:
        os.chdir(tmp_path)
        os.environ.pop("OMP_NUM_THREADS", None)
        os.execv(sys.executable, [sys.executable, "-m", "saccade", *words.split(), "--out", "run", "--processes", "2"])
    said, pressed, deadline = b"", False, time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    said += os.read(terminal, 1 << 16)
                except OSError:
                    break
            if not pressed and b"/100000" in said and (tmp_path / "run" / "checkpoints" / "LAST").exists():
                os.write(terminal, b"\x03")
                pressed = True
    finally:
        if time.monotonic() >= deadline:
            os.kill(child, signal.SIGTERM)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode(errors="replace"))
    last = Checkpoints(tmp_path / "run").steps()[-1]
    assert status == 130, text
    assert (
        text.count(f"saccade: rank 0: stopped at step {last}, checkpoint written; go on with: saccade train run --resume")
        == 1
    )
    assert text.count("saccade: ") == text.count("2 processes (DDP)") == 1
    assert not [word for word in ("Traceback", "torch/", "torchrun", "OMP_NUM", "Warning", "[W") if word in text], text
