"""Ask, attend and answer: the paper's equations by hand, and the weights of the first hop shared out among the words."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from .looks import weights_of
from .pictures_and_questions import FUSIONS, batch, cells_of, linear, made, numbers, softmax, words_of


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize(("fusion", "joined"), FUSIONS.items())
def test_it_is_the_equations_written_out(hops: int, row: int, fusion: str, joined: Callable[..., Any]) -> None:
    one, given = made("ask_attend_answer", num_hops=hops, fusion=fusion), batch()
    words, cells = words_of(one, given, row), cells_of(one, given, row)
    evidence = [linear(layer, cells) for layer in one.evidence_maps]
    weights = [softmax((words @ linear(one.key_map, cells).T).max(0))]
    found = joined(linear(one.question_map, words.mean(0)), weights[0] @ evidence[0])
    for keys, own in pairwise(evidence):
        weights.append(softmax(keys @ found))
        found = joined(found, weights[-1] @ own)
    logits = linear(one.output, np.maximum(found, 0))
    np.testing.assert_allclose(numbers(one.logits(given.input))[row], logits, atol=1e-4)
    np.testing.assert_allclose(numbers(weights_of(one, given)["hops"])[row, 0], weights, atol=1e-5)


def test_each_cell_is_that_of_the_word_that_fits_it_best() -> None:
    one, given = made("ask_attend_answer"), batch()
    looks = weights_of(one, given)
    shared, first = looks["hop 1, word by word"][:, 0], looks["hops"][:, 0, 0]
    torch.testing.assert_close(shared.sum(1), first)
    assert ((shared > 0).sum(1) == 1).all()
    torch.testing.assert_close(looks["words"][:, 0, 0], shared.sum(-1))
    for row, length in enumerate(given.input.question.lengths.tolist()):
        fits = words_of(one, given, row) @ linear(one.key_map, cells_of(one, given, row)).T
        assert (shared[row].argmax(0).numpy() == fits.argmax(0)).all()
        assert not shared[row, length:].any()
