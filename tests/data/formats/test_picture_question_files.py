"""Questions about one's own pictures: tables, several people's answers, and the two files that VQA v2 is published as."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.data.examples import PictureQuestion
from saccade.data.formats.picture_question_files import Config, inputs_of, load, read
from saccade.errors import DataError, UsageError

ROWS = [("red.png", "what color ?", "red"), ("red.png", "is it blue ?", "no"), ("blue.png", "is it blue ?", "yes")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, color in (("red", (255, 0, 0)), ("blue", (0, 0, 255))):
        Image.new("RGB", (20, 20), color).save(tmp_path / f"{name}.png")
    return tmp_path


def csv(folder: Path, rows: Sequence[tuple[str, ...]], header: str = "picture,question,answer") -> str:
    (folder / "my.csv").write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    return str(folder / "my.csv")


def test_questions_on_one_picture_share_it(folder: Path) -> None:
    found = read(csv(folder, ROWS), Config(size=8))
    assert [(one.name, one.input.question, one.target) for one in found] == ROWS
    assert all(isinstance(one.input, PictureQuestion) for one in found)
    assert found[0].input.picture is found[1].input.picture
    assert found[0].input.picture.pixels.shape == (8, 8, 3)
    assert (found[2].input.picture.pixels == (0, 0, 255)).all()
    blank = read(csv(folder, ROWS), Config(size=8, blank=True))
    assert all((one.input.picture.pixels == 255).all() for one in blank)
    assert read(csv(folder, ROWS), Config(size=8, colors="gray"))[0].input.picture.pixels.ndim == 2


def test_columns_by_other_names_and_the_answers_of_several_people(folder: Path) -> None:
    row = {"image": "red.png", "question": "what color ?", "answers": ["red", "dark red", "red"], "type": "color"}
    (folder / "my.jsonl").write_text(json.dumps(row) + "\n")
    (one,) = read(str(folder / "my.jsonl"), Config())
    assert one.target == "red\ndark red\nred"
    assert one.group == "color"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("none.png", "what ?", "red"), "my.csv:2: .*none.png: no such picture"),
        (("my.csv", "what ?", "red"), "expected a picture"),
        (("red.png", "", "red"), "my.csv:2: expected a question, got empty text"),
        (("red.png", "what ?", ""), "my.csv:2: expected a target, got empty text"),
    ],
)
def test_bad_rows_are_told_or_skipped(row: tuple[str, ...], told: str, folder: Path) -> None:
    spec = csv(folder, [row, *ROWS])
    with pytest.raises(DataError, match=told):
        read(spec, Config())
    heard: list[str] = []
    assert len(read(spec, Config(skip_bad=True), heard.append)) == len(ROWS)
    assert "skipped 1 bad of 4 lines" in heard[0]


def test_questions_about_one_picture_are_held_out_together(folder: Path) -> None:
    splits = load(Config(train=csv(folder, ROWS), size=8, held_out=0.3))
    assert {len(splits.train), len(splits.valid)} == {1, 2}
    with pytest.raises(UsageError, match=r"data.train: expected a file"):
        load(Config())


def published(folder: Path) -> str:
    """Two questions as VQA v2 has them; the pictures lie in a folder of their own."""
    (folder / "val2014").mkdir()
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(folder / "val2014" / "COCO_val2014_000000000042.jpg")
    asked = [
        {"image_id": 42, "question": text, "question_id": number} for number, text in enumerate(("what ?", "how many ?"))
    ]
    people = [["sky"] * 7 + ["blue sky"] * 3, ["1"] * 10]
    known = [
        {"question_id": number, "image_id": 42, "answer_type": kind, "answers": [{"answer": one} for one in own]}
        for number, (own, kind) in enumerate(zip(people, ("other", "number"), strict=True))
    ]
    (folder / "questions.json").write_text(json.dumps({"data_subtype": "val2014", "questions": asked}))
    (folder / "annotations.json").write_text(json.dumps({"data_subtype": "val2014", "annotations": known[::-1]}))
    return f"{folder}/questions.json,{folder}/annotations.json"


def test_vqas_own_files_are_joined_by_the_questions_number(folder: Path) -> None:
    found = read(published(folder), Config(size=8, pictures=str(folder / "val2014")))
    assert [one.input.question for one in found] == ["what ?", "how many ?"]
    assert [one.target.split("\n").count("sky") for one in found] == [7, 0]
    assert [one.group for one in found] == ["other", "number"]
    with pytest.raises(DataError, match="no such picture"):
        read(f"{folder}/questions.json,{folder}/annotations.json", Config())


@pytest.mark.parametrize("text", ['{"questions": []}', "[1]", "{", '{"questions": [{"question_id": 1}], "annotations": []}'])
def test_other_json_is_refused(text: str, folder: Path) -> None:
    for name in ("a.json", "b.json"):
        (folder / name).write_text(text)
    with pytest.raises(DataError, match=r"VQA v2"):
        read(f"{folder}/a.json,{folder}/b.json", Config())


def test_a_table_of_questions_is_read_row_by_row(folder: Path) -> None:
    found = inputs_of(csv(folder, [("red.png", "what ?")], "path,question"))
    assert found is not None
    assert list(found) == [(folder / "red.png", "what ?")]
    assert inputs_of("lines.txt") is None
