"""What heads attend to, measured: each number by hand, also where the queries are the last of the keys."""

import numpy as np
import pytest

from saccade.view.head_measures import layers_of, measures, rows_of, separators_of, summed, within
from saccade.view.trace import Axis, Look, Scene, Weights

from .traces import layered, plain, softmax


def mean(weights: Weights, name: str, **given: object) -> list[float]:
    total, count = measures(weights, **given)[name]  # type: ignore[arg-type]
    return list(total / count)


def heads(*rows: object) -> Weights:
    return np.array(rows, dtype=np.float32)


PREVIOUS, SAME, NEXT = (np.eye(4, k=offset, dtype=np.float32) for offset in (-1, 0, 1))


def test_each_head_has_its_measure() -> None:
    all_of_them = heads(PREVIOUS, SAME, NEXT)
    assert mean(all_of_them, "previous") == [1, 0, 0]
    assert mean(all_of_them, "same") == [0, 1, 0]
    assert mean(all_of_them, "next") == [0, 0, 1]
    assert mean(all_of_them, "distance") == [0.75, 0, 0.75]  # one row of each looks nowhere
    assert mean(all_of_them, "entropy") == pytest.approx([0, 0, 0], abs=1e-6)


def test_the_first_token_is_looked_at_by_others() -> None:
    first = np.zeros((1, 4, 4), np.float32)
    first[0, :, 0] = [1, 0.5, 0.25, 0]
    assert mean(first, "first") == [0.25]
    assert measures(first)["first"][1] == 3


def test_entropy_is_in_nats() -> None:
    uniform, some = np.full((1, 3, 4), 0.25, np.float32), softmax(np.random.default_rng(0).normal(size=(2, 3, 5)))
    assert mean(uniform, "entropy") == pytest.approx([np.log(4)])
    assert mean(some, "entropy") == pytest.approx(-(some * np.log(some)).sum(-1).mean(-1), rel=1e-5)


def test_the_last_query_stands_where_the_last_key_stands() -> None:
    """Two tokens written after three: their own places are the fourth and fifth."""
    weights = np.zeros((1, 2, 5), np.float32)
    weights[0, 0, 2], weights[0, 1, 0] = 1, 1
    assert mean(weights, "previous") == [0.5]
    assert mean(weights, "first") == [0.5]
    assert mean(weights, "distance") == [(1 + 4) / 2]
    assert measures(weights)["next"][1] == 1


def test_separators_are_found_by_their_names() -> None:
    axis = Axis("pieces", ["[CLS]", "a", "[SEP]", "b", "</s>"])
    assert separators_of(axis) == [2, 4]
    weights = np.full((1, 5, 5), 0.2, np.float32)
    assert mean(weights, "separator", separators=[2, 4]) == pytest.approx([0.4])
    assert "separator" not in measures(weights)


def test_between_two_texts_nothing_is_before_or_after() -> None:
    assert set(measures(heads(SAME), [1], within=False)) == {"entropy", "separator"}
    cross, own = plain().looks
    assert not within(cross)
    assert within(own)
    assert within(Look("decoder", "output", "written", heads(SAME)))


def test_one_token_has_no_neighbor() -> None:
    found = measures(np.ones((2, 1, 1), np.float32))
    assert [found[name][1] for name in ("previous", "same", "next", "first")] == [0, 1, 0, 0]
    sums = summed([Scene("a", {"x": Axis("words", ["a"])}, [Look("one", "x", "x", np.ones((2, 1, 1), np.float32))])])
    assert sums["one"].mean("previous", 0) is None
    assert sums["one"].mean("same", 1) == 1


def test_texts_count_by_their_rows() -> None:
    """A text of four tokens whose heads look at themselves, and one of two whose heads do not."""
    axes = {size: {"x": Axis("words", list("abcd")[:size])} for size in (2, 4)}
    still = Scene("a", axes[4], [Look("one", "x", "x", heads(SAME))])
    moved = Scene("b", axes[2], [Look("one", "x", "x", heads([[0, 1], [1, 0]]))])
    assert summed([still, moved])["one"].mean("same", 0) == 4 / 6
    assert summed([moved], summed([still]))["one"].mean("same", 0) == 4 / 6
    assert rows_of([still, moved]) == 6


def test_layers_have_their_own_number_or_their_place() -> None:
    scene = layered()
    assert layers_of(scene.looks) == {f"self-attention, layer {number}": number for number in (1, 2, 3)}
    some = [
        Look("a", "x", "x", layer=3),
        Look("b", "x", "x", layer=7),
        Look("c", "y", "x"),
        Look("d", "x", "x", kind="flow"),
    ]
    assert layers_of(some) == {"a": 3, "b": 7, "c": 1}
