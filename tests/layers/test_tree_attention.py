"""Attention to likely heads: their mean by the marginals, the root at nothing, padding at nothing."""

import torch

from saccade.attention import looking
from saccade.layers.tree_attention import TreeAttention


def test_each_word_gets_its_possible_heads_by_how_likely_they_are() -> None:
    torch.manual_seed(0)
    layer, words, sizes = TreeAttention(5, 8), torch.randn(2, 6, 5), torch.tensor([6, 3])
    with looking(layer) as looks:
        context = layer(words, sizes)
    heads = layer.heads(words, sizes)
    own = torch.eye(6, dtype=torch.bool)
    torch.testing.assert_close(heads[0].sum(-1), torch.ones(6), atol=1e-5, rtol=0)
    torch.testing.assert_close(heads[0].diagonal().sum(), torch.tensor(1.0), atol=1e-5, rtol=0)
    between = heads.masked_fill(own, 0)
    torch.testing.assert_close(context, between @ words)
    torch.testing.assert_close(looks[""][0].weights(), between)
    torch.testing.assert_close(layer(words[1:, :3], sizes[1:]), context[1:, :3], atol=1e-5, rtol=1e-5)
    assert (context[1, 3:] == 0).all()


def test_every_parameter_learns() -> None:
    torch.manual_seed(0)
    layer = TreeAttention(5, 8)
    layer(torch.randn(2, 4, 5), torch.tensor([4, 4])).square().sum().backward()
    unmoved = {name for name, one in layer.named_parameters() if one.grad is None or not one.grad.abs().max() > 0}
    assert not unmoved
