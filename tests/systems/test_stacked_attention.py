"""Stacked attention: the paper's equations by hand; each hop adds what it found to the question."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from .looks import weights_of
from .pictures_and_questions import FUSIONS, batch, cells_of, linear, lstm, made, numbers, softmax, words_of


@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize(("fusion", "joined"), FUSIONS.items())
def test_it_is_the_equations_written_out(hops: int, row: int, fusion: str, joined: Callable[..., Any]) -> None:
    one, given = made("stacked_attention", num_hops=hops, embedding_size=5, fusion=fusion), batch()
    cells = np.tanh(linear(one.cell_map, cells_of(one, given, row)))
    found, weights = lstm(one.question.reader.layers[0][0], words_of(one, given, row)), []
    for hop in one.hops:
        both = np.tanh(linear(hop.cell_map, cells) + linear(hop.query_map, found))
        weights.append(softmax(both @ numbers(hop.vector)))
        found = joined(found, weights[-1] @ cells)
    np.testing.assert_allclose(numbers(one.logits(given.input))[row], linear(one.output, found), atol=1e-4)
    np.testing.assert_allclose(numbers(weights_of(one, given)["hops"])[row, 0], weights, atol=1e-5)


def test_a_hop_that_finds_nothing_leaves_the_question_as_it_is() -> None:
    one = made("stacked_attention")
    query = torch.randn(2, 6)
    torch.testing.assert_close(one.hops[0](torch.zeros(2, 4, 6), query), query)
