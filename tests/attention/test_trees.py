"""Marginals of dependency trees: by enumeration, as the gradient of log Z, beside torch-struct, and safe for long texts."""

from collections.abc import Iterator
from itertools import product

import pytest
import torch

from saccade.attention.trees import tree_marginals
from saccade.errors import ShapeError


def trees(count: int) -> Iterator[tuple[int, ...]]:
    """The head of each word, its own number for the root: all assignments with one root and no circle."""
    for heads in product(range(count), repeat=count):
        if sum(head == word for word, head in enumerate(heads)) == 1 and all(_reaches(word, heads) for word in range(count)):
            yield heads


def _reaches(word: int, heads: tuple[int, ...]) -> bool:
    """Whether the way over heads ends at the root."""
    for _ in heads:
        word = heads[word]
    return heads[word] == word


@pytest.mark.parametrize("count", range(1, 7))
def test_marginals_are_those_of_all_trees(count: int) -> None:
    torch.manual_seed(count)
    scores = (2 * torch.randn(count, count, dtype=torch.float64)).requires_grad_()
    rows = torch.arange(count)
    sums = torch.stack([scores[rows, list(heads)].sum() for heads in trees(count)])
    assert len(sums) == count ** (count - 1)  # Cayley's formula, with a root
    (expected,) = torch.autograd.grad(sums.logsumexp(0), scores)
    torch.testing.assert_close(tree_marginals(scores), expected, atol=1e-9, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("count", [8, 13, 30])
def test_it_is_what_torch_struct_computes(count: int) -> None:
    import torch_struct

    torch.manual_seed(count)
    scores = torch.randn(2, count, count, dtype=torch.float64)
    # Its rows are heads, and its diagonal roots.
    expected = torch_struct.NonProjectiveDependencyCRF(scores.transpose(1, 2)).marginals.transpose(1, 2)
    torch.testing.assert_close(tree_marginals(scores), expected, atol=1e-4, rtol=1e-4)  # theirs adds 1e-5 to what it inverts


def test_words_that_fill_a_batch_up_change_nothing() -> None:
    scores = torch.randn(2, 7, 7)
    live = torch.arange(7) < torch.tensor([[7], [4]])
    found = tree_marginals(scores, live)
    torch.testing.assert_close(found[1, :4, :4], tree_marginals(scores[1, :4, :4]))
    assert (found[1, 4:] == 0).all()
    assert (found[1, :, 4:] == 0).all()


def test_the_gradient_is_the_derivative() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 4, 4, dtype=torch.float64, requires_grad=True)
    live = torch.tensor([[True] * 4, [True, True, True, False]])
    assert torch.autograd.gradcheck(lambda one: tree_marginals(one, live), (scores,))


@pytest.mark.parametrize("loud", [1.0, 30.0, 1000.0])
def test_long_texts_are_safe_in_float32(loud: float) -> None:
    torch.manual_seed(0)
    scores = (loud * torch.randn(200, 200)).requires_grad_()
    found = tree_marginals(scores)
    torch.testing.assert_close(found.sum(-1), torch.ones(200), atol=1e-3, rtol=0)
    torch.testing.assert_close(found.diagonal().sum(), torch.tensor(1.0), atol=1e-3, rtol=0)
    found.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"as many heads as words, got \(3, 4\)"):
        tree_marginals(torch.zeros(3, 4))


def test_no_words_have_no_heads() -> None:
    assert tree_marginals(torch.zeros(0, 0)).shape == (0, 0)
