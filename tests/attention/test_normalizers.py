"""Sparse normalizers beside the package that published them, and what is drawn."""

from collections.abc import Callable

import entmax as oracle
import pytest
import torch
from torch import Tensor

from saccade.attention import (
    Chain,
    ChainMean,
    Entmax,
    Entmax15,
    Normalizer,
    Rows,
    Segments,
    Sparsemax,
    attend,
    attend_edges,
    bags,
)
from saccade.attention.groups import Group
from saccade.errors import SaccadeError, UnknownName

ORACLES: list[tuple[Normalizer, Callable[[Tensor], Tensor]]] = [
    (Sparsemax(), lambda x: oracle.sparsemax(x, dim=-1)),
    (Entmax15(), lambda x: oracle.entmax15(x, dim=-1)),
    (Entmax(1.25), lambda x: oracle.entmax_bisect(x, alpha=1.25, dim=-1, n_iter=100)),
    (Entmax(1.5), lambda x: oracle.entmax_bisect(x, alpha=1.5, dim=-1, n_iter=100)),
    (Entmax(3.0), lambda x: oracle.entmax_bisect(x, alpha=3.0, dim=-1, n_iter=100)),
]


@pytest.mark.parametrize(("ours", "theirs"), ORACLES, ids=lambda part: repr(part) if isinstance(part, Normalizer) else "")
@pytest.mark.parametrize("spread", [0.1, 1.0, 30.0])
def test_sparse_values_and_gradients(ours: Normalizer, theirs: Callable[[Tensor], Tensor], spread: float) -> None:
    torch.manual_seed(1)
    scores = (spread * torch.randn(7, 3, 40, dtype=torch.float64)).requires_grad_()
    pull = torch.randn_like(scores)
    weights, expected = ours(scores, Rows()), theirs(scores)
    torch.testing.assert_close(weights, expected, atol=1e-6, rtol=0)
    (gradient,) = torch.autograd.grad((weights * pull).sum(), scores)
    (wanted,) = torch.autograd.grad((expected * pull).sum(), scores)
    torch.testing.assert_close(gradient, wanted, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("ours", "alpha"), [(Sparsemax(), 2), (Entmax15(), 1.5), (Entmax(1.25), 1.25), (Entmax(3.0), 3)])
def test_sparse_in_float32(ours: Normalizer, alpha: float) -> None:
    """Weights are a threshold's distance to the power 1 / (α - 1): the distance is what float32 can promise."""
    scores = 3 * torch.randn(50, 200)
    weights = ours(scores, Rows())
    expected = ours(scores.double(), Rows())
    torch.testing.assert_close(weights.double() ** (alpha - 1), expected ** (alpha - 1), atol=5e-6, rtol=0)
    assert (weights == 0).any()


def test_alpha_is_learned() -> None:
    scores = torch.randn(6, 10, dtype=torch.float64)
    alpha = torch.nn.Parameter(torch.tensor(1.4, dtype=torch.float64))
    pull = torch.randn_like(scores)
    (ours,) = torch.autograd.grad((Entmax(alpha)(scores, Rows()) * pull).sum(), alpha)
    theirs = torch.tensor(1.4, dtype=torch.float64, requires_grad=True)
    expected = oracle.entmax_bisect(scores, alpha=theirs, dim=-1, n_iter=100)
    (wanted,) = torch.autograd.grad((expected * pull).sum(), theirs)
    torch.testing.assert_close(ours, wanted, atol=1e-6, rtol=1e-6)


def test_segments_of_one_size_are_rows() -> None:
    scores = torch.randn(5, 7, dtype=torch.float64)
    order = torch.randperm(35)
    target = torch.arange(5).repeat_interleave(7)[order]
    for normalizer in (Sparsemax(), Entmax15(), Entmax(1.25)):
        flat = normalizer(scores.flatten()[order], Segments(target, 5))
        torch.testing.assert_close(flat, normalizer(scores, Rows()).flatten()[order])


def test_the_mean_over_a_chain_is_its_chances_divided_by_their_sum() -> None:
    scores = torch.randn(4, 9)
    scores[0, 3:] = scores[3] = -torch.inf
    transitions = torch.randn(2, 2)
    chances, found = Chain(transitions)(scores, Rows()), ChainMean(transitions)(scores, Rows())
    torch.testing.assert_close(found[:3], chances[:3] / chances[:3].sum(-1, keepdim=True))
    assert (found[3] == 0).all()


@pytest.mark.parametrize("low", [20.0, 200.0])
def test_of_unlikely_keys_the_mean_over_a_chain_without_transitions_is_softmax(low: float) -> None:
    scores = torch.randn(4, 9)
    found = ChainMean(torch.zeros(2, 2))(scores - low, Rows())
    torch.testing.assert_close(found, scores.softmax(-1), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("group", [Rows(), Segments(torch.tensor([0, 0, 0, 1, 1, 1]), 2)], ids=["rows", "edges"])
def test_softmax_is_zero_where_nothing_is_open_and_loud_scores_do_not_overflow(group: Group) -> None:
    scores = torch.tensor([[200.0, 0.0, -300.0], [-torch.inf] * 3])
    found = group.softmax(scores if isinstance(group, Rows) else scores.flatten()).reshape(2, 3)
    assert found.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_log_prob_is_what_reinforce_needs() -> None:
    """The mean of reward · ∇ log p over many draws is the gradient of the expected reward."""
    torch.manual_seed(0)
    key, reward = torch.randn(4, 3, dtype=torch.float64), torch.tensor([[1.0], [3.0], [-2.0], [0.5]], dtype=torch.float64)
    query = torch.randn(1, 3, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(attend(query, key, reward).context.sum(), query)
    drawn = attend(query.expand(60_000, 3), key, reward, normalize="hard")
    surrogate = (drawn.context.detach()[:, 0] * drawn.log_prob()).mean()
    (estimate,) = torch.autograd.grad(surrogate, query)
    torch.testing.assert_close(estimate, expected, atol=0.03, rtol=0)


def test_log_prob_on_edges_and_where_nothing_is_drawn() -> None:
    sizes = torch.tensor([3, 0, 2])
    query, key = torch.randn(3, 4), torch.randn(5, 4)
    drawn = attend_edges(query, key, key, bags(sizes), normalize="hard")
    assert drawn.log_prob().shape == (3,)
    assert drawn.log_prob()[1] == 0
    assert torch.equal(drawn.context[1], torch.zeros(4))
    with pytest.raises(SaccadeError, match="draws nothing"):
        attend(query, key, key).log_prob()


def test_straight_through_has_the_gradient_of_softmax() -> None:
    query, key, value = (torch.randn(size, dtype=torch.float64) for size in ((3, 4), (5, 4), (5, 2)))
    query.requires_grad_()
    hard = attend(query, key, value, normalize="straight_through")
    assert set(hard.weights().unique().tolist()) <= {0.0, 1.0}
    pull = torch.randn(3, 2, dtype=torch.float64)
    (ours,) = torch.autograd.grad((hard.context * pull).sum(), query)
    (wanted,) = torch.autograd.grad((attend(query, key, value).context * pull).sum(), query)
    torch.testing.assert_close(ours, wanted)


def test_wrong_names_and_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(UnknownName, match="did you mean 'sparsemax'"):
        attend(torch.randn(1, 2), torch.randn(1, 2), torch.randn(1, 2), normalize="sparsmax")
    with pytest.raises(SaccadeError, match="alpha > 1"):
        Entmax(1.0)
