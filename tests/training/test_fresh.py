"""A new run in the place of an earlier one: whatever fails or is killed, there is a whole run, and files of others stay."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import DataError, UsageError
from saccade.exchange.opening import load
from saccade.task import Task
from saccade.training import fresh as module
from saccade.training.checkpoints import listing, manifests
from saccade.training.checkpoints.names import FRESH
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve
from saccade.training.train import train

from .runs import StopAt, contents, ended, forked, tiny
from .sittings import Noted
from .test_run import labels

pytestmark = pytest.mark.usefixtures("put_back")
OLD, NEW = tiny("train.steps=3"), tiny("train.steps=5", "train.learning_rate=0.02")
INPUTS = ["<en_US> 3/4/18"]


def files_of(run: Path) -> dict[str, bytes]:
    """Every byte of a directory, but for its lock."""
    return {
        str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file() and path.name != ".lock"
    }


def mine(folder: Path, *words: str) -> Settings:
    (folder / "my.tsv").write_text("".join(f"abc{n}\tcba{n}\n" for n in range(30)))
    common = ["model.hidden_size=8", "train.threads=1", "train.steps=2", f"data.train={folder / 'my.tsv'}"]
    return resolve({"system": "bahdanau"}, [*common, *words])


def test_a_typo_in_the_data_costs_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, mine(tmp_path), Quiet())
    (run / "notes.txt").write_text("mine")
    before = files_of(run)
    with pytest.raises(DataError, match="no such file"):
        train(run, mine(tmp_path, f"data.train={tmp_path / 'mine.tsv'}"), Quiet(), fresh=True)
    with pytest.raises(UsageError, match=r"model\.score|score"):
        train(run, mine(tmp_path, "model.score=aditive"), Quiet(), fresh=True)
    assert files_of(run) == before
    assert sorted(path.name for path in run.iterdir() if path.is_dir()) == ["checkpoints"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, DataError("bad"), RuntimeError("bug")], ids=str)
@pytest.mark.parametrize("place", ["splits", "new_model"])
def test_whatever_ends_a_start_the_earlier_run_stands(
    place: str, error: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> Any:
        raise error

    train(tmp_path, OLD, Quiet())
    before = files_of(tmp_path)
    monkeypatch.setattr(Run, place, fail)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        train(tmp_path, NEW, Quiet(), fresh=True)
    assert files_of(tmp_path) == before


def test_the_earlier_run_can_be_asked_until_the_new_one_has_a_checkpoint(tmp_path: Path) -> None:
    train(tmp_path, OLD, Quiet())
    said = load(tmp_path).predict(INPUTS)
    seen = []

    class Asking(Quiet):
        def step(self, report: Any, entry: Any) -> None:
            seen.append((load(tmp_path).step, load(tmp_path).predict(INPUTS) == said))

    train(tmp_path, tiny("train.steps=5", "train.save_every=2", "train.valid_every=100"), Asking(), fresh=True)
    assert seen[:2] == [(3, True), (3, True)]
    assert [step for step, _ in seen] == [3, 3, 2, 2, 4]


def test_interrupted_before_the_first_checkpoint_the_earlier_run_stands_and_the_new_one_goes_on(tmp_path: Path) -> None:
    train(tmp_path / "whole", NEW, Quiet())
    run = tmp_path / "run"
    train(run, OLD, Quiet())
    before, said = files_of(run), load(run).predict(INPUTS)
    with pytest.raises(Interrupted, match=r"stopped at step 2, checkpoint written; \S+ still holds the earlier run; go on"):
        train(run, NEW, StopAt(2), fresh=True)
    after = files_of(run)
    assert {name: after[name] for name in before} == before
    assert load(run).predict(INPUTS) == said
    with pytest.raises(
        UsageError, match=r"run: train\.learning_rate cannot change at step 2"
    ):  # and is no reason to lose either
        train(run, OLD, Quiet(), resume=True)
    with pytest.raises(UsageError, match="already holds a run"):
        train(run, NEW, Quiet())
    assert files_of(run) == after
    train(run, NEW, Quiet(), resume=True)
    assert contents(run) == contents(tmp_path / "whole")
    assert files_of(run).keys() == files_of(tmp_path / "whole").keys()


def test_fresh_once_more_begins_anew(tmp_path: Path) -> None:
    train(tmp_path, OLD, Quiet())
    with pytest.raises(Interrupted):
        train(tmp_path, NEW, StopAt(2), fresh=True)
    train(tmp_path, tiny("train.steps=4"), Quiet(), fresh=True)
    assert Checkpoints(tmp_path).steps() == [4]
    assert not (tmp_path / FRESH).exists()


def test_an_imported_run_stands_until_then(tmp_path: Path) -> None:
    from saccade.exchange.exporting import export
    from saccade.exchange.importing import import_model

    from ..exchange import models

    layout: dict[str, Any] = {"norm": "post", "final_norm": "none", "positions": "sinusoidal_halves"}
    own = models.run(tmp_path / "own", steps=0, writer={"share_tokenizer": False}, **layout)
    export(own, tmp_path / "theirs", "marian")
    run = import_model(tmp_path / "theirs", tmp_path / "run").path
    names = files_of(run)
    learned = {"tokenizer.json", "target.tokenizer.json"}
    assert {"config.toml", *learned} <= Run.open(run).files.keys()
    with pytest.raises(DataError, match="no such file"):
        train(run, mine(tmp_path, "data.train=nowhere.tsv"), Quiet(), fresh=True)
    assert files_of(run) == names
    train(run, labels(tmp_path), Quiet(), fresh=True)
    assert sorted(Run.open(run).files) == ["config.toml", "labels.json", "spelling.json", "tokenizer.json"]
    assert not (run / "target.tokenizer.json").exists()


def test_files_of_others_stay(tmp_path: Path) -> None:
    train(tmp_path / "run", labels(tmp_path), Quiet())
    run = tmp_path / "run"
    strange = ["notes.txt", "scale.json", "checkpoints/mine.pt", "skipped-step-of-mine.json", "folder/labels.json"]
    (run / "folder").mkdir()
    for name in strange:
        (run / name).write_text("mine")
    (run / "scores.json").write_text("{}")
    train(run, OLD, Quiet(), fresh=True)
    assert all((run / name).read_text() == "mine" for name in strange)
    assert not any((run / name).exists() for name in ("labels.json", "spelling.json", "scores.json"))
    (run / "labels.json").write_text("mine")
    before = files_of(run)
    with pytest.raises(UsageError, match=r"labels\.json: in the way of a file of the run, .*; move it away"):
        train(run, labels(tmp_path), Quiet(), fresh=True)
    assert files_of(run) == before


def test_a_manifest_leads_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "precious").write_text("mine")
    train(tmp_path / "run", OLD, Quiet())
    real = listing.published
    monkeypatch.setattr(listing, "published", lambda folder: [_with(entry, "../precious") for entry in real(folder)])
    assert "../precious" not in module.owned(tmp_path / "run")


def _with(entry: Any, name: str) -> Any:
    return type(entry)(
        entry.step, entry.path, entry.serial, entry.best, {**entry.beside, name: next(iter(entry.beside.values()))}
    )


def kill_at(index: int) -> Callable[[str], None]:
    """A hook that ends the process at this call, counted from 0."""
    left = iter(range(index + 1))

    def at(_: str) -> None:
        if next(left, None) == index:
            os.kill(os.getpid(), signal.SIGKILL)

    return at


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_killed_at_every_step_of_the_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first rename on it is the new run that answers; the next training finishes the swap, and nothing is left."""
    texts = tiny("train.steps=2")
    train(tmp_path / "old", labels(tmp_path), Quiet())
    (tmp_path / "old" / "notes.txt").write_text("mine")
    (tmp_path / "old" / "checkpoints" / "mine.pt").write_text("mine")
    (tmp_path / "old" / "scores.json").write_text("{}")
    train(tmp_path / "new", texts, Quiet())
    shutil.copytree(tmp_path / "old", tmp_path / "both")
    shutil.copytree(tmp_path / "new", tmp_path / "both" / FRESH)
    points: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "_at", points.append)
        shutil.copytree(tmp_path / "both", tmp_path / "recorded")
        module.take_place(tmp_path / "recorded")
    expected = files_of(tmp_path / "recorded")
    assert len(points) > 15
    for index, point in enumerate(points):
        run = shutil.copytree(tmp_path / "both", tmp_path / str(index))

        def killed(act: Callable[[Path], object], at: int, run: Path = run) -> int:
            def work() -> None:
                monkeypatch.setattr(module, "_at", kill_at(at))
                act(run)

            return ended(forked(work))

        assert killed(module.take_place, index) == -signal.SIGKILL
        assert Run.open(run).settings == texts, point
        assert Run.open(run).checkpoints.load().step == 2, point
        killed(module.recover, index * 7 % 5)  # and once more, while that is put right
        assert Run.open(run).settings == texts, point
        module.recover(run)
        assert files_of(run) == expected, point
    train(run, texts, Quiet(), resume=True)
    assert files_of(run) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("when", ["fit", "step", "saving", "saved"])
def test_killed_before_the_swap(when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier run answers; the next training sweeps a new one without a checkpoint away, or goes on with it."""
    train(tmp_path, OLD, Quiet())
    before = files_of(tmp_path)

    def die(*arguments: object, **options: object) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    class Dying(Quiet):
        step = die if when == "step" else Quiet.step

    def work() -> None:
        if when == "fit":
            monkeypatch.setattr(Task, "corpus", die)
        if when == "saving":
            monkeypatch.setattr(manifests, "write_all", die)
        if when == "saved":
            monkeypatch.setattr(module, "take_place", die)
        train(tmp_path, NEW, Dying(), fresh=True)

    assert ended(forked(work)) == -signal.SIGKILL
    after = files_of(tmp_path)
    assert {name: after[name] for name in before} == before
    assert load(tmp_path).step == 3
    told = Noted()
    train(tmp_path, NEW if when == "saved" else OLD, told, resume=True)
    assert not (tmp_path / FRESH).exists()
    assert files_of(tmp_path) == before if when != "saved" else Checkpoints(tmp_path).steps()[-1] == 5
    assert any("going on from step 4" in note for note in told.notes) == (when == "saved")
    assert any("ended before its first checkpoint; here is the earlier run" in note for note in told.notes) == (
        when != "saved"
    )


def test_what_a_killed_start_has_half_written_is_swept(tmp_path: Path) -> None:
    run = Run.create(tmp_path, OLD)
    (tmp_path / module.LEARNED).mkdir()
    for name in (".tmp-log.jsonl", f"{module.LEARNED}/labels.json"):
        (run.path / name).write_text("half")
    train(tmp_path, OLD, Quiet())
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".tmp")]


def test_a_run_without_checkpoints_is_not_lost_by_a_start_that_fails(tmp_path: Path) -> None:
    """Somebody may have deleted the checkpoints and kept log and scores."""
    train(tmp_path, OLD, Quiet())
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "scores.json").write_text("{}")
    before = files_of(tmp_path)
    with pytest.raises(DataError):
        train(tmp_path, mine(tmp_path.parent, "data.train=nowhere.tsv"), Quiet(), resume=True)
    assert files_of(tmp_path) == before
