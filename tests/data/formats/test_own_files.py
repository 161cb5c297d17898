"""Where the parts of the user's own data are: in a folder of parts, and from another directory than the training's."""

from inspect import signature
from pathlib import Path

import pytest

from saccade import data
from saccade.data.examples import Example
from saccade.data.formats import picture_question_files
from saccade.data.formats.own_files import located
from saccade.data.formats.text_files import Config, load
from saccade.errors import DataError


def put(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text {number}\r\nof two lines\n")


def test_a_folder_for_each_label(tmp_path: Path) -> None:
    put(tmp_path, "good/1.txt", "good/deep/2.txt", "bad/1.txt", "bad/picture.png", "bad/.hidden.txt", "README")
    found = load(Config(train=str(tmp_path), held_out=0)).train
    assert sorted((one.target, one.input) for one in found) == [
        ("bad", "text 2\nof two lines"),
        ("good", "text 0\nof two lines"),
        ("good", "text 1\nof two lines"),
    ]
    assert found[0].where() == str(tmp_path / "bad" / "1.txt")
    (tmp_path / "good" / "3.txt").write_bytes(b"ok\n\xff")
    with pytest.raises(DataError, match=r"good/3\.txt:2: expected UTF-8, got 0xff"):
        load(Config(train=str(tmp_path)))


@pytest.mark.parametrize("valid", ["valid", "validation", "dev", "val"])
def test_a_folder_of_parts(tmp_path: Path, valid: str) -> None:
    put(tmp_path, "train/a/1.txt", "train/b/2.txt", f"{valid}/a/3.txt")
    (tmp_path / "test.csv").write_text("text,label\nc,a\n")
    splits = load(Config(train=str(tmp_path)))
    assert [len(part) for _, part in splits.parts()] == [2, 1, 1]
    assert splits.test[0] == Example("c", "a")
    other = load(Config(train=str(tmp_path), test=str(tmp_path / "train")))
    assert len(other.test) == 2, "what is given by itself stays"


def test_train_alone_may_be_a_label(tmp_path: Path) -> None:
    put(tmp_path, "train/1.txt", "plane/2.txt")
    assert {one.target for one in load(Config(train=str(tmp_path), held_out=0)).train} == {"train", "plane"}


def test_paths_are_found_from_the_first_directory_that_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "one/a.tsv", "two/a.tsv", "two/b,c.tsv", "two/d.de", "two/d.en", "here.tsv")
    bases = [tmp_path / "none", tmp_path / "one", tmp_path / "two", tmp_path]
    config = Config(train="a.tsv", valid="b,c.tsv", test="d.de, d.en")
    found = located(config, bases)
    assert found.train == str(tmp_path / "one" / "a.tsv")
    assert found.valid == str(tmp_path / "two" / "b,c.tsv")
    assert found.test == f"{tmp_path / 'two' / 'd.de'},{tmp_path / 'two' / 'd.en'}"
    assert located(Config(train="here.tsv"), bases).train == "here.tsv", "named as it was typed where that is the same"
    assert located(Config(train="gone.tsv"), bases).train == "gone.tsv"


@pytest.mark.parametrize("name", sorted(data.names()))
def test_all_that_read_a_file_take_its_place_and_a_config(name: str) -> None:
    """So that a run can be evaluated on another file."""
    module = data.dataset(name)
    if hasattr(module, "read"):
        assert list(signature(module.read).parameters)[:2] in (["spec", "config"], ["path", "config"])


def test_a_file_without_examples_is_told(tmp_path: Path) -> None:
    (tmp_path / "asked.csv").write_text("picture,question,answer\n")
    with pytest.raises(DataError, match=r"asked\.csv: expected examples, got none"):
        picture_question_files.load(picture_question_files.Config(train=str(tmp_path / "asked.csv"), held_out=0))
