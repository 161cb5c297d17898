"""Pictures: pixels around 0, given by path, number, array or as an image, and gates as a scene."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from saccade import task as tasks
from saccade.data.examples import Example, Picture, Splits
from saccade.data.picture_sets import DrawnExamples, DrawnPictures
from saccade.errors import DataError, InputError, UsageError
from saccade.readers.picture import FILE, PixelScale, Reader
from saccade.task import Task
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions, scene, settings

SYSTEM = "se_resnet"
SIZES = ("model.channels=4", "model.num_stages=2", "model.stride=1")


def pictures(count: int, colors: bool = True) -> list[Example]:
    dice = np.random.default_rng(count)
    shape = (count, 9, 12, 3) if colors else (count, 9, 12)
    return [
        Example(Picture(one), "abc"[place % 3], "even" if place % 2 == 0 else "", f"{place}.png")
        for place, one in enumerate(dice.integers(0, 255, shape, dtype=np.uint8))
    ]


def fitted(colors: bool = True) -> Task:
    return made_tasks.fitted(SYSTEM, pictures(12, colors), *SIZES)


def model(task: Task) -> Any:
    made = made_tasks.model(SYSTEM, task, *SIZES, loud=1.0)
    made.train()
    made(task.corpus(pictures(12)).batch(range(12)))
    return made.eval()


def splits() -> Splits:
    return Splits(pictures(12), [], pictures(5))


@pytest.mark.parametrize("colors", [True, False])
def test_training_pixels_lie_around_zero(colors: bool, tmp_path: Path) -> None:
    task, examples, channels = fitted(colors), pictures(12, colors), 3 if colors else 1
    batch = task.corpus(examples).batch(range(12))
    pixels = batch.input.pixels
    assert pixels.shape == (12, channels, 9, 12)
    assert pixels.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(pixels.mean((0, 2, 3)), torch.zeros(channels), atol=1e-5, rtol=0)
    torch.testing.assert_close(pixels.pow(2).mean((0, 2, 3)), torch.ones(channels))
    assert batch.target.labels.tolist() == [0, 1, 2] * 4
    task.save(tmp_path)
    again = Task.load(settings(SYSTEM, *SIZES), tmp_path)
    assert torch.equal(again.corpus(examples).batch([5, 2]).input.pixels, pixels[[5, 2]])
    assert again.sizes() == {"channels": channels, "height": 9, "width": 12, "labels": 3}


def test_the_scale_is_counted_exactly_some_pictures_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 4, 5, 3), dtype=np.uint8)
    whole = PixelScale.of(pixels)
    monkeypatch.setattr("saccade.readers.picture.AT_ONCE", 2)
    assert PixelScale.of(pixels) == whole
    np.testing.assert_allclose(whole.mean, pixels.mean((0, 1, 2)))
    np.testing.assert_allclose(whole.deviation, pixels.std((0, 1, 2)))


def test_a_picture_all_of_one_gray_is_no_trouble() -> None:
    flat = [Example(Picture(np.full((9, 9), 7, np.uint8)), "ab"[place]) for place in range(2)]
    assert not made_tasks.fitted(SYSTEM, flat).corpus(flat).batch([0, 1]).input.pixels.any()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        json.dumps({"shape": [9, 9, 2], "mean": [0, 0], "deviation": [1, 1]}),
        json.dumps({"shape": [9, 9, 1], "mean": [0], "deviation": [0]}),
        json.dumps({"shape": [9, 9, 1], "mean": [0, 0], "deviation": [1]}),
    ],
)
def test_a_damaged_file_is_told(text: str, tmp_path: Path) -> None:
    fitted().save(tmp_path)
    (tmp_path / FILE).write_text(text)
    with pytest.raises(DataError, match=r"pixels\.json: cannot be read"):
        Task.load(settings(SYSTEM, *SIZES), tmp_path)


def test_pictures_by_path_and_by_number(tmp_path: Path) -> None:
    task, loads = fitted(), list[int]()
    made = model(task)

    def own() -> Splits:
        loads.append(1)
        return Splits(pictures(12), pictures(4), pictures(5))

    Image.fromarray(pictures(5)[2].input.pixels).save(tmp_path / "one.png")
    assert len(predictions(task, made, [str(tmp_path / "one.png")], splits=own)) == 1
    assert not loads  # nobody named one of the run's own
    assert task.reader.listed(str(tmp_path / "one.png")) == [str(tmp_path / "one.png")]
    assert task.reader.listed(str(tmp_path / "names.txt")) is None  # a picture named in each line
    lines = ["test#2", "", f" {tmp_path / 'one.png'} ", "valid#3", "train#11"]
    found = predictions(task, made, lines, options(3), own)
    assert loads
    assert [len(best) for best in found] == [3, 1, 3, 3, 3]
    assert [one.text for one in found[0]] == [one.text for one in found[2]]
    assert found[0][0].log_prob == pytest.approx(found[2][0].log_prob, abs=1e-5)
    assert sum(one.probability for one in found[0]) == pytest.approx(1)
    assert found[1][0].text == ""
    expected = task.best(made, pictures(5), options())[2].values
    assert found[0][0].probability == pytest.approx(expected.max(), rel=1e-5)  # type: ignore[union-attr]
    assert [best[0].text for best in predictions(task, made, ["", ""])] == ["", ""]


def test_a_picture_in_memory_is_the_same_as_its_file(tmp_path: Path) -> None:
    reader, pixels = fitted().reader, pictures(5)[2].input.pixels
    Image.fromarray(pixels).save(tmp_path / "one.png")
    for given in (tmp_path / "one.png", str(tmp_path / "one.png"), Image.fromarray(pixels), pixels):
        example = reader.parse(given, nothing)
        assert np.array_equal(example.input.pixels, pixels)
    large = Image.fromarray(pixels).resize((24, 18))
    assert reader.parse(large, nothing).input.pixels.shape == (9, 12, 3)  # an image is scaled
    for wrong in (pixels / 255, pixels[0, 0], {"a": 1}):
        with pytest.raises(UsageError, match="expected a picture: a file, an image of Pillow, or an array of bytes"):
            reader.parse(wrong, nothing)
    with pytest.raises(DataError, match="expected pictures of 9 × 12 pixels and 3 channels"):
        reader.parse(pixels[:5], nothing)  # an array is taken as it is


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    with pytest.raises(DataError, match="test#5: expected test#0 to test#4, or the name of a file"):
        task.reader.parse("test#5", splits)
    with pytest.raises(DataError, match=r"none\.png: no such picture"):
        task.reader.parse(str(tmp_path / "none.png"), splits)
    monkeypatch.setattr(tasks, "WINDOW", 2)  # lines are counted beyond the first window
    with pytest.raises(InputError, match=r"line 4: none\.png: no such picture"):
        predictions(task, model(task), ["test#0", "", "test#1", "none.png"], splits=splits)
    with pytest.raises(DataError, match="unknown label 'z'"):
        task.corpus([Example(pictures(1)[0].input, "z")])
    with pytest.raises(DataError, match="example 1: expected pictures of 9 × 12 pixels"):
        task.corpus([Example(Picture(np.zeros((12, 9, 3), np.uint8)), "a")])


@pytest.mark.parametrize("budget", [1, 5, 200])
def test_predictions_do_not_depend_on_the_batch(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, examples = model(task), pictures(5)
    whole = [one.values for one in task.best(made, examples, options())]
    monkeypatch.setattr(Reader, "budget", budget)
    for one, values in zip(task.best(made, examples, options()), whole, strict=True):
        np.testing.assert_allclose(one.values, values, atol=1e-6)  # type: ignore[arg-type]


def test_gates_become_a_scene() -> None:
    task = fitted()
    drawn = scene(task, model(task), "test#4", splits=splits)
    assert drawn.title.endswith(": test#4")
    assert drawn.notes["known label"] == "b"
    assert [(look.name, look.queries, look.keys) for look in drawn.looks] == [
        ("stage 1 block 1", "output", "4 channels"),
        ("stage 2 block 1", "output", "8 channels"),
    ]
    assert [look.weights.shape for look in drawn.looks] == [(1, 1, 4), (1, 1, 8)]
    assert list(drawn.axes["8 channels"].labels) == [str(number) for number in range(8)]
    assert all(look.weights.min() > 0 and look.weights.max() < 1 for look in drawn.looks)


def test_a_grid_over_the_picture_has_named_cells() -> None:
    (axis,) = fitted().reader.axes(pictures(1)[0], (2, 3)).values()
    assert list(axis.labels) == ["0, 0", "0, 1", "0, 2", "1, 0", "1, 1", "1, 2"]
    assert axis.grid == (2, 3)
    assert np.array_equal(axis.image, pictures(1)[0].input.pixels)


def test_scores_are_also_given_by_group() -> None:
    task = fitted()
    scores = task.evaluate(model(task), pictures(12), options())
    assert set(scores["all"]) <= {"examples", *task.writer.metrics(task.writer.config)}
    assert scores["all"]["examples"] == 12
    assert scores["even"]["examples"] == 6


def test_drawn_pictures_are_drawn_batch_by_batch() -> None:
    asked: list[list[int]] = []
    known = np.random.default_rng(0).integers(0, 256, (40, 9, 12), dtype=np.uint8)

    def draw(numbers: np.ndarray) -> np.ndarray:
        asked.append(numbers.tolist())
        return np.asarray(known[numbers])

    splits = Splits(DrawnExamples(DrawnPictures(draw, np.arange(40)), list("ab") * 20), [], [])
    reader = Reader.fit({}, None, splits, [])
    plain = Reader.fit({}, None, Splits([Example(Picture(one), "a") for one in known], [], []), [])
    assert reader.scale == plain.scale
    assert not list(reader.flaws(splits.train))
    asked.clear()
    column = reader.encode(splits.train.inputs)  # type: ignore[attr-defined]
    assert (len(column.lengths), asked) == (40, [])
    batch = column.batch([7, 3])
    assert asked == [[7, 3]]
    assert torch.equal(batch.pixels, plain.encode([Picture(known[7]), Picture(known[3])]).batch([0, 1]).pixels)
