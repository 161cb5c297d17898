"""Additive attention in one call: the softmax of its scores over the live keys, however large they are."""

import pytest
import torch

from saccade.kernels import additive_pool, pooling_on
from saccade.kernels.additive import scores_definition


@pytest.mark.parametrize("loud", [1.0, 300.0])
def test_it_is_the_softmax_of_the_scores_whatever_their_size(loud: float) -> None:
    sizes = ((2, 3, 5), (2, 7, 5), (5,), (2, 7, 4))
    query, key, scaled, value = inputs = [torch.randn(size) for size in sizes]
    scaled *= loud
    live = torch.arange(7) < torch.tensor([[7], [4]])
    if not pooling_on(query, key, value, scaled):
        pytest.skip("no kernels here")
    for part in inputs:
        part.requires_grad_()
    found = additive_pool(query, key, scaled, value, live)
    scores = scores_definition(query, key, scaled).masked_fill(~live[:, None], -torch.inf)
    assert loud == 1 or scores.max() > 100  # beyond what float32 can raise e to
    expected = scores.softmax(-1) @ value
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    pull = torch.randn_like(found)
    for one, other in zip(*(torch.autograd.grad(context, inputs, pull) for context in (found, expected)), strict=True):
        torch.testing.assert_close(one, other, atol=1e-3 * loud, rtol=1e-3)
