"""The files of a run: kept whole, recorded by every checkpoint, and refused when they are no longer what they were."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.errors import DataError, UsageError
from saccade.exchange.opening import load
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.fresh import LEARNED
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve
from saccade.training.train import train

from .runs import tiny
from .small import WORDS, numbers, outlier
from .test_train import scripted

pytestmark = pytest.mark.usefixtures("put_back")
SHORT = [*WORDS, "train.steps=2"]


def labels(folder: Path) -> Settings:
    (folder / "my.tsv").write_text("".join(f"film {n} is {'good' if n % 2 else 'bad'}\t{n % 2}\n" for n in range(30)))
    words = ["model.embedding_size=4", "model.hidden_size=4", "reader.spelling=2", f"data.train={folder / 'my.tsv'}"]
    return resolve({"system": "document_attention"}, [*words, *SHORT])


def nodes(folder: Path) -> Settings:
    (folder / "nodes.csv").write_text("id,label,x\n" + "".join(f"n{n},{n % 2},{n % 2}\n" for n in range(12)))
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{n},n{n + 1}\n" for n in range(11)))
    words = [f"data.nodes={folder / 'nodes.csv'}", f"data.edges={folder / 'edges.csv'}"]
    return resolve({"system": "gat"}, [*words, *SHORT])


MADE: dict[str, tuple[Callable[[Path], Settings], list[str]]] = {
    "text": (lambda folder: tiny("train.steps=2"), ["target.tokenizer.json", "tokenizer.json"]),
    "labels": (labels, ["labels.json", "spelling.json", "tokenizer.json"]),
    "numbers": (numbers, ["numbers.json", "tokenizer.json"]),
    "items": (outlier, ["scale.json"]),
    "nodes": (nodes, ["graph.safetensors", "labels.json"]),
}


@pytest.mark.parametrize("kind", MADE)
def test_every_file_that_predictions_depend_on_is_under_watch(kind: str, tmp_path: Path) -> None:
    made, names = MADE[kind]
    run = train(tmp_path / "run", made(tmp_path), Quiet()).path
    assert not (run / LEARNED).exists()
    for step in Checkpoints(run).steps():
        assert sorted(Checkpoints(run).load(step).beside) == ["config.toml", *names]
    for name in ["config.toml", *names]:
        before = (run / name).read_bytes()
        for after in (before + b" ", before[:-1], bytes([before[0] ^ 1]) + before[1:], None):
            (run / name).unlink() if after is None else (run / name).write_bytes(after)
            with pytest.raises(DataError, match=rf"run/{name}: expected the file .* got (another one|none); put it back"):
                load(run)
            if (
                name == "config.toml" and after is not None
            ):  # which may be edited and resumed: tests/training/test_resuming.py
                continue
            with pytest.raises(DataError, match=rf"run/{name}: expected the file that the run was made with"):
                train(run, made(tmp_path), Quiet(), resume=True)
        (run / name).write_bytes(before)
    assert load(run).step > 0
    train(run, made(tmp_path), Quiet(), resume=True)


def test_two_names_in_labels_exchanged_do_not_invert_predictions(tmp_path: Path) -> None:
    run = train(tmp_path / "run", labels(tmp_path), Quiet()).path
    names = json.loads((run / "labels.json").read_text())
    (run / "labels.json").write_text(json.dumps(names[::-1], ensure_ascii=False) + "\n")
    with pytest.raises(DataError, match=r"labels\.json: expected the file"):
        load(run)


def test_files_that_nothing_depends_on_may_change(tmp_path: Path) -> None:
    run = train(tmp_path, tiny("train.steps=2"), Quiet()).path
    for name in ("env.json", "log.jsonl"):
        (run / name).write_text("")
    assert load(run).step == 2


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    one = train(tmp_path / "one", tiny("train.steps=2"), Quiet())
    other = train(tmp_path / "other", tiny("train.steps=1"), Quiet())
    (other.path / "checkpoints" / "step-00000001").rename(one.path / "checkpoints" / "step-00000001")
    opened = Run.open(one.path)
    with pytest.raises(DataError, match="step-00000001: belongs to another run"):
        opened.model(opened.task(), 1)
    assert opened.model(opened.task(), 2)[1].step == 2


def test_what_a_task_saves_is_moved_in_whole_or_not_at_all(tmp_path: Path) -> None:
    def save(folder: Path) -> None:
        (folder / "a.json").write_text("1")
        (folder / "b.json").write_text("2")

    run = Run.create(tmp_path, tiny())
    (tmp_path / LEARNED).mkdir()
    (tmp_path / LEARNED / "stale.json").write_text("of a start that was killed")
    assert sorted(run.keep(save).files) == ["a.json", "b.json", "config.toml"]
    kept = ["a.json", "b.json", "config.toml", "configs.jsonl", "env.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    for error in (DataError("bad"), OSError(28, "No space left on device")):

        def fail(folder: Path, error: Exception = error) -> None:
            (folder / "c.json").write_text("3")
            raise error

        with pytest.raises((DataError, UsageError), match=r"bad|cannot be written \(No space"):
            run.keep(fail)
        assert sorted(path.name for path in tmp_path.iterdir()) == kept


@pytest.mark.parametrize("which", [None, "last", "best"])
def test_a_damaged_newest_checkpoint_is_told(
    which: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted(monkeypatch, [0.5, 0.4])
    newest = train(tmp_path, tiny("train.steps=8", "train.valid_every=4"), Quiet()).checkpoints.folder / "step-00000008"
    load(tmp_path, which)  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""
    (newest / "optimizer.safetensors").write_bytes(b"")
    assert load(tmp_path, which).step == 4  # type: ignore[arg-type]
    told = capsys.readouterr().err
    assert told.startswith(f"passed over a damaged checkpoint: {newest / 'optimizer.safetensors'} is damaged: 0 bytes")
    assert told.count("\n") == 1
