"""Show, attend and read: cells judged with their neighbors, a grid or its columns, and all letters at once."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from saccade.attention import attend, looking
from saccade.systems.show_attend_read import NeighborScore

from .tiny import loss_of, options, tiny


def test_the_score_is_the_papers() -> None:
    """Equation 1 with sums written out: F.unfold gives every cell with its eight neighbors, zeros beyond the edge."""
    torch.manual_seed(0)
    rows, columns, width, hidden = 3, 5, 4, 6
    score = NeighborScore(7, width, hidden, (rows, columns), positions=False)
    query, cells = torch.randn(2, 8, 7), torch.randn(2, rows * columns, width)
    around = F.unfold(cells.transpose(1, 2).unflatten(2, (rows, columns)), 3, padding=1).transpose(1, 2)
    keys = around @ score.key_map.weight.flatten(1).T
    scores = torch.tanh(score.query_map(query)[:, :, None] + keys[:, None]) @ score.vector
    expected = scores.softmax(-1) @ cells
    prepared = score.prepare(cells)
    torch.testing.assert_close(prepared.vectors, keys)
    torch.testing.assert_close(attend(query, prepared, cells, score=score).context, expected)


def test_a_neighbor_changes_the_weight_of_a_cell_and_one_farther_off_does_not() -> None:
    torch.manual_seed(0)
    score = NeighborScore(3, 2, 5, (4, 6), positions=True)
    cells = torch.randn(1, 24, 2)
    before = score.prepare(cells).vectors[0, 8]  # row 1, column 2
    for cell, reached in ((15, True), (1, True), (10, False), (20, False)):
        other = cells.clone()
        other[0, cell] += 1
        assert torch.equal(score.prepare(other).vectors[0, 8], before) != reached


@pytest.mark.parametrize(("attention", "grid"), [("2d", (3, 5)), ("1d", (1, 5))])
def test_it_attends_to_cells_or_to_columns(attention: str, grid: tuple[int, int]) -> None:
    one = tiny("show_attend_read", attention=attention)
    assert one.model.cells == (3, 5)
    assert one.model.grid == grid
    best = one.task.predictions(one.model, one.examples, options(looks=True))[0][0]
    assert best.looks[0].weights.shape == (1, len(best.tokens), grid[0] * grid[1])
    axis = one.task.scene(one.model, one.examples[0], best).axes["input"]
    assert axis.grid == grid
    assert axis.image is not None


def test_positions_tell_cells_apart_that_look_alike() -> None:
    cells = torch.ones(1, 35, 3)  # 5 × 7, of which those inside have equal neighbors
    for positions in (True, False):
        keys = NeighborScore(4, 3, 6, (5, 7), positions=positions).prepare(cells).vectors.unflatten(1, (5, 7))[:, 1:-1, 1:-1]
        apart = (keys - keys[:, :1, :1]).abs().amax(-1).flatten()
        assert (apart[1:] > 1e-3).all() == positions
        assert apart.max() > 1e-3 or not positions


def test_one_dimension_does_not_know_in_which_row_a_number_stands() -> None:
    features = torch.randn(2, 64, 3, 5)
    turned = features.flip(2)
    for attention, same in (("1d", True), ("2d", False)):
        model = tiny("show_attend_read", attention=attention).model
        with torch.inference_mode():
            one, other = (model._memory(grid).annotations.keys.vectors for grid in (features, turned))
        assert torch.allclose(one, other) == same


def test_training_attends_to_all_letters_in_one_look() -> None:
    one = tiny("show_attend_read")
    batch = one.batch()
    with looking(one.model) as seen:
        one.model(batch)
    (looks,) = seen.values()
    assert [look.context.shape[:2] for look in looks] == [batch.target.tokens.shape]


def test_what_is_recurrent_keeps_its_precision_where_the_rest_has_16_bits() -> None:
    one = tiny("show_attend_read")
    batch = one.batch()
    with torch.autocast("cpu", torch.bfloat16):
        memory = one.model.read(batch.input)
        loss = one.model(batch).loss
    assert {memory.states.dtype, memory.annotations.values.dtype, memory.annotations.keys.vectors.dtype} == {torch.float32}
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(loss_of(one.model, batch).item(), rel=0.05)


def test_capitals_make_no_difference() -> None:
    one = tiny("show_attend_read")
    shouted = [replace(example, target=example.target.upper()) for example in one.examples]
    plain, loud = (one.task.evaluate(one.model, examples, options()).scores["all"] for examples in (one.examples, shouted))
    assert plain == loud
    assert plain["cer"] > 0
