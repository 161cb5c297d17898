"""Texts through a task: read in windows, batches and pieces, each as if it were alone; scores and looks in one pass."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from saccade import task as tasks
from saccade.data.examples import Example, Splits
from saccade.errors import DataError, InputError, UsageError
from saccade.readers.text import Reader
from saccade.task import Task
from saccade.writers.writer import Options, Prediction
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions, scene

SYSTEM = "bahdanau"
SIZES = ("model.embedding_size=12", "model.hidden_size=16", "model.readout_size=8", "tokens.size=300")
EXAMPLES = [
    Example("ein Haus", "a house", "short"),
    Example("das alte Haus am See", "the old house at the lake", "long"),
    Example("See", "lake", "short"),
    Example("alt", "old"),
    Example("ein See am alten Haus", "a lake at the old house", "long"),
]
GREEDY = options(max_length=12)


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, EXAMPLES, *SIZES, *words)


def model(task: Task, *words: str) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, *words, seed=3, loud=2.5)


def texts(count: int = 40, seed: int = 1) -> list[str]:
    """Inputs of very different lengths, in no order, some of them empty."""
    dice = random.Random(seed)
    return ["".join(dice.choice("einHausmSlt d") for _ in range(dice.choice([0, 1, 3, 9, 25]))) for _ in range(count)]


def same(one: list[Prediction], other: list[Prediction]) -> bool:
    return len(one) == len(other) and all(
        (a.text, a.finished, a.tokens) == (b.text, b.finished, b.tokens)
        and math.isclose(a.log_prob, b.log_prob, abs_tol=1e-4)
        and [look.name for look in a.looks] == [look.name for look in b.looks]
        and all(equal(x.weights, y.weights) for x, y in zip(a.looks, b.looks, strict=True))
        for a, b in zip(one, other, strict=True)
    )


def equal(one: Any, other: Any) -> bool:
    """But for the padding of a batch."""
    keys = min(one.shape[-1], other.shape[-1])
    return np.allclose(one[..., :keys], other[..., :keys], atol=1e-4) and not one[..., keys:].any()


# Predictions


@pytest.mark.parametrize(
    "how",
    [
        options(max_length=12, looks=True),
        options(2, beam=3, max_length=12, looks=True),
        options(method="sample", n_best=2, max_length=12, seed=5, looks=True),
    ],
    ids=lambda how: how.search.method,
)
def test_order_windows_and_batches_change_nothing(how: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, given = model(task), texts()
    whole = predictions(task, made, iter(given), how)
    assert len(whole) == len(given)
    assert len({best[0].text for best in whole}) > 5
    monkeypatch.setattr(tasks, "WINDOW", 7)
    for budget in (60, 1):
        monkeypatch.setattr(Reader, "budget", budget)
        small = predictions(task, made, iter(given), how)
        assert all(same(one, other) for one, other in zip(small, whole, strict=True))


def test_each_input_gets_what_it_would_get_alone() -> None:
    task = fitted()
    made, given = model(task), texts()
    for text, best in zip(given, predictions(task, made, given, GREEDY), strict=True):
        assert same(best, predictions(task, made, [text], GREEDY)[0])


def test_inputs_come_back_with_their_examples() -> None:
    task = fitted()
    found = list(task.predict(model(task), ["Haus", "", "See"], GREEDY, nothing))
    assert [example for example, _ in found] == [Example("Haus"), None, Example("See")]


def test_predictions_come_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long file is not read to its end first; and a list does as well as a stream."""
    monkeypatch.setattr(tasks, "WINDOW", 2)
    task, read = fitted(), list[str]()

    def stream() -> Iterator[str]:
        for text in ["Haus", "See", "alt", "am"]:
            read.append(text)
            yield text

    found = task.predict(model(task), stream(), GREEDY, nothing)
    assert read == []
    next(found)
    assert read == ["Haus", "See"]
    assert len(predictions(task, model(task), ["Haus", "See", "alt"], GREEDY)) == 3
    assert predictions(task, model(task), iter([]), GREEDY) == []


@pytest.mark.parametrize("window", [2, 3, 100])
def test_an_input_that_is_too_long_is_refused_by_its_line(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "WINDOW", window)
    task = fitted("reader.max_length=6")
    lines = ["Haus", "See", "alt", "", "Haus am See", "alt"]
    with pytest.raises(InputError, match="line 5: 11 tokens, at most 6 expected"):
        predictions(task, model(task), lines, GREEDY)
    with pytest.raises(InputError, match="line 105: 11 tokens"):
        list(task.predict(model(task), lines, GREEDY, nothing, first=100))


def test_an_input_that_is_too_long_is_read_in_pieces_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted("reader.max_length=6")
    made, given = model(task), ["Haus", "Haus am See", "", "alt"]
    for window in (100, 2):
        monkeypatch.setattr(tasks, "WINDOW", window)
        whole = [best for _, best in task.predict(made, given, GREEDY, nothing, pieces=True)]
        assert [len(best) for best in whole] == [1, 1, 1, 1]
        parts = [best[0] for best in predictions(task, made, ["Haus a", "m See"], GREEDY)]
        assert whole[1][0].text == " ".join(one.text for one in parts)
        assert whole[1][0].log_prob == pytest.approx(sum(one.log_prob for one in parts), abs=1e-4)
        assert [*whole[1][0].tokens] == [token for one in parts for token in one.tokens]
        alone = [best[0].text for best in predictions(task, made, ["Haus", "", "alt"], GREEDY)]
        assert [whole[i][0].text for i in (0, 2, 3)] == alone


def test_sampling_depends_on_the_number_of_an_input() -> None:
    """A file that is read in two parts gives what it gives at once."""
    task, how = fitted(), options(method="sample", max_length=12, seed=5)
    made, given = model(task), texts(12)
    whole = predictions(task, made, given, how)
    parts = [list(task.predict(made, part, how, nothing, first=first)) for first, part in ((0, given[:5]), (5, given[5:]))]
    assert all(same(best, other) for (_, best), other in zip([*parts[0], *parts[1]], whole, strict=True))
    assert not all(same(best, other) for best, other in zip(predictions(task, made, given[5:], how), whole[5:], strict=True))


def test_with_very_many_hypotheses_fewer_inputs_are_searched_together(monkeypatch: pytest.MonkeyPatch) -> None:
    task, sizes = fitted(), list[int]()
    made = model(task)
    read = type(made).read

    def counted(self: Any, given: Any) -> object:
        sizes.append(len(given.lengths))
        return read(self, given)

    monkeypatch.setattr(type(made), "read", counted)
    for width in (4, 16, 64, 1000):
        predictions(task, made, ["ein Haus"] * 64, options(method="beam", beam=width, max_length=1))
        assert sum(sizes) == 64
        assert max(sizes) == (64 if width <= 16 else min(64, 8000 * 16 // width // 8))
        sizes.clear()


def test_a_text_comes_piece_by_piece() -> None:
    task = fitted()
    made = model(task)
    for text in ("Haus am See", "alt"):
        pieces = list(task.stream(made, text, GREEDY, nothing))
        assert "".join(pieces) == predictions(task, made, [text], GREEDY)[0][0].text
    assert any(len(list(task.stream(made, text, GREEDY, nothing))) > 1 for text in ("Haus am See", "alt", "See"))
    with pytest.raises(DataError, match="nothing to go on from"):
        task.stream(made, " ", GREEDY, nothing)
    short = fitted("reader.max_length=6")
    with pytest.raises(DataError, match="12 tokens, at most 6"):
        short.stream(model(short), "x" * 12, GREEDY, nothing)
    labels = made_tasks.fitted("document_attention", [Example("a", "1"), Example("b", "2")])
    with pytest.raises(UsageError, match="expected a system that writes text"):
        labels.stream(made_tasks.model("document_attention", labels), "a", options(), nothing)


# The corpus


def test_the_corpus_holds_inputs_and_targets() -> None:
    task = fitted()
    corpus = task.corpus(EXAMPLES)
    assert corpus.lengths.tolist() == [[len(one.input), len(one.target) + 1] for one in EXAMPLES]
    batch = corpus.batch([2, 1])
    reader, writer = task.reader.tokenizer, task.writer.tokenizer
    assert [reader.decode(row) for row in batch.input.tokens.tolist()] == ["See", "das alte Haus am See"]
    assert [writer.decode(row) for row in batch.target.tokens.tolist()] == ["lake", "the old house at the lake"]
    assert (batch.input.lengths.tolist(), batch.target.lengths.tolist()) == ([3, 20], [5, 26])
    assert len(task.corpus([]).lengths) == 0


def test_examples_that_cannot_be_read_or_scored_are_named() -> None:
    task = fitted("reader.max_length=15", "writer.max_length=15")
    examples = [Example("a", "a"), Example("", "x"), Example("a" * 16, "x" * 20), Example("a", "x" * 20)]
    assert list(task.flaws(examples)) == [
        (1, "example 2: expected a source, got a text without tokens; leave it out"),
        (2, "example 3: 16 tokens, at most 15 expected; shorten it, or set reader.max_length"),
        (3, "example 4: 21 tokens, at most 15 expected; shorten it, or set writer.max_length"),
    ]
    for part, told in ((examples[:2], "example 2: expected a source"), (examples[3:], "example 1: 21 tokens")):
        with pytest.raises(DataError, match=told) as error:
            task.corpus(part)
        assert error.value.exit_code == 3


# A task and its run


def test_what_cannot_be_learned_from_is_told_before() -> None:
    with pytest.raises(DataError, match="label '3' is in the test data"):
        made_tasks.fitted("document_attention", Splits([Example("a", "1"), Example("b", "2")], [], [Example("c", "3")]))


# Scores


def test_an_evaluation_carries_its_predictions_and_tells_how_far_it_is() -> None:
    task, ticks = fitted(), list[int]()
    made = model(task)
    found = task.evaluate(made, EXAMPLES, GREEDY, ticks.append)
    assert ticks == sorted(ticks)
    assert ticks[-1] == 5
    assert [one.example for one in found.predictions] == EXAMPLES
    expected = [best[0].text for best in predictions(task, made, [one.input for one in EXAMPLES], GREEDY)]
    assert [one.text for one in found.predictions] == expected
    assert [one.text for one in task.best(made, EXAMPLES, GREEDY)] == expected


def test_the_model_is_run_once_for_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [Example(f"{word} film", word) for word in ("good", "bad", "dull")]
    task = made_tasks.fitted("document_attention", examples)
    made, calls = made_tasks.model("document_attention", task), list[int]()
    logits = type(made).logits

    def counted(self: Any, given: Any) -> Any:
        calls.append(1)
        return logits(self, given)

    monkeypatch.setattr(type(made), "logits", counted)
    task.evaluate(made, examples, options())
    assert calls == [1]


def test_scores_do_not_depend_on_dropout_or_on_gradients() -> None:
    task = fitted()
    made = model(task, "model.dropout=0.5").train()
    first = task.evaluate(made, EXAMPLES, GREEDY)
    assert task.evaluate(made.train(), EXAMPLES, GREEDY).scores == first.scores
    assert all(weight.grad is None for weight in made.parameters())


def test_loss_is_that_of_the_examples_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fitted()
    made, corpus = model(task), task.corpus(EXAMPLES)
    with torch.no_grad():
        alone = [float(made(corpus.batch([i])).loss) for i in range(5)]
    for budget in (8000, 25):
        monkeypatch.setattr(Reader, "budget", budget)
        total, tokens, _ = task.loss(made, corpus, None)
        assert total == pytest.approx(sum(alone), rel=1e-5)
        assert tokens == sum(len(one.target) + 1 for one in EXAMPLES)
        assert task.loss(made, corpus, [3, 1])[0] == pytest.approx(alone[1] + alone[3], rel=1e-5)
    assert task.loss(made, task.corpus(EXAMPLES[::-1]), None)[0] == pytest.approx(sum(alone), rel=1e-5)


def test_what_is_wrong_with_an_example_is_told_by_its_own_number() -> None:
    task = fitted("reader.max_length=15", "writer.max_length=15")
    examples = [Example("a", "a", "b"), Example("a", "a", "a"), Example("a", "a house at the lake", "a")]
    with pytest.raises(DataError, match="example 3: 20 tokens"):
        task.evaluate(model(task), examples, GREEDY)


def test_scores_by_length_are_of_the_examples_of_that_length() -> None:
    task = fitted()
    texts = [one.target for one in EXAMPLES[:2]] + ["no"] * 3
    rows = task.by_length(EXAMPLES, [Prediction(text) for text in texts])
    assert [(row["shortest"], row["longest"], row["examples"], row["exact_match"]) for row in rows] == [
        (1, 1, 2, 0.0),
        (2, 2, 1, 1.0),
        (3, 5, 2, 0.5),
    ]


# Looks


def test_a_scene_has_the_places_of_its_looks_and_no_others() -> None:
    task = fitted()
    made = model(task)
    drawn = scene(task, made, "Haus é", options(max_length=12, looks=True))
    assert set(drawn.axes) == {"input", "output"}
    assert list(drawn.axes["input"].labels) == list("Haus é")
    plain = task.scene(made, Example("Haus"), predictions(task, made, ["Haus"], GREEDY)[0][0])
    assert (plain.looks, plain.axes) == ([], {})
