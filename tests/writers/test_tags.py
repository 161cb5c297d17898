"""A label for each word: learned from the data, predicted for every word, scored by word and by span."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import Example, Pair, Splits
from saccade.errors import DataError
from saccade.evaluation.spans import span_f1
from saccade.writers.tags import Config, Writer

from ..systems.tiny import options, tiny


def fitted(*rows: tuple[str, str], metric: str = "accuracy") -> Writer:
    train = [Example(text, tags) for text, tags in rows]
    return Writer.fit(Config(metric=metric), None, Splits(train, [], []), tiny("bert", "tags").task.reader)  # type: ignore[arg-type]


def test_labels_are_learned_and_kept(tmp_path: Path) -> None:
    made = fitted(("a b", "O B-X"), ("c", "I-X"))
    assert made.names == ["B-X", "I-X", "O"]
    assert made.sizes() == {"tags": 3}
    made.save(tmp_path)
    again = Writer.load(Config(), tmp_path, tiny("bert", "tags").task.reader)
    assert again.names == made.names
    assert again.strange(made) == set()
    assert again.strange(fitted(("a b", "x y"))) == {"tags"}
    assert made.encode([Example("c a", "O I-X")]).batch([0]).labels.tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (Example("a b", "O"), "example 2: expected as many labels as words, got 1 for 2 words"),
        (Example(Pair("a", "b"), "O"), "example 2: expected one text, got a pair; leave the second out"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_number(example: Example, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Writer.fit(Config(), None, Splits([Example("a b", "O X"), example], [], []), None)  # type: ignore[arg-type]


def test_labels_of_validation_data_must_be_known_and_spans_need_bio() -> None:
    splits = Splits([Example("a b", "O X")], [Example("c", "Y")], [])
    with pytest.raises(DataError, match="example 1: unknown label 'Y'"):
        Writer.fit(Config(), None, splits, None)  # type: ignore[arg-type]
    with pytest.raises(
        DataError, match=r"writer.metric=span_f1: expected labels such as O, B-PER and I-PER, got NOUN, VERB"
    ):
        fitted(("a b", "NOUN VERB"), metric="span_f1")
    with pytest.raises(DataError, match="expected at least 2 different labels in the training data, got O"):
        fitted(("a b", "O O"))


def test_every_word_has_its_likeliest_label_and_those_cut_off_are_outside() -> None:
    one = tiny("bert", "tags")
    example = Example("red fox runs over a hill", "a a b b a b")
    ((best,),) = one.task.predictions(one.model, [example], options())
    batch = one.task.reader.encode([example.input]).batch([0])
    labels = one.model.logits(batch).argmax(-1).tolist()
    assert best.text.split() == [one.task.writer.names[label] for label in labels]
    assert best.values is not None
    np.testing.assert_allclose(best.values.sum(1), 1, atol=1e-6)
    long = Example(" ".join(["sun"] * 40), " ".join(["a"] * 40))
    ((cut,),) = one.task.predictions(one.model, [long], options())
    assert len(cut.tokens) == 40
    assert set(cut.tokens[30:]) == {one.task.writer.names[0]}  # there is no label O


def test_scores_count_words_and_spans() -> None:
    one = tiny("bert", "tags")
    writer = fitted(("a b c", "O B-X I-X"))
    predictions = [prediction for (prediction,) in one.task.predictions(one.model, one.examples, options())]
    scores = one.task.writer.score(one.examples, predictions, lambda indices: (0.0, 0, {}))["all"]
    pairs = [
        (tag, own)
        for example, best in zip(one.examples, predictions, strict=True)
        for tag, own in zip(example.target.split(), best.tokens, strict=True)
    ]
    assert scores["accuracy"] == pytest.approx(np.mean([tag == own for tag, own in pairs]))
    assert "span_f1" not in scores
    assert span_f1([["O", "B-X"]], [["O", "B-X"]]) == 1.0
    assert writer.metrics(writer.config) == ("accuracy", "span_f1", "loss")
