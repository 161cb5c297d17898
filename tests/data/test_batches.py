"""Batches: every example once, within the budget, the same again from two integers, and with little padding."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from saccade.data import batches
from saccade.data.batches import Integers, PlannedBatches, cut, grouped, padding_share, plan
from saccade.errors import DataError, ShapeError, UsageError

length = st.one_of(st.integers(0, 30), st.integers(0, 2**62))
single = st.lists(length, max_size=80).map(lambda values: np.array(values, dtype=np.int64))
double = st.lists(st.tuples(length, length), max_size=80).map(lambda rows: np.array(rows, dtype=np.int64).reshape(-1, 2))
lengths_of_any_kind = st.one_of(single, double)
budgets = st.one_of(st.integers(1, 200), st.integers(1, 2**31))


def sentences(count: int, generator: np.random.Generator) -> Integers:
    """Lengths like those of translated sentences: long-tailed, a target about as long as its source."""
    source = generator.lognormal(np.log(25), 0.55, count)
    target = 1.05 * source * np.exp(generator.normal(0, 0.2, count))
    return np.clip(np.round(np.stack([source, target], 1)), 1, 400).astype(np.int64)


def cost(lengths: NDArray[np.int64], batch: Integers) -> int:
    rows = lengths.reshape(len(lengths), -1)[batch]
    return sum(len(batch) * int(longest) for longest in rows.max(0))


def same(one: list[Integers], other: list[Integers]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _global_state() -> NDArray[np.uint32]:
    state: NDArray[np.uint32] = np.random.get_state(legacy=False)["state"]["key"]
    return state


@given(lengths_of_any_kind, budgets, st.integers(0, 2**64), st.integers(0, 10**6))
def test_every_index_comes_once_within_the_budget(lengths: Integers, budget: int, seed: int, epoch: int) -> None:
    batches = plan(lengths, budget, seed, epoch)
    assert sorted(index for batch in batches for index in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or cost(lengths, batch) <= budget


@pytest.mark.parametrize("budget", range(6, 60))
def test_a_budget_is_not_exceeded_by_one(budget: int) -> None:
    lengths = np.random.default_rng(budget).integers(1, 4, (60, 2))
    assert max(cost(lengths, batch) for seed in range(5) for batch in plan(lengths, budget, seed, 0)) <= budget


@given(double, budgets, st.integers(0, 2**64), st.integers(0, 10**6))
def test_planned_again_it_is_the_same_whatever_else_was_drawn(lengths: Integers, budget: int, seed: int, epoch: int) -> None:
    whole = plan(lengths, budget, seed, epoch)
    np.random.default_rng().random()
    state = _global_state()
    assert same(whole, plan(lengths.copy(), budget, seed, epoch))
    assert np.array_equal(state, _global_state())


def test_the_order_is_that_of_every_earlier_version() -> None:
    # A run that was stopped before an upgrade goes on in the same order.
    batches = plan(np.array([[3, 4], [9, 8], [3, 5], [10, 8], [2, 4], [3, 4]]), 30, seed=7, epoch=2)
    assert [sorted(batch.tolist()) for batch in batches] == [[3], [1], [0, 2, 5], [4]]


@pytest.mark.parametrize("distinct", [False, True])
def test_epochs_and_seeds_differ(distinct: bool) -> None:
    generator = np.random.default_rng(0)
    lengths = np.arange(1, 401) if distinct else generator.integers(5, 15, 400)
    plans = [plan(lengths, 2000, seed, epoch) for seed in range(2) for epoch in range(2)]
    members = [{frozenset(batch.tolist()) for batch in batches} for batches in plans]
    assert all(members[a] != members[b] for a in range(4) for b in range(a))


def test_batches_of_like_length_come_in_no_order() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, 5000)
    means = [lengths[batch].mean() for batch in plan(lengths, 1000, 0, 0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2


def test_one_example_and_none() -> None:
    assert same(plan(np.array([5]), 10, 0, 0), [np.array([0])])
    assert plan(np.zeros((0, 2), dtype=np.int64), 10, 0, 0) == []
    assert padding_share(np.zeros(0, dtype=np.int64), []) == 0


def test_equal_lengths_fill_batches_without_padding() -> None:
    lengths = np.full((1000, 2), 8)
    batches = plan(lengths, 160, 0, 0)
    assert {len(batch) for batch in batches} == {10}
    assert padding_share(lengths, batches) == 0
    assert any(np.ptp(batch) > 500 for batch in batches)  # drawn from everywhere, not cut as they come


def test_a_huge_outlier_stands_alone_and_spoils_nothing() -> None:
    generator = np.random.default_rng(0)
    lengths = sentences(20_000, generator)
    before = padding_share(lengths, plan(lengths, 2500, 0, 0))
    lengths[123] = 10**15, 3
    batches = plan(lengths, 2500, 0, 0)
    (alone,) = (batch for batch in batches if 123 in batch)
    assert alone.tolist() == [123]
    assert padding_share(lengths, [batch for batch in batches if 123 not in batch]) < before + 0.01


def test_padding_share_counts_places() -> None:
    lengths = np.array([[1, 2], [3, 2], [5, 5]])
    assert padding_share(lengths, [np.array([0, 1]), np.array([2])]) == pytest.approx(1 - 18 / 20)
    assert padding_share(lengths[:, 0], [np.array([1, 0, 2])]) == pytest.approx(1 - 9 / 15)


@pytest.mark.parametrize(("count", "limit"), [(10_000, 0.05), (100_000, 0.015)])
def test_little_padding(count: int, limit: float) -> None:
    lengths = sentences(count, np.random.default_rng(1))
    batches = plan(lengths, 2000, 0, 0)
    assert count / len(batches) >= 30
    assert padding_share(lengths, batches) < limit


def test_little_padding_where_target_lengths_say_nothing_of_sources() -> None:
    generator = np.random.default_rng(2)
    lengths = np.stack([generator.permutation(sentences(100_000, generator)[:, 0]) for _ in range(2)], 1)
    assert padding_share(lengths, plan(lengths, 2000, 0, 0)) < 0.03


class Lengths:
    """Examples of these lengths; a batch is the numbers of its examples."""

    def __init__(self, lengths: Integers) -> None:
        self.lengths = lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def lengths_of(self, indices: Integers) -> Integers:
        return self.lengths[indices]

    def batch(self, indices: Integers) -> list[int]:
        return list(map(int, indices))


def drawn(source: PlannedBatches, count: int) -> list[list[int]]:
    return [source.next() for _ in range(count)]


def test_epoch_follows_epoch() -> None:
    corpus = Lengths(np.random.default_rng(0).integers(1, 9, 50))
    source = PlannedBatches(corpus, batch_tokens=40, seed=3)
    for epoch in range(3):
        expected = [batch.tolist() for batch in plan(corpus.lengths, 40, 3, epoch)]
        assert drawn(source, len(expected)) == expected
        assert source.epoch == epoch


@pytest.mark.parametrize("taken", [0, 1, 5, 17, 40])
def test_restored_it_goes_on_as_if_never_stopped(taken: int) -> None:
    corpus = Lengths(np.random.default_rng(0).integers(1, 9, 50))
    source = PlannedBatches(corpus, batch_tokens=40, seed=3)
    drawn(source, taken)
    again = PlannedBatches(corpus, batch_tokens=40, seed=3)
    again.restore(source.state())
    assert again.state() == source.state()
    assert drawn(again, 20) == drawn(source, 20)
    assert again.epoch == source.epoch


def test_a_batch_may_hold_so_many_examples_whatever_their_length() -> None:
    corpus = Lengths(np.random.default_rng(0).integers(1, 900, 50))
    source = PlannedBatches(corpus, batch_tokens=1, batch_size=8)
    batches = drawn(source, 7)
    assert sorted(map(len, batches)) == [2, *[8] * 6]
    assert sorted(index for batch in batches for index in batch) == list(range(50))


def test_steps_of_epochs() -> None:
    source = PlannedBatches(Lengths(np.full(100, 5)), batch_tokens=50)
    assert [source.steps(epochs) for epochs in (1, 2.5, 0.01)] == [10, 25, 1]


def test_nothing_to_train_on_is_told() -> None:
    with pytest.raises(DataError, match="the training data is empty"):
        PlannedBatches(Lengths(np.zeros(0, dtype=np.int64)), batch_tokens=50).next()


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 100))
def test_batches_without_gradients_are_as_large_as_their_budget_allows(sizes: list[int], budget: int) -> None:
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    batches = list(cut(order, sizes, budget))
    assert [i for batch in batches for i in batch] == order
    for batch, following in zip(batches, [*batches[1:], None], strict=False):
        assert len(batch) == 1 or len(batch) * max(sizes[i] for i in batch) <= budget
        assert following is None or (len(batch) + 1) * sizes[following[0]] > budget


@pytest.mark.parametrize(
    "lengths", [np.zeros((2, 3), dtype=np.int64), np.zeros((1, 1, 1), dtype=np.int64), np.array([-1]), np.array([1.5])]
)
def test_wrong_lengths_are_refused(lengths: NDArray[np.int64]) -> None:
    with pytest.raises(ShapeError, match="expected lengths"):
        plan(lengths, 10, 0, 0)


def test_an_empty_budget_is_refused() -> None:
    with pytest.raises(UsageError, match="max_tokens ≥ 1"):
        plan(np.array([1]), 0, 0, 0)


@pytest.fixture
def in_groups(monkeypatch: pytest.MonkeyPatch) -> Lengths:
    """More examples than are planned at once."""
    for name, value in {"WHOLE": 60, "GROUP": 32, "BLOCK": 4}.items():
        monkeypatch.setattr(batches, name, value)
    return Lengths(np.random.default_rng(0).integers(1, 9, 101))


def test_every_example_of_many_comes_once_an_epoch(in_groups: Lengths) -> None:
    source = PlannedBatches(in_groups, batch_tokens=40, seed=3)
    count = source.steps(1)
    epochs = [drawn(source, count) for _ in range(3)]
    assert source.epoch == 2
    for epoch in epochs:
        assert sorted(index for batch in epoch for index in batch) == list(range(101))
        assert all(sum(in_groups.lengths[batch].max() for _ in batch) <= 40 for batch in epoch)
    assert epochs[0] != epochs[1] != epochs[2]
    assert source.steps(2.5) == math.ceil(2.5 * count)


def test_a_group_is_of_blocks_of_neighbors(in_groups: Lengths) -> None:
    own = [grouped(101, 3, 0, group) for group in range(4)]
    assert [len(one) for one in own] == [len({*one.tolist()}) for one in own]
    assert sorted(np.concatenate(own).tolist()) == list(range(101))
    starts = [one[one % 4 == 0] for one in own]
    assert all(
        {*one.tolist()} == {n for start in at for n in range(start, min(start + 4, 101))}
        for one, at in zip(own, starts, strict=True)
    )
    assert not np.array_equal(own[0], np.arange(32))
    assert not np.array_equal(own[0], grouped(101, 3, 1, 0))
    assert not np.array_equal(own[0], grouped(101, 4, 0, 0))


@pytest.mark.parametrize("taken", [0, 1, 7, 19, 20, 21, 40, 77])
def test_of_many_it_goes_on_as_if_never_stopped(in_groups: Lengths, taken: int) -> None:
    source = PlannedBatches(in_groups, batch_tokens=40, seed=3)
    drawn(source, taken)
    again = PlannedBatches(in_groups, batch_tokens=40, seed=3)
    again.restore(source.state())
    assert again.state() == source.state()
    assert drawn(again, 40) == drawn(source, 40)
    assert again.epoch == source.epoch
