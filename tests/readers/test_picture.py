"""Image to label: pixels around 0, pictures by path and by number, and gates as a scene."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from saccade.tasks.image_to_label import Config, Task

from saccade.data import tokenizers
from saccade.data.examples import Picture, Splits
from saccade.errors import DataError, InputError
from saccade.search import Config as SearchConfig
from saccade.systems.se_resnet import Config as ModelConfig
from saccade.systems.se_resnet import Model
from saccade.view.trace import check


def pictures(count: int, colors: bool = True) -> list[Picture]:
    dice = np.random.default_rng(count)
    shape = (count, 9, 12, 3) if colors else (count, 9, 12)
    return [
        Picture(one, "abc"[place % 3], "even" if place % 2 == 0 else "", f"{place}.png")
        for place, one in enumerate(dice.integers(0, 255, shape, dtype=np.uint8))
    ]


def fitted(colors: bool = True) -> Task:
    return Task.fit(Config(), tokenizers.Config(), Splits(pictures(12, colors), [], []))


def model(task: Task) -> Model:
    torch.manual_seed(1)
    made = Model(ModelConfig(width=4, stages=2, stride=1), **task.sizes())
    made.train()
    made(task.corpus(pictures(12)).batch(range(12)))
    return made.eval()


@pytest.mark.parametrize("colors", [True, False])
def test_training_pixels_lie_around_zero(colors: bool, tmp_path: Path) -> None:
    task, examples = fitted(colors), pictures(12, colors)
    batch = task.corpus(examples).batch(range(12))
    assert batch.pictures.shape == (12, 3 if colors else 1, 9, 12)
    assert batch.pictures.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(batch.pictures.mean((0, 2, 3)), torch.zeros(3 if colors else 1), atol=1e-5, rtol=0)
    torch.testing.assert_close(batch.pictures.pow(2).mean((0, 2, 3)), torch.ones(3 if colors else 1))
    assert batch.label.tolist() == [0, 1, 2] * 4
    assert batch.tokens == 12
    task.save(tmp_path)
    again = Task.load(task.config, tmp_path)
    assert torch.equal(again.corpus(examples).batch([5, 2]).pictures, batch.pictures[[5, 2]])
    assert again.sizes() == {"channels": 3 if colors else 1, "height": 9, "width": 12, "labels": 3}


def test_a_picture_all_of_one_gray_is_no_trouble() -> None:
    flat = [Picture(np.full((9, 9), 7, np.uint8), "ab"[place]) for place in range(2)]
    task = Task.fit(Config(), tokenizers.Config(), Splits(flat, [], []))
    assert not task.corpus(flat).batch([0, 1]).pictures.any()


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"shape": [9, 9, 2], "mean": [0, 0], "deviation": [1, 1]})])
def test_a_damaged_file_is_told(text: str, tmp_path: Path) -> None:
    fitted().save(tmp_path)
    (tmp_path / "pixels.json").write_text(text)
    with pytest.raises(DataError, match=r"pixels\.json: cannot be read"):
        Task.load(Config(), tmp_path)


def test_pictures_by_path_and_by_number(tmp_path: Path) -> None:
    task = fitted()
    made, loads = model(task), []

    def splits() -> Splits:
        loads.append(1)
        return Splits(pictures(12), pictures(4), pictures(5))

    task.examples = splits
    Image.fromarray(pictures(5)[2].pixels).save(tmp_path / "one.png")
    assert len(list(task.predict(made, [str(tmp_path / "one.png")], SearchConfig()))) == 1
    assert not loads  # nobody asked for the run's own
    lines = ["test#2", "", f" {tmp_path / 'one.png'} ", "valid#3", "train#11"]
    found = list(task.predict(made, lines, SearchConfig(method="beam", beam=3, n_best=3)))
    assert loads  # a run reads them once (Run.task)
    assert [len(best) for best in found] == [3, 1, 3, 3, 3]
    assert [one.text for one in found[0]] == [one.text for one in found[2]]
    assert found[0][0].log_prob == pytest.approx(found[2][0].log_prob, abs=1e-5)
    assert sum(np.exp(one.log_prob) for one in found[0]) == pytest.approx(1)
    assert found[1][0].text == ""
    expected = task.probabilities(made, pictures(5))[2]
    assert np.exp(found[0][0].log_prob) == pytest.approx(expected.max(), rel=1e-5)
    assert list(task.predict(made, ["", ""], SearchConfig()))[1][0].text == ""


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    task.examples = lambda: Splits(pictures(12), [], pictures(5))
    with pytest.raises(DataError, match="test#5: expected test#0 to test#4, or the name of a file"):
        task.picture("test#5")
    with pytest.raises(DataError, match=r"none\.png: no such picture"):
        task.picture(str(tmp_path / "none.png"))
    monkeypatch.setattr(Task, "BUDGET", 2)  # lines are counted beyond the first window
    with pytest.raises(InputError, match=r"line 4: none\.png: no such picture"):
        list(task.predict(model(task), ["test#0", "", "test#1", "none.png"], SearchConfig()))
    with pytest.raises(DataError, match="unknown label 'z'"):
        task.corpus([Picture(pictures(1)[0].pixels, "z")])
    with pytest.raises(DataError, match="expected pictures of 9 × 12 pixels"):
        task.corpus([Picture(np.zeros((12, 9, 3), np.uint8), "a")])


def test_gates_become_a_scene() -> None:
    task = fitted()
    made = model(task)
    task.examples = lambda: Splits(pictures(12), [], pictures(5))
    (found,) = task.predict(made, ["test#4"], SearchConfig(), looks=True)
    (scene,) = task.scenes("test#4", found, "char", task.reading(made, "test#4"))
    check(scene)
    assert scene.title == f"test#4: {found[0].text}"
    assert scene.notes["known label"] == "b"
    assert [(look.name, look.queries, look.keys) for look in scene.looks] == [
        ("stage 1 block 1", "label", "4 channels"),
        ("stage 2 block 1", "label", "8 channels"),
    ]
    assert [look.weights.shape for look in scene.looks] == [(1, 1, 4), (1, 1, 8)]
    assert scene.axes["8 channels"].labels == [str(number) for number in range(8)]
    assert all(look.weights.min() > 0 and look.weights.max() < 1 for look in scene.looks)
    with pytest.raises(DataError, match="nothing to look at"):
        task.scenes(" ", found, "char")


def test_scores_are_also_given_by_group() -> None:
    task = fitted()
    scores = task.evaluate(model(task), pictures(12), SearchConfig())
    assert set(scores["all"]) <= set(task.metrics(task.config))
    assert scores["all"]["examples"] == 12
    assert scores["even"]["examples"] == 6
