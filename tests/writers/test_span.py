"""Answers: where they stand by token, the likeliest of all pairs of first and last, and SQuAD's scores."""

from pathlib import Path

import numpy as np
import pytest
import torch

from saccade.data.examples import Example, Pair, Splits
from saccade.errors import DataError
from saccade.writers.span import Config, Writer

from ..systems.tiny import TEXTS, options, tiny


def test_answers_are_found_by_their_tokens() -> None:
    one = tiny("bert", "span")
    target = one.task.writer.encode(one.examples).batch(range(5))
    batch = one.task.reader.encode([example.input for example in one.examples]).batch(range(5))
    for row, example in enumerate(one.examples):
        first, last = int(target.first[row]), int(target.last[row])
        if not example.target:
            assert (first, last) == (0, 0)
            continue
        start, end = int(batch.offsets[row, first, 0]), int(batch.offsets[row, last, 1])
        assert example.input.second[start:end] == example.target
    given = Example(Pair("who ?", "a sun and a sun", 12), "sun")
    found = one.task.writer.encode([given]).batch([0])
    assert int(found.first) > int(
        one.task.writer.encode([Example(Pair("who ?", "a sun and a sun"), "sun")]).batch([0]).first
    )


def test_the_likeliest_pair_of_first_and_last_is_the_answer() -> None:
    one = tiny("bert", "span")
    how = options(method="beam", beam=3, n_best=3)
    for example, best in zip(one.examples, one.task.predictions(one.model, one.examples, how), strict=True):
        batch = one.task.reader.encode([example.input]).batch([0])
        with torch.no_grad():
            logs = one.model.logits(batch)[0].double().log_softmax(0)
        size = len(logs)
        pairs = {(0, 0): float(logs[0].sum())}
        inside = [place for place in range(size) if logs[place, 0].isfinite() and place]
        pairs |= {(i, j): float(logs[i, 0] + logs[j, 1]) for i in inside for j in inside if i <= j}
        top = max(pairs.values())
        assert best[0].log_prob == pytest.approx(top, abs=1e-5)
        assert [own.log_prob for own in best] == sorted((own.log_prob for own in best), reverse=True)
        assert len({own.text for own in best}) == len(best)
        assert all(own.text in example.input.second for own in best)


def test_answers_are_no_longer_than_they_may_be_and_empty_only_if_some_are() -> None:
    one = tiny("bert", "span")
    logs = np.log(np.full((8, 2), 1 / 8))
    logs[[0, 7]] = [-0.1, -0.1], [-np.inf, -np.inf]
    reader = one.task.reader
    for none in (False, True):
        writer = Writer(Config(max_answer_length=2), reader, some_have_none=none)
        places = list(writer._places(logs))
        assert ((0, 0) in places) == none
        assert all(last - first < 2 for first, last in places)
        assert len(places) == 6 + 5 + none


def test_whether_some_have_no_answer_is_kept(tmp_path: Path) -> None:
    one = tiny("bert", "span")
    assert one.task.writer.some_have_none
    one.task.writer.save(tmp_path)
    assert Writer.load(Config(), tmp_path, one.task.reader).some_have_none
    some = [Example(Pair("who ?", TEXTS[1]), "dog")]
    assert not Writer.fit(Config(), None, Splits(some, [], []), one.task.reader).some_have_none


def test_each_right_answer_counts() -> None:
    one = tiny("bert", "span")
    ((best,),) = one.task.predictions(one.model, [one.examples[1]], options())
    examples = [Example(one.examples[1].input, f"dog\n{best.text}"), Example(one.examples[1].input, "dog xyzzy")]
    exact = one.task.writer.outcomes("exact_match", examples, [best, best])
    assert exact is not None
    assert exact.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (Example("a", "b"), "example 1: expected a question and a text, got one text; give both"),
        (Example(Pair("a", "b"), "c"), "example 1: expected the answer 'c' in the text; mend it"),
    ],
)
def test_what_does_not_fit_is_refused(example: Example, told: str) -> None:
    with pytest.raises(DataError, match=told):
        Writer.fit(Config(), None, Splits([example], [], []), tiny("bert", "span").task.reader)
    with pytest.raises(DataError, match=r"expected a question and a text, got 'a'; write QUESTION \|\|\| TEXT"):
        tiny("bert", "span").task.predictions(tiny("bert", "span").model, [Example("a")], options())
