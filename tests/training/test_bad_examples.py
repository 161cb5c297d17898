"""Bad examples of any part end a start before its first step, with file and line, or are all left out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import Bag, Example, Picture, Splits
from saccade.errors import DataError
from saccade.experiments.cell import scored
from saccade.task import Task
from saccade.training.bad_examples import learned
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from tests.made_tasks import CHARACTERS

from .sittings import Noted
from .small import WORDS

pytestmark = pytest.mark.usefixtures("put_back")
SHORT = [*WORDS, "train.steps=4"]
PARTS = {"train": "training", "valid": "validation", "test": "test"}


class Stepping(Noted):
    """Keeps what is said, and whether there was a step."""

    stepped = False

    def step(self, report: Any, entry: Any) -> None:
        self.stepped = True


def texts(folder: Path, bad: str, *words: str) -> Settings:
    """Letters turned around; the fourth line of one part is far too long."""
    for part in PARTS:
        rows = [f"ab{n}\t{n}ba\n" for n in range(12)]
        if part == bad:
            rows[3] = f"{'x' * 60}\tb\n"
        (folder / f"{part}.tsv").write_text("".join(rows))
    files = [f"data.{part}={folder / part}.tsv" for part in PARTS]
    return resolve(
        {"system": "bahdanau"}, [*files, "model.hidden_size=4", "reader.max_length=20", *CHARACTERS, *SHORT, *words]
    )


def aspects(folder: Path, bad: str, *words: str) -> Settings:
    """The fourth line of one part has no aspect."""
    for part in PARTS:
        rows = [f"it is {'good' if n % 2 else 'bad'} | it\t{n % 2}\n" for n in range(12)]
        if part == bad:
            rows[3] = "it is good\t1\n"
        (folder / f"{part}.tsv").write_text("".join(rows))
    files = [f"data.{part}={folder / part}.tsv" for part in PARTS]
    return resolve({"system": "atae_lstm"}, [*files, "model.embedding_size=4", "model.hidden_size=4", *SHORT, *words])


def labels(folder: Path, bad: str, *words: str) -> Settings:
    """The fourth line of one part has a label that no other has."""
    settings = aspects(folder, "none", *words)
    lines = (folder / f"{bad}.tsv").read_text().splitlines()
    (folder / f"{bad}.tsv").write_text("\n".join([*lines[:3], "it is good | it\tposttive", *lines[4:]]) + "\n")
    return settings


CASES = [(texts, part) for part in PARTS] + [(aspects, part) for part in PARTS] + [(labels, "valid"), (labels, "test")]


@pytest.mark.parametrize(("made", "part"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_found_at_the_start_with_file_and_line(made: Any, part: str, tmp_path: Path) -> None:
    watcher = Stepping()
    with pytest.raises(DataError, match=rf"{part}\.tsv:4: ") as error:
        train(tmp_path / "run", made(tmp_path, part), watcher)
    assert "\n" not in str(error.value)
    assert not watcher.stepped
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("made", "part"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_left_out_if_that_is_wanted(made: Any, part: str, tmp_path: Path) -> None:
    watcher = Stepping()
    run = train(tmp_path / "run", made(tmp_path, part, "data.skip_bad=true"), watcher)
    told = [note for note in watcher.notes if "skipped" in note]
    assert len(told) == 1
    assert told[0].startswith(f"{PARTS[part]} data: skipped 1 bad of 12 examples: {tmp_path / part}.tsv:4: ")
    counts = {name: scored(run, name)["scores"]["all"]["examples"] for name in PARTS}
    assert counts == {name: 11 if name == part else 12 for name in PARTS}
    watcher.notes.clear()
    train(tmp_path / "run", made(tmp_path, part, "data.skip_bad=true"), watcher, resume=True)
    assert any("going on from step 4" in note for note in watcher.notes)


def test_the_side_of_parallel_text_is_named(tmp_path: Path) -> None:
    for name, rows in {"a.de": ["eins", "zwei"], "a.en": ["one", "two"], "b.de": ["eins"], "b.en": ["o" * 60]}.items():
        (tmp_path / name).write_text("".join(f"{row}\n" for row in rows))
    files = [f"data.{part}={tmp_path / name}.de,{tmp_path / name}.en" for part, name in (("train", "a"), ("valid", "b"))]
    settings = resolve({"system": "bahdanau"}, [*files, "writer.max_length=20", *CHARACTERS, *SHORT])
    with pytest.raises(DataError, match=r"^validation data: \S+b\.en:1: 61 tokens, at most 20 .*or data\.skip_bad=true$"):
        train(tmp_path / "run", settings, Quiet())


def test_examples_of_no_file_are_named_by_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = texts(tmp_path, "none")
    whole = Run(tmp_path, settings).splits()
    bad = [*whole.valid, Example("x" * 60, "y")]
    monkeypatch.setattr(Run, "splits", lambda self: Splits(whole.train, bad, whole.test))
    with pytest.raises(DataError, match=r"^validation data: example 13: 60 tokens"):
        train(tmp_path / "run", settings, Quiet())


def test_a_changed_example_is_told_as_that(tmp_path: Path) -> None:
    train(tmp_path / "run", aspects(tmp_path, "none"), Quiet())
    with pytest.raises(DataError, match=r"the validation data \(\S*valid\.tsv\) has changed"):
        train(tmp_path / "run", labels(tmp_path, "valid"), Quiet(), resume=True)


def test_nothing_left(tmp_path: Path) -> None:
    settings = texts(tmp_path, "none", "data.skip_bad=true")
    (tmp_path / "valid.tsv").write_text(f"{'x' * 60}\ty\n{'x' * 61}\ty\n")
    with pytest.raises(DataError, match=r"^validation data: expected examples, got 2 bad ones only; the first: \S+:1: "):
        train(tmp_path / "run", settings, Quiet())


def fitted(system: str, splits: Splits) -> Task:
    return Task.fit(resolve({"system": system}, ["data.train=unread"]), splits)


def test_pictures_of_another_shape() -> None:
    def picture(size: int, label: str, name: str) -> Example:
        return Example(Picture(np.zeros((size, size), np.uint8)), label, name=name)

    train_set = [picture(4, "a", "one.png"), picture(4, "b", "two.png")]
    splits = Splits(train_set, [picture(4, "a", "three.png")], [*train_set, picture(5, "a", "odd.png")])
    with pytest.raises(DataError, match=r"^test data: example 3 \(odd\.png\): expected pictures of 4 × 4"):
        learned(fitted("se_resnet", splits), splits, None, print)


def bag(width: int, marks: list[int], target: str = "1") -> Example:
    return Example(Bag(np.zeros((len(marks), width), np.float32), np.array(marks)), target, name="nest")


@pytest.mark.parametrize(
    ("system", "odd", "told"),
    [
        ("set_outlier", bag(2, [1, 1, 0]), "one of them marked"),
        ("set_outlier", bag(3, [1, 0, 0]), "items of shape"),
        ("deep_sets", bag(2, [0, 0], "many"), "expected a number as target, got 'many'"),
        ("deep_sets", bag(3, [0, 0]), "items of shape"),
        ("attention_mil", bag(3, [0, 0]), "items of shape"),
    ],
)
def test_bags_that_are_not_the_first_of_their_part(system: str, odd: Example, told: str) -> None:
    good = [bag(2, [0, 1], "1"), bag(2, [1, 0], "2")]
    splits = Splits(good, [good[0], odd], [])
    with pytest.raises(DataError, match=rf"^validation data: example 2 \(nest\): .*{told}"):
        learned(fitted(system, splits), splits, None, print)
