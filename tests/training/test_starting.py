"""A training begins with the parameters, tokenizers and labels of another run, and never reads it again."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import saccade
from saccade import config
from saccade.errors import DataError, UsageError
from saccade.new_run import settled
from saccade.task import Task
from saccade.training.checkpoints.manifests import mark
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings
from saccade.training.starting import Start, beside, found, grouped
from saccade.training.train import train

from . import small
from .runs import contents
from .sittings import Noted, Pressed, equal

pytestmark = pytest.mark.usefixtures("put_back")
FEW = ["train.steps=4", "train.valid_every=4", "train.save_every=2", "train.log_every=1", "train.threads=1"]


def written(path: Path, labels: str = "012", count: int = 60) -> Path:
    """Texts with labels, some of their words new."""
    lines = (f"film {n} was {'fine' if n % 2 else 'bad'}\t{labels[n % len(labels)]}\n" for n in range(count))
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that labels texts, with word vectors and letters of its own."""
    folder = tmp_path_factory.mktemp("before")
    settings = small.sentences(folder)
    table = {**settings.table(), "reader": {"spelling": 1, "vectors": "skip_gram"}}
    table["model"] = {**table["model"], "embedding_size": 8}
    settled_, _ = settled(table, [], folder / "run", resume=False)
    return train(folder / "run", settled_, Quiet()).path


def begun(
    run: Path, start: Path | str, data: Path, *words: str, system: str = "document_attention"
) -> tuple[Run, list[str]]:
    """A run that begins with another, and what was told."""
    told = Noted()
    settings, opened = settled({"system": system}, [f"start={start}", f"data.train={data}", *FEW, *words], run, resume=False)
    return train(run, settings, told, start=opened), told.notes


def parameters(run: Path, step: int | None = None) -> dict[str, Tensor]:
    """Of its best checkpoint, or that of a step."""
    return dict(saccade.load(run, step).module.state_dict())


def tells(notes: list[str], text: str) -> bool:
    return any(text in note for note in notes)


def test_a_run_begins_with_all_of_another(before: Path, tmp_path: Path) -> None:
    """Parameters, tokens, letters, labels and sizes; a step of nothing changes nothing."""
    run, notes = begun(tmp_path / "run", before, written(tmp_path / "my.tsv", "201"), "train.learning_rate=1e-30")
    assert tells(notes, f"of 16 parameters taken from {before} at step ")
    assert not tells(notes, "new:")
    assert tells(notes, "start: 16 of 16")
    assert equal(parameters(run.path), parameters(before))
    for name in ("tokenizer.json", "labels.json", "spelling.json"):
        assert (run.path / name).read_bytes() == (before / name).read_bytes()
    own, earlier = run.settings, Run.open(before).settings
    assert (own.model, own.tokens, own.writer) == (earlier.model, earlier.tokens, earlier.writer)
    assert (own.reader.spelling, own.reader.vectors, earlier.reader.vectors) == (1, "", "skip_gram")


def test_where_it_began_is_recorded(before: Path, tmp_path: Path) -> None:
    run, _ = begun(tmp_path / "run", before, written(tmp_path / "my.tsv"))
    file = saccade.load(before).file
    assert config.read(run.path / "config.toml")["start"] == str(before)
    record = json.loads((run.path / "env.json").read_text())["start"]
    known = mark(file.read_bytes())
    assert record == {
        "path": str(before),
        "step": saccade.load(before).step,
        "file": str(file),
        "sha256": known.sha256,
        "size": known.size,
    }


def test_other_labels_get_a_new_head(before: Path, tmp_path: Path) -> None:
    """Also if they are as many as before: the rows of the old head stand for something else."""
    _, notes = begun(tmp_path / "more", before, written(tmp_path / "more.tsv", "abcd"))
    assert notes[0].endswith("new: output.weight (4, 12) instead of (3, 12), output.bias (4,) instead of (3,)")
    run, notes = begun(tmp_path / "as", before, written(tmp_path / "as.tsv", "abc"), "train.learning_rate=1e-30")
    assert notes[0].startswith("start: 14 of 16 parameters taken from ")
    assert notes[0].endswith("; new: output.weight (other labels), output.bias (other labels)")
    own, earlier = parameters(run.path), parameters(before)
    assert {name for name in own if not torch.equal(own[name], earlier[name])} == {"output.weight", "output.bias"}
    fresh = Run.open(run.path).new_model(run.task()).state_dict()
    assert torch.equal(own["output.weight"], fresh["output.weight"])


def test_what_the_user_says_is_stronger_and_told(before: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "my.tsv")
    run, notes = begun(tmp_path / "run", before, data, "model.hidden_size=5", "model.dropout=0.1", "reader.max_length=7")
    assert run.settings.model.hidden_size == 5
    assert run.settings.reader.max_length == 7
    assert notes[0] == f"start: other than in {before}: model.hidden_size 6 → 5, model.dropout 0.3 → 0.1"
    assert "output.weight (3, 10) instead of (3, 12)" in notes[1]


def test_letters_are_learned_anew_or_left_out_where_that_is_asked_for(before: Path, tmp_path: Path) -> None:
    run, notes = begun(tmp_path / "run", before, written(tmp_path / "my.tsv"), "reader.spelling=0")
    assert not (run.path / "spelling.json").exists()
    assert tells(notes, "start: 15 of 15")
    _, notes = begun(tmp_path / "more", before, written(tmp_path / "my.tsv"), "reader.spelling=2")
    assert tells(notes, "start: 15 of 16")


@pytest.mark.parametrize("word", ["tokens.kind=char", "tokens.size=9", "reader.vectors=skip_gram", "reader.vector_epochs=2"])
def test_what_is_not_learned_anew_is_refused(word: str, before: Path, tmp_path: Path) -> None:
    key = word.partition("=")[0]
    with pytest.raises(UsageError, match=f"{key}: has no effect with start={before}, whose own is kept; leave it out"):
        begun(tmp_path / "run", before, written(tmp_path / "my.tsv"), word)
    assert not (tmp_path / "run").exists()


def test_a_recipe_that_learns_other_tokens_takes_those_of_the_start(before: Path, tmp_path: Path) -> None:
    recipe = {"system": "document_attention", "tokens": {"kind": "char"}, "reader": {"vectors": "skip_gram"}}
    recipe["model"] = {"hidden_size": 5}
    words = [f"start={before}", f"data.train={written(tmp_path / 'my.tsv')}"]
    settings, _ = settled(recipe, words, tmp_path / "run", resume=False)
    assert settings.tokens == Run.open(before).settings.tokens
    assert settings.reader.vectors == ""
    assert settings.model.hidden_size == 5
    assert settings.model.embedding_size == 8


def test_another_system_takes_what_has_the_same_name(before: Path, tmp_path: Path) -> None:
    """The words' vectors; its own reader is of the same kind, and keeps the tokens."""
    lines = "".join(f"a good film {n} | film\t{n % 3}\n" for n in range(30))
    (tmp_path / "my.tsv").write_text(lines)
    run, notes = begun(tmp_path / "run", before, tmp_path / "my.tsv", "train.learning_rate=1e-30", system="atae_lstm")
    assert notes[0] == f"start: {before} is a document_attention: parameters are matched by name"
    assert torch.equal(parameters(run.path)["embedding.weight"], parameters(before)["embedding.weight"])
    assert (run.path / "tokenizer.json").read_bytes() == (before / "tokenizer.json").read_bytes()
    assert run.settings.model.embedding_size == 8


def test_another_kind_of_reader_learns_its_own_tokens(before: Path, tmp_path: Path) -> None:
    """A vocabulary that is as large by chance is another one all the same; here nothing is left to take."""
    (tmp_path / "my.tsv").write_text("".join(f"abc {n}\tcba {n}\n" for n in range(30)))
    with pytest.raises(
        UsageError, match=r"no parameter of .* \(document_attention\) has the name and shape of one of seq2seq"
    ):
        begun(tmp_path / "run", before, tmp_path / "my.tsv", "tokens.kind=char", system="seq2seq")
    assert not (tmp_path / "run").exists()


def test_a_run_that_went_on_is_resumed_without_what_it_began_with(before: Path, tmp_path: Path) -> None:
    """Bit for bit, by its name or by the same words; another start is refused."""
    gone, data = tmp_path / "gone", written(tmp_path / "my.tsv", "abc")
    shutil.copytree(before, gone)
    words = [f"start={gone}", f"data.train={data}", *FEW, "model.dropout=0.2"]
    table = {"system": "document_attention"}
    for name, stop in (("whole", None), ("typed", 2), ("named", 2)):
        settings, start = settled(table, words, tmp_path / name, resume=False)
        if stop is None:
            train(tmp_path / name, settings, Quiet(), start=start)
        else:
            with pytest.raises(Interrupted):
                train(tmp_path / name, settings, Pressed(stop, signal.SIGINT), start=start)
    shutil.rmtree(gone)
    settings, start = settled(table, words, tmp_path / "typed", resume=True)
    assert start is None
    train(tmp_path / "typed", settings, Quiet(), resume=True)
    saccade.train(tmp_path / "named", resume=True, quiet=True)
    assert contents(tmp_path / "typed") == contents(tmp_path / "whole") == contents(tmp_path / "named")
    for other in (words[1:], [f"start={before}", *words[1:]]):
        settings, start = settled(table, other, tmp_path / "typed", resume=True)
        with pytest.raises(UsageError, match=r"start cannot change at step 4 \(.* → .*\): its parameters were trained from"):
            train(tmp_path / "typed", settings, Quiet(), resume=True, start=start)


def test_a_start_is_remembered_like_data(before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is begun anew from another directory, with names that were relative to the first; but for the data."""
    home, other = tmp_path / "home", tmp_path / "other"
    other.mkdir()
    shutil.copytree(before, home / "runs" / "a")
    written(home / "my.tsv")
    monkeypatch.chdir(home)
    short: dict[str, Any] = {"steps": 2, "threads": 1, "quiet": True}
    first = saccade.train("document_attention", str(home / "my.tsv"), "runs/b", start=Path("runs/a"), **short)
    values = dict(first.module.state_dict())
    assert first.run.settings.start == "runs/a"
    monkeypatch.chdir(other)
    saccade.train(home / "runs" / "b", fresh=True, quiet=True)
    assert equal(parameters(home / "runs" / "b"), values)


def test_a_start_without_its_first_checkpoint_is_opened_again(before: Path, tmp_path: Path) -> None:
    words = [f"start={before}", f"data.train={written(tmp_path / 'my.tsv')}", *FEW]
    settings, start = settled({"system": "document_attention"}, words, tmp_path / "run", resume=False)
    Run.create(tmp_path / "run", settings)
    again, start = settled({"system": "document_attention"}, words, tmp_path / "run", resume=True)
    assert (again, start is not None) == (settings, True)
    train(tmp_path / "run", again, Quiet(), resume=True, start=start)
    assert Checkpoints(tmp_path / "run").steps()[-1] == 4


def test_what_is_no_model_is_told(before: Path, tmp_path: Path) -> None:
    data = written(tmp_path / "my.tsv")
    with pytest.raises(DataError, match=r"start: .*nowhere: not a run \(it has no config.toml\)"):
        begun(tmp_path / "run", tmp_path / "nowhere", data)
    with pytest.raises(UsageError, match=r"start\.steps: no such key; expected start=RUN"):
        settled({"system": "document_attention"}, ["start.steps=3"], tmp_path, resume=False)
    with pytest.raises(UsageError, match=r"start: expected the directory of a run, or a published one, got 3"):
        settled({"system": "document_attention", "start": 3}, [], tmp_path, resume=False)
    settings, _ = settled(
        {"system": "document_attention"}, [f"start={before}", f"data.train={data}"], tmp_path, resume=False
    )
    with pytest.raises(UsageError, match="only saccade train begins with another model"):
        train(tmp_path / "run", settings, Quiet())


def test_no_start_is_said_by_nothing(before: Path, tmp_path: Path) -> None:
    settings, start = settled({"system": "document_attention", "start": str(before)}, ["start="], tmp_path, resume=False)
    assert (settings.start, start) == ("", None)
    assert "start" not in settings.table()


@pytest.mark.parametrize("kind", ["pictures", "bags", "numbers", "windows", "outlier", "graph", "expansion", "captions"])
def test_every_kind_of_run_goes_on(kind: str, tmp_path: Path) -> None:
    """What was learned of inputs and targets is kept, so a model goes on where it was: its loss at once is what it was."""
    settings: Settings = small.KINDS[kind](tmp_path)
    first = train(tmp_path / "a", settings, Quiet())
    table = {name: value for name, value in settings.table().items() if name in ("system", "data", "train")}
    table["train"] = {**table["train"], "learning_rate": 1e-30, "steps": 1}
    again, start = settled({**table, "start": str(first.path)}, [], tmp_path / "b", resume=False)
    told = Noted()
    run = train(tmp_path / "b", again, told, start=start)
    own, earlier = parameters(run.path), parameters(first.path)
    moved = {name for name in own if not torch.allclose(own[name].float(), earlier[name].float(), atol=1e-6)}
    assert all("running" in name or "tracked" in name for name in moved), moved
    assert not tells(told.notes, "new:")


def test_a_scale_is_kept_only_for_the_same_features(tmp_path: Path) -> None:
    settings = small.bags(tmp_path)
    first = Task.fit(settings, Run(tmp_path, settings).splits())
    text = (tmp_path / "bags.csv").read_text()
    (tmp_path / "bags.csv").write_text(
        "\n".join(line if n == 0 else f"{line}9" for n, line in enumerate(text.split("\n")[:-1]))
    )
    other = Run(tmp_path, settings).splits()
    assert Task.fit(settings, other, first).reader.scale.mean == first.reader.scale.mean
    assert Task.fit(settings, other).reader.scale.mean != first.reader.scale.mean
    (tmp_path / "bags.csv").write_text(text.replace("bag,label,a,b", "bag,label,a,c"))
    renamed = Task.fit(settings, Run(tmp_path, settings).splits(), first).reader.scale
    assert renamed.names == ("a", "c")


def test_names_are_grouped() -> None:
    every = ["embedding.weight", "encoder.0.a", "encoder.0.b", "encoder.1.a", "decoder.0.a", "decoder.0.b", "out.w", "out.b"]
    new = {"encoder.1.a": "", "decoder.0.a": "", "decoder.0.b": "", "out.w": "(2,) instead of (3,)", "out.b": ""}
    assert grouped(new, every) == ["encoder.1.a", "decoder.* (2)", "out.w (2,) instead of (3,)", "out.b"]


def test_a_directory_is_found_from_the_first_place_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "b" / "runs").mkdir(parents=True)
    assert found("runs", [tmp_path / "a", tmp_path / "b"]) == tmp_path / "b" / "runs"
    assert found("none", [tmp_path / "a"]) == Path("none")


def test_a_tied_matrix_is_taken_once() -> None:
    """From a model whose two matrices differ, under the first of its names."""

    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.output = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)
            self.output.weight = self.embedding.weight
            self.register_buffer("seen", torch.zeros(2))

    class Side:
        def strange(self, earlier: Any) -> set[str]:
            return set()

        def sizes(self) -> dict[str, Any]:
            return {}

    class Named:
        system, model = "tied", config.Empty()

    given = {"embedding.weight": torch.ones(5, 3), "output.weight": torch.zeros(5, 3), "seen": torch.ones(2)}
    task: Any = Task(Side(), Side())
    settings: Any = Named()
    model = Tied()
    told = Start("a", settings, task, given, 7, {}).fit(model, settings, task)
    assert told == ["start: 1 of 1 parameters taken from a at step 7"]
    assert torch.equal(model.output.weight, torch.ones(5, 3))
    assert torch.equal(model.get_buffer("seen"), torch.ones(2))


def test_files_that_an_export_hands_on_come_along(tmp_path: Path) -> None:
    """Those beside the tokenizers that are kept, and no others."""

    class Reads:
        def __init__(self, tokenizer: object) -> None:
            self.tokenizer = tokenizer

        def save(self, folder: Path) -> None:
            (folder / "tokenizer.json").write_text("learned")

    (tmp_path / "tokenizer.json").write_text("theirs")
    (tmp_path / "source.spm").write_text("pieces")
    kept: Any = Task(Reads("one"), Reads("one"))
    files = beside(kept, [tmp_path / "source.spm", tmp_path / "tokenizer.json"])
    assert files == [tmp_path / "source.spm"]
    settings: Any = None
    start = Start("a", settings, kept, {}, 0, {}, files)
    other: Any = Task(Reads("another"), Reads("another"))
    for name, task in (("kept", kept), ("other", other)):
        (tmp_path / name).mkdir()
        start.save(task, tmp_path / name)
    assert {file.name: file.read_text() for file in (tmp_path / "kept").iterdir()} == {
        "tokenizer.json": "learned",
        "source.spm": "pieces",
    }
    assert [file.name for file in (tmp_path / "other").iterdir()] == ["tokenizer.json"]
