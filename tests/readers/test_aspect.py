"""`sentence | aspect` to a label: how it is read, and a picture for each aspect."""

import numpy as np
import pytest
import torch
from saccade.data.aspects import AWAY
from saccade.tasks import text_to_label
from saccade.tasks.aspect_to_label import Config, Task, parted

from saccade.data import tokenizers
from saccade.data.examples import Pair, Splits
from saccade.errors import DataError, InputError
from saccade.search import Config as SearchConfig
from saccade.systems.atae_lstm import Config as ModelConfig
from saccade.systems.atae_lstm import Model
from saccade.view.trace import check

PAIRS = [
    Pair("good food but bad service | food", "positive"),
    Pair("good food but bad service | service", "negative"),
    Pair("a | b is fine | a", "neutral"),
]


def fitted(longest: int = 1000) -> Task:
    return Task.fit(Config(longest=longest), tokenizers.Config(kind="word", size=100), Splits(PAIRS, [], []))


def model(task: Task) -> Model:
    torch.manual_seed(1)
    made = Model(ModelConfig(embedding=8, hidden=6), **task.sizes())
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3)
    return made.eval()


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
    bad = [*PAIRS, Pair("good food | ", "positive")]
    parts = {name: bad if name == part else PAIRS for name in ("train", "valid", "test")}
    with pytest.raises(DataError, match=f"example 4 .*{'learn' if part == 'train' else part}.*: expected an aspect"):
        Task.fit(Config(), tokenizers.Config(kind="word", size=100), Splits(**parts))


def test_each_sentence_and_aspect_is_learned_once() -> None:
    assert Task.read(PAIRS) == ["good food but bad service", "food", "service", "a | b is fine", "a"]
    with pytest.raises(DataError, match=f"example {len(PAIRS) + 1} to learn from: expected a sentence"):
        Task.read([*PAIRS, Pair("no aspect", "good")])


def test_what_has_no_aspect_is_refused_by_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_to_label, "WINDOW", 2)
    task = fitted()
    with pytest.raises(InputError, match="line 4: expected a sentence and its aspect"):
        list(task.predict(model(task), [PAIRS[0].source, "", PAIRS[1].source, "no aspect"], SearchConfig()))
    with pytest.raises(DataError, match="example 2: expected a sentence and its aspect"):
        task.corpus([PAIRS[0], Pair("no aspect", "positive")])


def test_an_aspect_is_not_part_of_how_long_a_text_is() -> None:
    task = Task.fit(Config(longest=5), tokenizers.Config(kind="word", size=100), Splits(PAIRS, [], []))
    corpus = task.corpus([*PAIRS, Pair("good food but bad service here | food", "positive")])
    assert corpus.longer == 1
    assert corpus.lengths.tolist() == [5, 5, 5, 5]


def test_answers_hang_on_the_aspect_and_on_no_company() -> None:
    task = fitted()
    made, texts = model(task), [pair.source for pair in PAIRS] + [""]
    together = list(task.predict(made, texts, SearchConfig(), looks=True))
    for text, found in zip(texts, together, strict=True):
        (alone,) = task.predict(made, [text], SearchConfig())
        assert found[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-5)
    food, service = (found[0].looks["pool"] for found in together[:2])
    assert food.shape == service.shape == (1, 1, 5)
    assert not torch.allclose(food, service, atol=1e-3)


def test_a_picture_shades_the_sentence_and_names_the_aspect() -> None:
    task = fitted()
    (found,) = task.predict(model(task), [PAIRS[1].source], SearchConfig(), looks=True)
    (scene,) = task.scenes(PAIRS[1].source, found, "word")
    check(scene)
    assert scene.axes["text"].labels == ["good", "food", "but", "bad", "service"]
    assert scene.notes["aspect"] == "service"
    assert scene.title.endswith("good food but bad service | service")


def test_words_know_how_far_they_are_from_the_aspect_that_is_written() -> None:
    task = fitted(longest=4)
    texts = ["the food was good and more | food", "the staff was bad | Wine", "never seen | never seen"]
    found = task.encoded(texts, np.zeros(3, dtype=np.int64)).batch([0, 2, 1]).distance
    assert found is not None
    assert found.tolist() == [[-1, 0, 1, 2], [0, 0, 0, 0], [AWAY] * 4]
