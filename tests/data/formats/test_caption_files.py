"""Pictures of one's own with captions: tables, COCO's and Karpathy's files; several captions of a picture."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.examples import Example
from saccade.data.formats.caption_files import Config, load, read
from saccade.errors import DataError, UsageError
from tests.made import photos

RED, BLUE = "red/1.png", "blue/1.png"


def told(examples: Any) -> list[tuple[str, str]]:
    return [(Path(one.name).parent.name, one.target) for one in examples]


def written(folder: Path, name: str, content: Any) -> str:
    photos(folder / "p")
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


LISTED = {f"p/{RED}": ["a red one", "red"], f"p/{BLUE}": "a blue one"}
TABLE = [("red", "a red one\nred"), ("blue", "a  blue one".replace("  ", " "))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("my.csv", f"path,caption\np/{RED},a red one\np/{BLUE},a  blue one\np/{RED},red\np/{RED},red\n"),
        ("my.tsv", f"image\tcaption\np/{RED}\ta red one\np/{RED}\tred\np/{BLUE}\ta blue one\n"),
        ("my.jsonl", "\n".join(json.dumps({"file_name": path, "text": own}) for path, own in LISTED.items())),
        ("my.json", [{"path": path, "captions": own} for path, own in LISTED.items()]),
        (
            "coco.json",
            {
                "images": [{"id": 7, "file_name": f"p/{RED}"}, {"id": 5, "file_name": f"p/{BLUE}"}],
                "annotations": [
                    {"image_id": 7, "caption": "a red one"},
                    {"image_id": 5, "caption": "a blue one\n"},
                    {"image_id": 7, "caption": "red"},
                ],
            },
        ),
    ],
)  # fmt: skip
def test_captions_of_a_picture_stand_together(tmp_path: Path, name: str, content: Any) -> None:
    found = read(written(tmp_path, name, content), Config(size=6))
    assert told(found) == TABLE
    assert {one.input.pixels.shape for one in found} == {(6, 6, 3)}


def test_a_training_example_has_one_caption_and_others_have_all(tmp_path: Path) -> None:
    table = written(tmp_path, "my.csv", f"path,caption\n{RED},a\n{BLUE},b\n{RED},c\n")
    config = Config(train=table, valid=table, size=4, images=str(tmp_path / "p"), colors="gray")
    splits = load(config)
    assert [one.target for one in splits.train] == ["a", "c", "b"]
    assert splits.train[0].input is splits.train[1].input
    assert [one.target for one in splits.valid] == ["a\nc", "b"]
    assert splits.valid[0].input.pixels.shape == (4, 4)


def test_captions_of_a_picture_are_held_out_together(tmp_path: Path) -> None:
    photos(tmp_path / "p")
    rows = [f"{kind}/{number}.png,{kind} {way}" for kind in ("red", "blue") for number in (1, 3, 5) for way in "xy"]
    table = written(tmp_path, "my.csv", "\n".join(["path,caption", *rows]))
    splits = load(Config(train=table, images=str(tmp_path / "p"), held_out=0.4, size=4))
    assert splits.valid
    assert all(one.target.count("\n") == 1 for one in splits.valid)
    assert not {one.name for one in splits.valid} & {one.name for one in splits.train}


def karpathy(parts: list[tuple[str, str, list[str]]]) -> dict[str, Any]:
    images = [
        {"filepath": "p", "filename": path, "split": part, "sentences": [{"raw": raw, "tokens": []} for raw in raws]}
        for path, part, raws in parts
    ]
    return {"images": images, "dataset": "flickr8k"}


def test_karpathys_file_says_what_each_part_is(tmp_path: Path) -> None:
    parts = [
        (RED, "train", ["a", "b"]),
        (BLUE, "test", ["c", "d"]),
        ("red/3.png", "restval", ["e"]),
        ("blue/3.png", "val", ["f"]),
    ]
    table = written(tmp_path, "dataset.json", karpathy(parts))
    splits = load(Config(train=table, size=4))
    assert [[one.target for one in part] for _, part in splits.parts()] == [["a", "b", "e"], ["f"], ["c\nd"]]
    with pytest.raises(UsageError, match="says which pictures these are"):
        load(Config(train=table, test=table))


def test_a_folder_for_each_caption(tmp_path: Path) -> None:
    photos(tmp_path)
    found: list[Example] = read(str(tmp_path), Config(size=4))
    assert {one.target for one in found} == {"red", "blue"}
    assert np.array_equal(found[0].input.pixels.shape, (4, 4, 3))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("my.csv", "path,words\na.png,b\n", "expected a column caption"),
        ("my.csv", "path,caption\n", "got none"),
        ("my.csv", f"path,caption\np/{RED},\n", r"my.csv:2: expected a path and a caption"),
        ("my.csv", "path,caption\nnone.png,b\n", "none.png: no such picture"),
        ("my.json", {"images": [{"id": 1}], "annotations": []}, "without 'file_name'"),
        ("my.json", karpathy([(RED, "other", ["a"])]), "without 'other'"),
        ("my.json", "{", "my.json"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as told:
        load(Config(train=written(tmp_path, name, content)))
    assert "\n" not in str(told.value)


def test_nothing_is_asked_for() -> None:
    with pytest.raises(UsageError, match=r"fix: data.train=captions.csv"):
        load(Config())
