"""Which positions are live."""

import torch

from saccade.attention.live import live


def test_positions_before_the_length_are_live() -> None:
    found = live(torch.tensor([0, 2, 3]), 3)
    assert found.tolist() == [[False, False, False], [True, True, False], [True, True, True]]


def test_lengths_may_have_any_dimensions() -> None:
    found = live(torch.tensor([[1], [2]]), 2)
    assert found.tolist() == [[[True, False]], [[True, True]]]
    assert live(torch.tensor(1), 2).tolist() == [True, False]
