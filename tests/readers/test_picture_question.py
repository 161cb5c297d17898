"""A picture and a question: two readers side by side, given as one text, as a pair, or by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from saccade.data.examples import Example, Picture, PictureQuestion, Splits
from saccade.data.tensors import PictureQuestionInput
from saccade.errors import DataError, InputError, UsageError
from saccade.task import Task
from tests import made_tasks
from tests.made_tasks import options, predictions, scene, settings

from .test_picture import published

SYSTEM = "stacked_attention"
SIZES = ("model.channels=4", "model.num_stages=2", "model.hidden_size=6", "model.embedding_size=5", "tokens.size=100")
QUESTIONS = ["what color is it ?", "is it red ?", "is there a circle ?"]


def examples(count: int = 9) -> list[Example]:
    """Three questions on each picture."""
    dice = np.random.default_rng(0)
    pictures = [Picture(one) for one in dice.integers(0, 255, (-(-count // 3), 8, 12, 3), dtype=np.uint8)]
    return [
        Example(PictureQuestion(pictures[i // 3], QUESTIONS[i % 3]), ("red", "yes", "no")[i % 3], name=f"{i // 3}.png")
        for i in range(count)
    ]


def splits() -> Splits:
    return Splits(examples(), [], examples(4))


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, examples(), *SIZES, *words)


def model(task: Task) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, loud=1.5)


def test_a_picture_is_held_once_whatever_is_asked_about_it() -> None:
    task = fitted()
    column = task.reader.encode([one.input for one in examples()])
    assert len(column.pictures.pixels) == 3
    batch = column.batch([4, 0, 5])
    assert isinstance(batch, PictureQuestionInput)
    alone = task.reader.pictures.encode([one.input.picture for one in examples()]).batch([4, 0, 5])
    assert torch.equal(batch.picture.pixels, alone.pixels)
    assert batch.question.lengths.tolist() == [4, 5, 5]
    assert torch.equal(task.reader.encode([examples()[5].input]).batch([0]).question.tokens[0], batch.question.tokens[2])


@pytest.mark.parametrize("spelling", [0, 1])
def test_both_readers_come_back_from_the_run(spelling: int, tmp_path: Path) -> None:
    words = (*SIZES, f"reader.spelling={spelling}")
    task = fitted(f"reader.spelling={spelling}")
    task.save(tmp_path)
    again = Task.load(settings(SYSTEM, *words), tmp_path)
    assert again.sizes() == task.sizes()
    assert {"channels", "height", "width", "source", "labels"} <= task.sizes().keys()
    batches = [one.corpus(examples()).batch(range(9)).input for one in (task, again)]
    assert torch.equal(batches[0].picture.pixels, batches[1].picture.pixels)
    assert torch.equal(batches[0].question.tokens, batches[1].question.tokens)


def test_what_an_earlier_reader_has_learned_is_kept() -> None:
    task = fitted()
    again = Task.fit(settings(SYSTEM, *SIZES), splits(), task)
    assert not again.strange(task)
    assert again.reader.questions.tokenizer is task.reader.questions.tokenizer
    other = [Example(PictureQuestion(Picture(np.zeros((8, 8, 3), np.uint8)), "why ?"), "a") for _ in "ab"]
    fresh = made_tasks.fitted(SYSTEM, [*other, Example(other[0].input, "b")], *SIZES)
    assert fresh.strange(task) >= {"source"}


def test_an_input_is_given_in_many_ways(tmp_path: Path) -> None:
    task, known = fitted(), examples()[4]
    image = Image.fromarray(known.input.picture.pixels)
    image.save(tmp_path / "a.png")
    asked = known.input.question
    ways = [
        f"{tmp_path}/a.png ||| {asked}",
        (tmp_path / "a.png", asked),
        (str(tmp_path / "a.png"), asked),
        (image, asked),
        (known.input.picture.pixels, asked),
        known.input,
        "train#4",
        f"train#3 ||| {asked}",
        ("train#5", asked),
    ]
    found = predictions(task, model(task), [*ways, ""], options(n_best=2), splits)
    assert len({(best.text, best.log_prob) for best, *_ in found[:-1]}) == 1
    assert found[-1][0].text == ""
    others = predictions(task, model(task), ["train#3", (image, "is it blue ?")], options(), splits)
    assert all(best.log_prob != pytest.approx(found[0][0].log_prob, abs=1e-6) for best, *_ in others)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a.png", "what ?"], [("a.png", "what ?")]),
        (["a.png", "what ?", "who ?", "b.jpg", "why ?"], [("a.png", "what ?"), ("a.png", "who ?"), ("b.jpg", "why ?")]),
        (["test#1", "test#2", "what ?"], ["test#1", ("test#2", "what ?")]),
        (["a.png ||| what ?", "test#0"], ["a.png ||| what ?", "test#0"]),
        (["what ?"], ["what ?"]),
        ([], []),
    ],
)
def test_words_of_a_command_line_are_pictures_and_the_questions_on_them(words: list[str], expected: list[Any]) -> None:
    assert fitted().reader.typed(words) == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("what color ?", "expected a picture and a question: 'photo.jpg |||"),
        ("a.png ||| ", "got no question"),
        (" ||| what ?", "got no picture"),
        ("none.png ||| what ?", "none.png: no such picture"),
        (("a.png", "what ?", "why ?"), r"expected a picture and a question, \(picture, text\), got tuple"),
        ((np.zeros((3, 3), np.float32), "what ?"), "expected a picture: a file, an image of Pillow, or an array of bytes"),
        (np.zeros((8, 12, 3), np.uint8), "got ndarray"),
    ],
)
def test_mistakes_are_told_in_one_line(given: Any, told: str) -> None:
    task = fitted()
    with pytest.raises(InputError, match=told) as caught:
        predictions(task, model(task), [given], options(), splits)
    assert isinstance(caught.value.cause, DataError | UsageError)


def test_a_scene_has_the_picture_and_the_words() -> None:
    task = made_tasks.fitted("ask_attend_answer", examples(), *SIZES[:3], "tokens.size=100")
    made = made_tasks.model("ask_attend_answer", task, *SIZES[:3], loud=1.5)
    drawn = scene(task, made, "train#4", splits=splits)
    assert drawn.notes["question"] == QUESTIONS[1]
    assert list(drawn.axes["question"].labels) == QUESTIONS[1].split()
    assert drawn.axes["input"].grid == made.grid == (4, 6)
    assert list(drawn.axes["hop"].labels) == ["hop 1", "hop 2"]
    assert [look.name for look in drawn.looks] == ["hops", "words", "hop 1, word by word"]


def test_words_that_training_had_not_are_named() -> None:
    task = fitted()
    drawn = scene(task, model(task), "train#4 ||| is zebra or Zebra unicorn ?", splits=splits)
    assert drawn.notes["words never seen in training"] == "zebra, or, unicorn"
    assert "words never seen in training" not in scene(task, model(task), "train#4", splits=splits).notes


def test_a_picture_changes_in_an_epoch_alike_for_all_questions_about_it() -> None:
    column = fitted("reader.crop=0.5", "reader.color=0.3").corpus(examples())
    seen = [column.in_epoch(seed, epoch).batch([0, 1, 3]).input for seed, epoch in ((0, 0), (0, 0), (0, 1), (1, 0))]
    first = seen[0].picture.pixels
    assert torch.equal(first[0], first[1])
    assert torch.equal(first, seen[1].picture.pixels)
    assert not torch.equal(first, column.batch([0, 1, 3]).input.picture.pixels)
    assert not any(torch.equal(first, other.picture.pixels) for other in seen[2:])
    assert torch.equal(seen[0].question.tokens, seen[3].question.tokens)


def test_a_published_backbone_reads_pictures_for_questions_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_CACHE", str(tmp_path / "cache"))
    words = (f"reader.backbone={published(tmp_path / 'resnet')}", *SIZES)
    task = made_tasks.fitted(SYSTEM, examples(), *words)
    column = task.reader.encode([one.input for one in examples()])
    features = column.batch([3, 4, 6]).picture.pixels
    assert features.shape[:2] == (3, 16)
    assert torch.equal(features[0], features[1])
    task.save(tmp_path)
    other = Task.load(settings(SYSTEM, *words), tmp_path)
    torch.testing.assert_close(other.reader.encode([examples()[3].input]).batch([0]).picture.pixels, features[:1])
    made = made_tasks.model(SYSTEM, other, *words, loud=1.5)
    assert made.grid == tuple(features.shape[2:])
    assert scene(other, made, "train#4", splits=splits).axes["input"].grid == made.grid
