"""Show, ask, attend, and answer: the paper's equations by hand; the length of a cell's vector does not count."""

import numpy as np
import pytest
import torch

from .pictures_and_questions import FUSIONS, batch, cells_of, linear, lstm, made, numbers, softmax, words_of


@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize("fusion", FUSIONS)
def test_it_is_the_equations_written_out(row: int, fusion: str) -> None:
    one, given = made("show_ask_attend_answer", num_glimpses=3, embedding_size=5, fusion=fusion), batch()
    cells = cells_of(one, given, row)
    cells = cells / np.linalg.norm(cells, axis=1, keepdims=True)
    question = lstm(one.question.reader.layers[0][0], np.tanh(words_of(one, given, row)))
    both = np.maximum(linear(one.glimpses.cell_map, cells) + linear(one.glimpses.question_map, question), 0)
    weights = softmax(numbers(one.glimpses.vectors) @ both.T)
    seen = (weights @ cells).ravel()
    side_by_side = fusion == "sum"
    both = linear(one.hidden, np.concatenate((seen, question)) if side_by_side else seen)
    both = both if side_by_side else FUSIONS[fusion](question, both)
    hidden = np.maximum(both, 0)
    np.testing.assert_allclose(numbers(one.logits(given.input))[row], linear(one.output, hidden), atol=1e-4)


def test_only_the_direction_of_a_cell_counts() -> None:
    one, given = made("show_ask_attend_answer", positions=False), batch()
    before = one.logits(given.input)
    grid = one.encoder.picture.picture.forward
    one.encoder.picture.picture.forward = lambda pixels: 7 * grid(pixels)
    torch.testing.assert_close(one.logits(given.input), before)
