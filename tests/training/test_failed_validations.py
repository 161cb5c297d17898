"""A validation that fails costs no step: the checkpoint is written first, and a resumed run makes up for it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.errors import DataError, SaccadeError, UsageError
from saccade.task import Task
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.train import train
from saccade.training.trainer import NotFinite

from .runs import contents, tiny
from .sittings import lines

pytestmark = pytest.mark.usefixtures("put_back")
SETTINGS = tiny("train.steps=8", "train.valid_every=6", "train.save_every=100")


def twice() -> None:
    """Ctrl-C, and Ctrl-C again."""
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


FAILURES: dict[str, tuple[Callable[[], None], type[SaccadeError], int, str]] = {
    "data": (raising(DataError("valid.tsv:3: bad")), SaccadeError, 3, "failed: valid.tsv:3: bad; checkpoint written"),
    "usage": (raising(UsageError("no")), SaccadeError, 2, "failed: no; checkpoint written"),
    "memory": (raising(MemoryError()), SaccadeError, 1, "failed: out of memory; checkpoint written"),
    "disk": (raising(OSError(28, "No space left on device")), SaccadeError, 1, "failed: No space left on device; "),
    "bug": (raising(ZeroDivisionError("by\nzero")), SaccadeError, 1, "failed: ZeroDivisionError by zero; "),
    "hands": (twice, Interrupted, 130, "stopped in the validation of step 6, checkpoint written; "),
}


def failing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], at: int = 1) -> None:
    """The validation of this number, counted from 1, fails halfway."""
    real, count = Task.evaluate, iter(range(1, 100))

    def evaluate(self: Task, *given: Any) -> Any:
        found = real(self, *given)
        if next(count) == at:
            act()
        return found

    monkeypatch.setattr(Task, "evaluate", evaluate)


@pytest.mark.parametrize("kind", FAILURES)
def test_the_step_is_saved_and_resumed_is_uninterrupted(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    act, expected, code, told = FAILURES[kind]
    train(tmp_path / "whole", SETTINGS, Quiet())
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        failing(patch, act)
        with pytest.raises(expected) as error:
            train(run, SETTINGS, Quiet())
    assert told in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(f'go on with: saccade.train("{run}", resume=True)')
    assert error.value.exit_code == code
    assert Checkpoints(run).steps() == [6]
    assert not (run / "checkpoints" / "BEST").exists()
    train(run, SETTINGS, Quiet(), resume=True)
    assert contents(run) == contents(tmp_path / "whole")
    best = [Checkpoints(tmp_path / name).load("best").step for name in ("run", "whole")]
    assert best[0] == best[1]


def test_the_last_validation_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        failing(patch, raising(MemoryError()), at=2)
        with pytest.raises(SaccadeError, match="the validation of step 8 failed: out of memory"):
            train(tmp_path, SETTINGS, Quiet())
    assert [line["step"] for line in lines(tmp_path) if line["event"] == "valid"] == [6]
    train(tmp_path, SETTINGS, Quiet(), resume=True)
    assert [line["step"] for line in lines(tmp_path) if line["event"] == "valid"] == [6, 8]


def test_a_log_that_cannot_be_written_is_such_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path / "whole", SETTINGS, Quiet())

    class Gone(Quiet):
        def valid(self, entry: Any) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(SaccadeError, match="Broken pipe; checkpoint written"):
        train(tmp_path / "run", SETTINGS, Gone())  # the log has the validation already, and must not have it twice
    train(tmp_path / "run", SETTINGS, Quiet(), resume=True)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    assert Checkpoints(tmp_path / "run").load("best").step == Checkpoints(tmp_path / "whole").load("best").step


def test_one_more_signal_does_not_end_the_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, twice)
    real = Checkpoints.save

    def save(self: Checkpoints, *given: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return real(self, *given, **options)

    monkeypatch.setattr(Checkpoints, "save", save)
    with pytest.raises(Interrupted, match="stopped in the validation of step 6, checkpoint written"):
        train(tmp_path, SETTINGS, Quiet())
    assert Checkpoints(tmp_path).load().step == 6


def test_a_disk_that_fails_as_well_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, raising(DataError("bad")))
    monkeypatch.setattr(
        "saccade.training.checkpoints.store.manifests.write_all", lambda *given: raising(OSError(28, "Full"))()
    )
    with pytest.raises(SaccadeError, match=r"step 6 failed \(bad\), and its checkpoint, too: cannot save step 6") as error:
        train(tmp_path, SETTINGS, Quiet())
    assert error.value.exit_code == 3


def test_parameters_that_are_not_finite_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, raising(DataError("bad")))

    made: list[Any] = []
    real = Run.new_model

    def new_model(self: Run, task: Any) -> Any:
        made.append(real(self, task))
        return made[-1]

    class Spoiling(Quiet):
        def step(self, report: Any, entry: Any) -> None:
            if report.step == 6:
                torch.nn.init.constant_(next(made[0].parameters()), float("nan"))

    monkeypatch.setattr(Run, "new_model", new_model)
    with pytest.raises(NotFinite):
        train(tmp_path, SETTINGS, Spoiling())
    assert Checkpoints(tmp_path).steps() == []


def test_a_failed_validation_of_a_new_run_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path, tiny("train.steps=3"), Quiet())
    with monkeypatch.context() as patch:
        failing(patch, raising(DataError("bad")))
        with pytest.raises(SaccadeError, match=r"checkpoint written; .* still holds the earlier run; go on"):
            train(tmp_path, SETTINGS, Quiet(), fresh=True)
    assert Checkpoints(tmp_path).steps() == [3]
    train(tmp_path, SETTINGS, Quiet(), resume=True)
    assert Checkpoints(tmp_path).steps()[-1] == 8
