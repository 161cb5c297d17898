"""Systems on sets: neither their order nor the company matters, the empty set is defined; the control reads in order."""

from typing import Any

import numpy as np
import pytest
import torch

from saccade.attention import looking
from saccade.data.tensors import BagInput, Batch, LabelTarget, NumberTarget
from saccade.errors import ShapeError
from saccade.readers.set import SetColumn
from saccade.systems import deep_sets, point_cloud, set_expansion, set_outlier

from .looks import weights_of
from .samples import SIZE, VOCABULARY, close, gradients

LENGTHS = (3, 1, 6, 2)
SHAPES: dict[str, tuple[int, ...]] = {"words": (), "features": (4,), "pictures": (20, 20)}
POOLS = ("sum", "mean", "max", "lstm")
WITHOUT_ORDER = POOLS[:3]
kinds = pytest.mark.parametrize("kind", sorted(SHAPES))
pools = pytest.mark.parametrize("pool", POOLS)


def sets(kind: str, lengths: tuple[int, ...] = LENGTHS) -> list[Any]:
    dice = np.random.default_rng(0)
    if kind == "words":
        return [dice.integers(4, SIZE, length) for length in lengths]
    return [dice.normal(size=(length, *SHAPES[kind])).astype(np.float32) for length in lengths]


def read(found: list[Any]) -> BagInput:
    return SetColumn(found, np.array([len(own) for own in found])).batch(range(len(found)))


def batch(found: list[Any]) -> Batch:
    return Batch(read(found), NumberTarget(torch.linspace(5, 9, len(found))))


def deep(kind: str, pool: str, hidden: int = 0) -> deep_sets.Model:
    torch.manual_seed(0)
    config = deep_sets.Config(hidden_sizes=(7, 6), pool=pool, hidden_size=hidden)  # type: ignore[arg-type]
    return deep_sets.Model(config, VOCABULARY if kind == "words" else None, SHAPES[kind]).eval()


def bags(shape: tuple[int, ...] = (3,)) -> list[Any]:
    dice = np.random.default_rng(1)
    return [dice.normal(size=(length + 1, *shape)).astype(np.float32) for length in LENGTHS]


def marked(found: list[Any], labels: tuple[int, ...] = (1, 0, 4, 2)) -> Batch:
    return Batch(read(found), LabelTarget(torch.tensor(labels)))


def odd(pool: str = "mean") -> set_outlier.Model:
    torch.manual_seed(0)
    return set_outlier.Model(set_outlier.Config(hidden_size=6, pool=pool), (3,)).eval()  # type: ignore[arg-type]


def expansion() -> set_expansion.Model:
    torch.manual_seed(0)
    made = set_expansion.Model(set_expansion.Config(embedding_size=6, negatives=50), VOCABULARY).eval()
    with torch.no_grad():
        made.embedding.weight.mul_(5)
    return made


def cloud() -> point_cloud.Model:
    torch.manual_seed(0)
    return point_cloud.Model(point_cloud.Config(hidden_size=6), (3,), 4).eval()


# Deep Sets


@kinds
@pools
@pytest.mark.parametrize("hidden", [0, 5])
def test_its_loss_reaches_every_parameter(kind: str, pool: str, hidden: int) -> None:
    made = deep(kind, pool, hidden)
    loss = made(batch(sets(kind))).loss
    assert 0 < loss.item() < float("inf")
    for name, grad in gradients(made, loss).items():
        assert grad.isfinite().all(), name
        assert grad.abs().sum() > 0, name


@kinds
@pools
def test_one_set_alone_is_the_same_as_in_a_batch(kind: str, pool: str) -> None:
    made, found = deep(kind, pool), sets(kind)
    together = made.numbers(read(found))
    for own, number in zip(found, together, strict=True):
        torch.testing.assert_close(made.numbers(read([own]))[0], number, atol=1e-5, rtol=1e-5)


@kinds
@pytest.mark.parametrize("pool", WITHOUT_ORDER)
def test_the_order_of_a_set_does_not_matter(kind: str, pool: str) -> None:
    made, found, dice = deep(kind, pool), sets(kind), np.random.default_rng(2)
    expected = made.numbers(read(found))
    for _ in range(20):
        again = made.numbers(read([own[dice.permutation(len(own))] for own in found]))
        torch.testing.assert_close(again, expected, atol=1e-5, rtol=1e-5)


@kinds
def test_the_control_that_reads_in_order_changes_its_number(kind: str) -> None:
    made, found = deep(kind, "lstm"), sets(kind, (6,))
    assert not torch.allclose(made.numbers(read(found)), made.numbers(read([found[0][::-1].copy()])), atol=1e-4)


@kinds
@pools
def test_the_empty_set_has_a_number(kind: str, pool: str) -> None:
    made, (full,) = deep(kind, pool), sets(kind, (3,))
    together = made.numbers(read([full, full[:0]]))
    assert together.isfinite().all()
    torch.testing.assert_close(made.numbers(read([full[:0]]))[0], together[1], atol=1e-6, rtol=1e-6)
    if pool != "lstm":  # of nothing the sum is 0
        torch.testing.assert_close(together[1], made.output(torch.zeros(1, 6))[0, 0])


def test_a_sum_with_a_linear_end_is_additive() -> None:
    """f(X ∪ Y) = f(X) + f(Y) − f(∅): why what is learned from small sets holds for large ones."""
    made, (one, other) = deep("words", "sum"), sets("words", (4, 5))
    both, first, second, nothing = made.numbers(read([np.concatenate((one, other)), one, other, one[:0]]))
    torch.testing.assert_close(both, first + second - nothing, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("loss", "expected"), [("absolute", 3.5), ("huber", 2.5 + 0.125), ("squared", 9.25)])
def test_what_errors_cost(loss: Any, expected: float) -> None:
    made = deep_sets.Model(deep_sets.Config(hidden_sizes=(7, 6), loss=loss), VOCABULARY, ())
    made.numbers = lambda input: torch.tensor([1.0, 2.0])  # type: ignore[method-assign]
    given = Batch(BagInput(torch.tensor([4, 5]), torch.tensor([1, 1])), NumberTarget(torch.tensor([4.0, 2.5])))
    assert made(given).loss.item() == pytest.approx(expected)
    assert made(given).count == 2


@pytest.mark.parametrize(("pool", "weight"), [("sum", 1.0), ("mean", 1 / 3)])
def test_it_looks_at_all_alike(pool: str, weight: float) -> None:
    made, given = deep("words", pool), batch(sets("words", (3,)))
    with looking(made) as recorded:
        made(given)
    torch.testing.assert_close(recorded[""][0].weights(), torch.full((3,), weight))


@pools
def test_there_is_nothing_to_show_of_a_sum(pool: str) -> None:
    assert weights_of(deep("words", pool), batch(sets("words"))) == {}


# The odd one out


@pytest.mark.parametrize("pool", ["max", "mean", "sum"])
def test_scores_are_reordered_with_the_items(pool: str) -> None:
    made, dice, found = odd(pool), np.random.default_rng(3), bags()
    expected = made.scores(read(found)).split([len(bag) for bag in found])
    for _ in range(20):
        orders = [dice.permutation(len(bag)) for bag in found]
        mixed = [bag[order] for bag, order in zip(found, orders, strict=True)]
        again = made.scores(read(mixed)).split([len(bag) for bag in found])
        for own, other, order in zip(expected, again, orders, strict=True):
            torch.testing.assert_close(other, own[order], atol=1e-5, rtol=1e-5)
    for bag, own in zip(found, expected, strict=True):
        torch.testing.assert_close(made.scores(read([bag])), own, atol=1e-5, rtol=1e-5)


def test_the_loss_is_what_is_short_of_the_margin() -> None:
    made, given = odd(), marked(bags())
    scores = made.scores(given.input).split(given.input.sizes.tolist())
    short = 0.0
    for own, label in zip(scores, given.target.labels.tolist(), strict=True):
        values = own.tolist()
        others = values[:label] + values[label + 1 :]
        short += sum(max(0.0, 1.0 + other - values[label]) for other in others) / len(others)
    assert made(given).loss.item() == pytest.approx(short, rel=1e-5)
    found = gradients(made, made(given).loss)
    # What is added to all scores of a set alike cancels between the odd one and the others.
    assert all(grad.isfinite().all() for grad in found.values())
    assert all(grad.abs().sum() > 0 for name, grad in found.items() if name not in ("score.common.weight", "score.own.bias"))


def test_how_odd_items_are_sums_to_one() -> None:
    made, given = odd(), marked(bags())
    (seen,) = weights_of(made, given).values()
    sizes = given.input.sizes.tolist()
    for own, scores in zip(seen.split(sizes), made.scores(given.input).split(sizes), strict=True):
        torch.testing.assert_close(own, scores.softmax(0))


def test_pictures_are_read_too() -> None:
    made = set_outlier.Model(set_outlier.Config(hidden_size=6), (20, 20)).eval()
    given = read(bags((20, 20)))
    scores = made.scores(given)
    assert scores.shape == (int(given.sizes.sum()),)
    assert scores.unique().numel() == len(scores)  # every picture makes a difference
    brighter = [bag + 1 for bag in bags((20, 20))]
    assert not torch.allclose(made.scores(read(brighter)), scores, atol=1e-4)


# What else belongs


def words(*found: list[int]) -> BagInput:
    return read([np.array(own, dtype=np.int64) for own in found])


def expanded(found: list[list[int]], targets: list[int]) -> Batch:
    return Batch(words(*found), LabelTarget(torch.tensor(targets)))


def test_a_score_is_what_the_word_adds_to_the_function_of_the_set() -> None:
    made = expansion()
    found = [[4, 5, 5], [7], []]
    scores = made.scores(words(*found))
    for own, row in zip(found, scores, strict=True):
        for word in range(SIZE):
            with_it, without = (made.value(made.sums(words(one)))[0] for one in ([*own, word], own))
            torch.testing.assert_close(row[word], with_it - without, atol=1e-4, rtol=1e-4)


def test_no_order_changes_what_belongs() -> None:
    made = expansion()
    expected = made.scores(words([4, 9, 5, 5, 7]))
    for _ in range(20):
        order = torch.randperm(5).tolist()
        mixed = [[4, 9, 5, 5, 7][i] for i in order]
        torch.testing.assert_close(made.scores(words(mixed)), expected, atol=1e-5, rtol=1e-5)


def test_the_loss_of_expansion_reaches_every_parameter_and_passes_over_unknown_words() -> None:
    made = expansion()
    found = gradients(made, made(expanded([[4, 5], [7]], [6, 8])).loss)
    assert all(grad.isfinite().all() and grad.abs().sum() > 0 for grad in found.values())
    assert made(expanded([[4, 5]], [3])).loss.item() == 0.0
    torch.manual_seed(1)
    one = made(expanded([[4, 5], [7]], [6, 3])).loss
    torch.manual_seed(1)
    other = made(expanded([[4, 5]], [6])).loss
    assert one.item() == pytest.approx(other.item(), rel=1e-5)


def test_its_look_is_softmax_over_all_words() -> None:
    made, given = expansion(), words([4, 5], [])
    (seen,) = weights_of(made, Batch(given)).values()
    torch.testing.assert_close(seen[:, 0, 0], made.scores(given).softmax(-1), atol=1e-5, rtol=1e-5)


# Point clouds


def test_no_order_of_points_changes_the_label() -> None:
    made, found, dice = cloud(), bags(), np.random.default_rng(4)
    expected = made.logits(read(found))
    for _ in range(20):
        mixed = [dice.permutation(bag) for bag in found]
        torch.testing.assert_close(made.logits(read(mixed)), expected, atol=1e-5, rtol=1e-5)
    for bag, own in zip(found, expected, strict=True):
        torch.testing.assert_close(made.logits(read([bag]))[0], own, atol=1e-5, rtol=1e-5)
    mixed = [dice.permutation(bag) for bag in found]
    one, other = (gradients(made, made(marked(own, (1, 0, 3, 2))).loss) for own in (found, mixed))
    close(one, other, 1e-5)


def test_its_loss_reaches_every_parameter_of_a_cloud() -> None:
    made = cloud()
    for name, grad in gradients(made, made(marked(bags(), (1, 0, 3, 2))).loss).items():
        assert grad.isfinite().all(), name
        assert grad.abs().sum() > 0, name


def test_points_are_no_pictures() -> None:
    with pytest.raises(ShapeError, match="rows of coordinates"):
        point_cloud.Model(point_cloud.Config(), (28, 28), 2)
