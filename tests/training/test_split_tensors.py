"""Tensors that processes hold parts of, and plain ones, which stay what they are."""

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from saccade.training.split_tensors import full, like, local

from . import one


def test_a_plain_tensor_is_its_own_part_and_whole() -> None:
    value, weight = torch.arange(3.0), nn.Parameter(torch.zeros(3))
    assert local(value) is value
    assert like(value, weight) is value
    assert torch.equal(full(value), value)
    assert not full(weight).requires_grad


def test_a_split_tensor_comes_back_whole() -> None:
    value = torch.arange(6.0).view(3, 2)
    with one.group() as mesh:
        split = one.split(value, mesh).requires_grad_()
        assert isinstance(split, DTensor)
        assert not isinstance(local(split), DTensor)
        assert torch.equal(local(split), value)
        assert not isinstance(full(split), DTensor)
        assert not full(split).requires_grad
        assert torch.equal(full(split), value)
        laid = like(value + 1, split)
        assert isinstance(laid, DTensor)
        assert laid.placements == split.placements
        assert torch.equal(full(laid), value + 1)
