"""Pictures: pixels around 0, given by path, number, array or as an image, and gates as a scene."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import ResNetConfig, ResNetModel

from saccade import task as tasks
from saccade.data.examples import Example, Picture, Splits
from saccade.data.picture_sets import DrawnExamples, DrawnPictures
from saccade.errors import DataError, InputError, UsageError
from saccade.layers.backbones import resnet
from saccade.readers.picture import FILE, Config, PixelScale, Reader
from saccade.task import Task
from saccade.training.run import Run
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
    for array in (pixels[:5], pixels[:, :, 0], pixels[:, :, :1], np.zeros((40, 1, 3), np.uint8)):  # and an array
        assert reader.parse(array, nothing).input.pixels.shape == (9, 12, 3)
    for wrong in (pixels / 255, pixels[0, 0], {"a": 1}, pixels[:0], np.zeros((9, 12, 4), np.uint8)):
        with pytest.raises(UsageError, match="expected a picture: a file, an image of Pillow, or an array of bytes"):
            reader.parse(wrong, nothing)


def test_an_open_image_is_turned_and_checked_as_its_file_is(tmp_path: Path) -> None:
    reader = fitted().reader
    turned, path = (
        Image.fromarray(np.tile(np.arange(120, dtype=np.uint8)[:, None, None], (1, 90, 3))),
        tmp_path / "turned.png",
    )
    turned.getexif()[274] = 6  # turn it right by a quarter
    turned.save(path, exif=turned.getexif())
    with Image.open(path) as image:
        found, expected = (reader.parse(given, nothing).input.pixels for given in (image, path))
    assert np.array_equal(found, expected)
    assert found[0, 0, 0] > found[0, -1, 0] + 50
    path.write_bytes(path.read_bytes()[:-60])
    told = "the picture: cannot be read as a picture .*; mend it or take it away"
    with Image.open(path) as image, pytest.raises(DataError, match=told):
        reader.parse(image, nothing)


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


CAPTIONS = "show_attend_tell"
SMALL = ("model.channels=4", "model.num_stages=2", "model.embedding_size=5", "model.hidden_size=6")


def published(place: Path) -> Path:
    torch.manual_seed(3)
    made = ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"))
    made.save_pretrained(place)
    return place


def captioned(count: int) -> list[Example]:
    """Two captions each."""
    return [replace(one, target=text) for one in pictures(count) for text in ("a b", "b")]


def test_a_frozen_backbone_reads_each_picture_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_CACHE", str(tmp_path / "cache"))
    words = (f"reader.backbone={published(tmp_path / 'resnet')}", *SMALL)
    examples = captioned(40)
    task = made_tasks.fitted(CAPTIONS, examples, *words)
    read, network = [], task.reader.network.network
    network.register_forward_hook(lambda _, given, out: read.append(len(given[0])))
    column = task.reader.encode([one.input for one in examples])
    assert sum(read) == 40
    again = task.reader.encode([one.input for one in examples])
    assert sum(read) == 40  # from the cache
    features = column.batch([0, 1, 78, 79]).pixels
    assert torch.equal(again.batch([0, 1, 78, 79]).pixels, features)
    assert torch.equal(features[0], features[1])
    assert not torch.equal(features[0], features[2])
    shown = np.stack([one.input.pixels for one in (examples[0], examples[78])]) / 255
    pixels = torch.from_numpy((shown - resnet.PIXELS[0]) / resnet.PIXELS[1]).float().permute(0, 3, 1, 2)
    with torch.no_grad():
        expected = ResNetModel.from_pretrained(tmp_path / "resnet")(pixels).last_hidden_state
    torch.testing.assert_close(features[[0, 2]], expected, atol=1e-5, rtol=1e-5)
    assert task.sizes() | {"target": None, "backbone": None} == {
        "channels": 16, "height": 2, "width": 2, "target": None, "backbone": None
    }  # fmt: skip
    task.save(tmp_path)
    other = Task.load(settings(CAPTIONS, *words), tmp_path)
    torch.testing.assert_close(other.reader.encode([examples[0].input]).batch([0]).pixels, features[:1])
    # The run needs the directory no more, and the model has nothing of the network.
    made = made_tasks.model(CAPTIONS, other, *words)
    assert made.grid == (2, 2)
    assert not any("network" in name for name in made.state_dict())
    assert all(one[0].text for one in predictions(other, made, [examples[0].input.pixels]))


def test_a_backbone_that_is_trained_on_begins_with_what_is_published(tmp_path: Path) -> None:
    words = (f"reader.backbone={published(tmp_path / 'resnet')}", "reader.frozen=false", *SMALL)
    examples = captioned(6)
    task = made_tasks.fitted(CAPTIONS, examples, *words)
    made = made_tasks.model(CAPTIONS, task, *words)
    corpus = task.corpus(examples)
    task.prepare(made, Splits(examples, [], []), corpus, print)
    with torch.no_grad():
        expected = ResNetModel.from_pretrained(tmp_path / "resnet")(corpus.batch([0]).input.pixels).last_hidden_state
        found = made.eval().grid_reader(corpus.batch([0]).input.pixels)
    torch.testing.assert_close(found, expected.flatten(2).transpose(1, 2), atol=1e-5, rtol=1e-5)
    before = {name: value.clone() for name, value in made.grid_reader.state_dict().items()}
    made.train()(corpus.batch(range(6))).loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in made.grid_reader.parameters())
    assert all(torch.equal(value, before[name]) for name, value in made.grid_reader.state_dict().items())  # statistics
    task.save(tmp_path)
    other = made_tasks.model(CAPTIONS, Task.load(settings(CAPTIONS, *words), tmp_path), *words, seed=2)
    other.load_state_dict(made.state_dict())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reader.frozen=false"], "name a backbone"),
        (["reader.backbone=x", "reader.flip=0.5"], "reads each picture once"),
    ],
)
def test_settings_without_effect_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings(CAPTIONS, *words)


def test_a_directory_without_a_network_is_told_in_a_line(tmp_path: Path) -> None:
    words = (f"reader.backbone={tmp_path}", *SMALL)
    for content, message in (
        (None, "no such file; name a directory with a ResNet or ViT"),
        ("{", "cannot be read as JSON"),
        ('{"model_type": "bert"}', "expected model_type resnet or vit, got 'bert'"),
        ('{"model_type": "resnet"}', "sizes of a ResNet"),
    ):
        if content is not None:
            (tmp_path / "config.json").write_text(content)
        with pytest.raises(DataError, match=message):
            made_tasks.fitted(CAPTIONS, captioned(2), *words)
    published(tmp_path)
    with pytest.raises(DataError, match="pictures that are in color, got gray"):
        made_tasks.fitted(CAPTIONS, [replace(one, target="a") for one in pictures(3, colors=False)], *words)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"depths": [1, 2]}))
    with pytest.raises(DataError, match=r"expected encoder.stages.1.layers.1.*and 11 more as its config says"):
        made_tasks.fitted(CAPTIONS, captioned(2), *words)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(DataError, match="save the model with save_pretrained"):
        made_tasks.fitted(CAPTIONS, captioned(2), *words)


def test_a_system_with_a_network_of_its_own_has_no_backbone(tmp_path: Path) -> None:
    words = (f"reader.backbone={published(tmp_path / 'resnet')}", *SIZES)
    task = made_tasks.fitted(SYSTEM, pictures(6), *words)
    with pytest.raises(UsageError, match=r"reader.backbone: se_resnet reads pictures by a network of its own"):
        Run(tmp_path / "run", settings(SYSTEM, *words)).new_model(task)


def test_training_pictures_change_from_epoch_to_epoch_and_no_others() -> None:
    task = made_tasks.fitted(SYSTEM, pictures(6), "reader.flip=0.5", "reader.crop=0.3", "reader.color=0.2", *SIZES)
    corpus = task.corpus(pictures(6))
    plain = corpus.batch(range(6)).input.pixels

    def epoch(number: int, rows: Any = range(6), seed: int = 0) -> Any:
        return corpus.in_epoch(seed, number).batch(rows).input.pixels

    assert torch.equal(epoch(1), epoch(1))
    assert torch.equal(epoch(1, [4, 2]), epoch(1)[[4, 2]])  # of the example, whatever its place in a batch
    assert not torch.equal(epoch(1), epoch(2))
    assert not torch.equal(epoch(1), epoch(1, seed=1))
    assert not torch.equal(epoch(1), plain)
    assert torch.equal(corpus.batch(range(6)).input.pixels, plain)
    batches = corpus.batches(settings(SYSTEM, *SIZES, "train.batch_size=6").train)
    first = batches.next().input.pixels
    assert {tuple(one.flatten().tolist()) for one in first} == {tuple(one.flatten().tolist()) for one in epoch(0)}


def test_drawn_pictures_are_drawn_batch_by_batch() -> None:
    asked: list[list[int]] = []
    known = np.random.default_rng(0).integers(0, 256, (40, 9, 12), dtype=np.uint8)

    def draw(numbers: np.ndarray) -> np.ndarray:
        asked.append(numbers.tolist())
        return np.asarray(known[numbers])

    splits = Splits(DrawnExamples(DrawnPictures(draw, np.arange(40)), list("ab") * 20), [], [])
    reader = Reader.fit(Config(), None, splits, [])
    plain = Reader.fit(Config(), None, Splits([Example(Picture(one), "a") for one in known], [], []), [])
    assert reader.scale == plain.scale
    assert not list(reader.flaws(splits.train))
    asked.clear()
    column = reader.encode(splits.train.inputs)  # type: ignore[attr-defined]
    assert (len(column.lengths), asked) == (40, [])
    batch = column.batch([7, 3])
    assert asked == [[7, 3]]
    assert torch.equal(batch.pixels, plain.encode([Picture(known[7]), Picture(known[3])]).batch([0, 1]).pixels)
