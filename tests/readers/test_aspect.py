"""`sentence | aspect`: how it is read, how far words are from the aspect, and a picture for each aspect."""

import numpy as np
import pytest

from saccade import task as tasks
from saccade.data.examples import Example, Splits
from saccade.data.tensors import FAR
from saccade.errors import DataError, InputError
from saccade.readers.aspect import Reader, distances, parted
from saccade.task import Task
from tests import made_tasks
from tests.made_tasks import options, predictions, scene

SYSTEM = "atae_lstm"
SIZES = ("model.embedding_size=8", "model.hidden_size=6", "tokens.size=100")
EXAMPLES = [
    Example("good food but bad service | food", "positive"),
    Example("good food but bad service | service", "negative"),
    Example("a | b is fine | a", "neutral"),
]


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, EXAMPLES, *SIZES, *words)


def model(task: Task) -> object:
    return made_tasks.model(SYSTEM, task, *SIZES)


@pytest.mark.parametrize(
    ("text", "aspect", "expected"),
    [
        ("the food was good", "food", [-1, 0, 1, 2]),
        ("the hot dogs were good", "hot dogs", [-1, 0, 0, 1, 2]),
        ("food and more food", "food", [0, 1, -1, 0]),
        ("a b c d a", "a", [0, 1, 2, -1, 0]),
        ("hot food", "hot dogs", [FAR, FAR]),
        ("food", "food", [0]),
        ("good", "", [FAR]),
        ("", "food", []),
    ],
)
def test_distances_counted_by_hand(text: str, aspect: str, expected: list[int]) -> None:
    assert distances(text.split(), aspect.split()) == expected


def test_the_aspect_is_behind_the_last_bar() -> None:
    assert parted("a | b is fine | a") == ("a | b is fine", "a")
    assert parted("") == ("", "")
    with pytest.raises(DataError, match=r"expected .*'sentence \| aspect', got 'no aspect'"):
        parted("no aspect")


@pytest.mark.parametrize("text", ["good food | ", "good food |  ", " | ", "a | b | "])
def test_an_aspect_is_not_empty(text: str) -> None:
    with pytest.raises(DataError, match=r"expected an aspect behind the last ' \| ', got nothing in '.*\|"):
        parted(text)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_aspects_are_there_before_training_begins(part: str) -> None:
    bad = [*EXAMPLES, Example("good food | ", "positive")]
    splits = Splits(*(bad if name == part else EXAMPLES for name in ("train", "valid", "test")))
    with pytest.raises(DataError, match="example 4: expected an aspect"):
        made_tasks.fitted(SYSTEM, splits, *SIZES)
    ((found, index, problem),) = Reader.unfit(splits)
    assert (found, index) == (part, 3)
    assert problem.startswith("example 4: expected an aspect")


def test_each_sentence_and_aspect_is_learned_once() -> None:
    assert Reader.texts(EXAMPLES) == ["good food but bad service", "food", "service", "a | b is fine", "a"]
    with pytest.raises(DataError, match=f"example {len(EXAMPLES) + 1}: expected a sentence"):
        Reader.texts([*EXAMPLES, Example("no aspect", "good")])


def test_what_has_no_aspect_is_refused_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "WINDOW", 2)
    task = fitted()
    with pytest.raises(InputError, match="line 4: expected a sentence and its aspect"):
        predictions(task, model(task), [EXAMPLES[0].input, "", EXAMPLES[1].input, "no aspect"])
    with pytest.raises(DataError, match="example 2: expected a sentence and its aspect"):
        task.corpus([EXAMPLES[0], Example("no aspect", "positive")])


def test_an_aspect_is_not_part_of_how_long_a_text_is() -> None:
    task = fitted("reader.max_length=5")
    column = task.reader.encode([*(one.input for one in EXAMPLES), "good food but bad service here | food"])
    assert column.longer == 1
    assert column.lengths.tolist() == [5, 5, 5, 5]


def test_predictions_depend_on_the_aspect_and_not_on_other_texts() -> None:
    task = fitted()
    made, texts = model(task), [one.input for one in EXAMPLES] + [""]
    together = predictions(task, made, texts, options(looks=True))
    for text, found in zip(texts, together, strict=True):
        (alone,) = predictions(task, made, [text])
        assert found[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-5)
    food, service = (found[0].looks[0].weights[..., :5] for found in together[:2])
    assert food.shape == service.shape == (1, 1, 5)
    assert not np.allclose(food, service, atol=1e-3)


def test_a_picture_shades_the_sentence_and_names_the_aspect() -> None:
    task = fitted()
    drawn = scene(task, model(task), EXAMPLES[1].input)
    assert list(drawn.axes["input"].labels) == ["good", "food", "but", "bad", "service"]
    assert drawn.looks[0].weights.shape == (1, 1, 5)
    assert drawn.notes["aspect"] == "service"
    assert drawn.title.endswith("good food but bad service | service")


def test_words_know_how_far_they_are_from_the_aspect_that_is_written() -> None:
    task = fitted("reader.max_length=4")
    texts = ["the food was good and more | food", "the staff was bad | Wine", "never seen | never seen"]
    found = task.reader.encode(texts).batch([0, 2, 1]).distance
    assert found.tolist() == [[-1, 0, 1, 2], [0, 0, 0, 0], [FAR] * 4]


def test_letters_of_the_aspect_stand_beside_it() -> None:
    task = fitted("reader.spelling=1")
    batch = task.reader.encode(["good food | food", "bad | service"]).batch([0, 1])
    assert batch.aspect_spelling.shape[:2] == batch.aspect.shape == (2, 1)
    own = [[number for number in row[0] if number] for row in batch.aspect_spelling.tolist()]
    assert own == [task.reader.letters.numbers(word) for word in ("food", "service")]
