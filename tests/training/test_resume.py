"""Kill it whenever you like: resumed = uninterrupted, bit for bit."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from saccade.data.batches import Integers, plan
from saccade.data.sets.dates import load
from saccade.task import Task
from saccade.training.checkpoints import store
from saccade.training.progress import Quiet
from saccade.training.settings import Settings
from saccade.training.train import train

from .runs import contents, ended, forked, in_child, interrupted, tiny, tiny_epochs, tiny_transformer
from .small import KINDS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

KILLS = int(os.environ.get("SACCADE_KILLS", "12"))
TRANSFORMER_KILLS = max(1, KILLS // 10)
settings = tiny("train.accumulate=2")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the uninterrupted run comes to. In a child, as all runs here: they must not differ in their threads."""
    run = tmp_path_factory.mktemp("whole") / "run"
    assert ended(in_child(run, settings)) == 0
    return contents(run)


def corpus_lengths(chosen: Settings) -> Integers:
    """Tokens of each source and target."""
    splits = load(chosen.data)
    return Task.fit(chosen, splits).corpus(splits.train).lengths


def epoch_end() -> int:
    """The step that takes the last batch of the first epoch."""
    batches = len(plan(corpus_lengths(settings), settings.train.batch_tokens, settings.train.seed, 0))
    return -(-batches // settings.train.accumulate)


@pytest.mark.parametrize("place", ["first", "before epoch end", "epoch end", "after epoch end", "mid-epoch", "before last"])
def test_split_run_is_the_whole_run(place: str, whole: dict[str, str], tmp_path: Path) -> None:
    end = epoch_end()
    assert 2 < end < settings.train.steps - 3
    step = {
        "first": 1,
        "before epoch end": end - 1,
        "epoch end": end,
        "after epoch end": end + 1,
        "mid-epoch": end + 3,
        "before last": settings.train.steps - 1,
    }[place]

    assert interrupted(tmp_path, settings, step) == 0
    assert store.Checkpoints(tmp_path).steps()[-1] == step
    assert ended(in_child(tmp_path, settings, resume=True)) == 0
    assert contents(tmp_path) == whole


@pytest.mark.long
def test_killed_at_random_moments(whole: dict[str, str], tmp_path: Path) -> None:
    assert kills_that_landed(settings, tmp_path, KILLS) > KILLS / 4
    assert contents(tmp_path / "whole") == whole


def test_a_transformer_with_dropout_is_killed_at_random_moments(tmp_path: Path) -> None:
    chosen = tiny_transformer("train.accumulate=2")
    lengths = corpus_lengths(chosen)
    widths = {int(lengths[batch].max()) for batch in plan(lengths, chosen.train.batch_tokens, chosen.train.seed, 0)}
    assert len(widths) > 3, "batches of like lengths, which differ from each other"
    assert kills_that_landed(chosen, tmp_path, TRANSFORMER_KILLS) > TRANSFORMER_KILLS / 4


def kills_that_landed(chosen: Settings, folder: Path, kills: int) -> int:
    """Train, kill, resume and compare with the whole run, many times; how many kills came before the end."""
    dice = random.Random(1)
    started = time.monotonic()
    assert ended(in_child(folder / "whole", chosen)) == 0
    seconds = time.monotonic() - started
    expected = contents(folder / "whole")
    landed = 0
    for kill in range(kills):
        run = folder / str(kill)
        child = in_child(run, chosen)
        time.sleep(dice.uniform(0.0, seconds))
        os.kill(child, signal.SIGKILL)
        landed += ended(child) == -signal.SIGKILL
        assert ended(in_child(run, chosen, resume=True)) == 0, f"kill {kill}"
        assert contents(run) == expected, f"kill {kill}"
        assert not [path for path in run.rglob("*") if path.name.startswith((".tmp", ".del"))]
    return landed


@pytest.mark.long
def test_killed_inside_a_save(whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each write, sync and rename of the second save in turn."""
    points = 0
    while True:
        run = tmp_path / str(points)

        def work(run: Path = run, point: int = points) -> None:
            saves, passed = [0], [0]
            real = store.Checkpoints.save

            def save(self: object, *args: object, **options: object) -> object:
                saves[0] += 1
                passed[0] = 0
                return real(self, *args, **options)  # type: ignore[arg-type]

            def at(name: str) -> None:
                if saves[0] == 2:
                    if passed[0] == point:
                        os.kill(os.getpid(), signal.SIGKILL)
                    passed[0] += 1

            monkeypatch.setattr(store, "_at", at)
            monkeypatch.setattr(store.Checkpoints, "save", save)
            train(run, settings, Quiet())

        status = ended(forked(work))
        if status == 0:  # the save has no such point: all were tried
            break
        assert status == -signal.SIGKILL
        # The first save was acknowledged: it, or the one that was being made, must be there.
        assert store.Checkpoints(run).load("last").step >= settings.train.save_every
        assert ended(in_child(run, settings, resume=True)) == 0
        assert contents(run) == whole
        points += 1
    assert points >= 12


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path, whole: dict[str, str]) -> None:
    assert ended(in_child(tmp_path, settings)) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"}
    assert ended(in_child(tmp_path, settings, resume=True)) == 0
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "rmsprop"])
def test_every_optimizer_resumes(optimizer: str, tmp_path: Path) -> None:
    chosen = tiny(f"train.optimizer={optimizer}", "model.cell=lstm", "train.steps=6", "train.weight_decay=0.01")

    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    assert interrupted(tmp_path / "split", chosen, 3) == 0
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0
    assert contents(tmp_path / "split") == contents(tmp_path / "whole")


def test_an_interruption_does_not_change_the_average(tmp_path: Path) -> None:
    chosen = tiny("train.average=3", "train.keep=1")

    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    assert interrupted(tmp_path / "split", chosen, 13) == 0
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0
    steps = [store.Checkpoints(tmp_path / name).steps() for name in ("whole", "split")]
    assert steps[0] == steps[1]
    assert len(steps[0]) >= 3


@pytest.mark.parametrize("words", [["train.epochs=2.5"], ["train.epochs=3", "train.batch_size=32"]], ids=["tokens", "size"])
def test_epochs_resume(words: list[str], tmp_path: Path) -> None:
    """The number of steps follows from the data: a cosine that ends at another step would differ in every update."""
    chosen = tiny_epochs(*words)
    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    last = store.Checkpoints(tmp_path / "whole").steps()[-1]
    assert last > 5
    assert interrupted(tmp_path / "split", chosen, 4) == 0
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0
    assert contents(tmp_path / "split") == contents(tmp_path / "whole")
    before = contents(tmp_path / "split")
    assert ended(in_child(tmp_path / "split", chosen, resume=True)) == 0  # which is finished
    assert contents(tmp_path / "split") == before


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_resumes(kind: str, tmp_path: Path) -> None:
    chosen = KINDS[kind](tmp_path)
    assert ended(in_child(tmp_path / "whole", chosen)) == 0
    for step in (2, 5):
        run = tmp_path / f"split-{step}"
        assert interrupted(run, chosen, step) == 0
        assert ended(in_child(run, chosen, resume=True)) == 0
        assert contents(run) == contents(tmp_path / "whole")
