"""Which positions are live."""

import torch

from saccade.attention.live import live


def test_positions_before_the_length_are_live():
    found = live(torch.tensor([0, 2, 3]), 3)
    assert found.tolist() == [[False, False, False], [True, True, False], [True, True, True]]
