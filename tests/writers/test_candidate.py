"""Answers: words and texts, one or several that are right, and some that were never learned."""

import numpy as np
import pytest

from saccade.data.examples import Example, Splits, Story
from saccade.data.tokenizers import Config as TokensConfig
from saccade.errors import DataError
from saccade.readers import story
from saccade.writers.candidate import Config, Writer
from saccade.writers.writer import Prediction

ASK = Story(("a garden .",), "where ?")


def made(labels: tuple[str, ...] = (), targets: tuple[str, ...] = ("garden", "a,garden")) -> tuple[Writer, Splits]:
    splits = Splits([Example(ASK, target) for target in targets], [], [Example(ASK, "hall")], labels=labels)
    tokens = TokensConfig(kind="word", lower=True)
    reader = story.Reader.fit(story.Config(), tokens, splits, Writer.texts(Config(), tokens, splits))
    return Writer.fit(Config(), tokens, splits, reader), splits


def predicted(writer: Writer, *names: str) -> list[Prediction]:
    rows = np.eye(len(writer.names))
    return [Prediction(name, values=rows[writer.numbers[name]]) for name in names]


def test_an_answer_is_a_word_of_the_reader_or_has_a_place_of_its_own() -> None:
    writer, splits = made(("a,garden", "garden", "hall"))
    assert writer.words[0] == -1
    assert writer.words[1] >= 0
    assert writer.words[2] >= 0  # learned as a word, though no statement has it
    assert list(Writer.unfit(splits)) == []


def test_an_answer_that_nobody_names_is_refused() -> None:
    with pytest.raises(DataError, match="in no training example"):
        made()


def test_any_of_several_answers_is_right_and_the_first_is_learned() -> None:
    writer, _ = made(("a,garden", "garden", "hall"))
    examples = [Example(ASK, "hall\ngarden"), Example(ASK, "hall\ngarden"), Example(ASK, "hall")]
    assert writer.encode(examples).batch([0, 1, 2]).labels.tolist() == [2, 2, 2]
    predictions = predicted(writer, "garden", "hall", "garden")
    scores = writer.score(examples, predictions, lambda indices: (0.0, 0, {}))["all"]
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert scores["error"] == pytest.approx(1 / 3)
    outcomes = writer.outcomes("accuracy", examples, predictions)
    assert outcomes is not None
    assert outcomes.tolist() == [1, 1, 0]
    assert "error" in writer.metrics(writer.config)
    assert writer.notes(examples[0], predictions[0])["known answer"] == "hall | garden"
