"""One compiled call for all layers: sizes from 1 up, and rows that do not depend on each other."""

from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.kernels.layer_steps import LayerTable, StepLayer, StepShape
from saccade.kernels.packed_weights import laid_out, rounded, rounded_in_groups
from saccade.kernels.runtime import kernels_on

pytestmark = pytest.mark.skipif(not kernels_on(), reason="kernels are off")


def table(width: int, hidden: int, heads: int, make: object, *, pre: bool = True, crosses: bool = False) -> LayerTable:
    def weight(columns: int, rows: int) -> Any:
        return make(torch.randn(columns, rows) / rows**0.5, torch.randn(columns))  # type: ignore[operator]

    def layer() -> StepLayer:
        cross = [weight(width, width) if crosses else None for _ in range(2)]
        norms = [torch.randn(2, width) for _ in range(3)]
        products = [weight(3 * width, width), weight(width, width), *cross, weight(hidden, width), weight(width, hidden)]
        return StepLayer(*products, norms[0], norms[1] if crosses else None, norms[2])  # type: ignore[call-arg]

    shape = StepShape(heads, hidden, "relu", pre, 1e-5, (width // heads) ** -0.5)
    return LayerTable([layer() for _ in range(2)], shape)


def pools(rows: int, width: int) -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(rows, width), torch.randn(rows, width)) for _ in range(2)]


def rows_alone(made: LayerTable, x: Tensor, places: Tensor, first: int, known: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Each row in a call of its own; its new key and value stand where they stood in the call of all."""
    found = []
    for n in range(len(x)):
        own = [(key.clone(), value.clone()) for key, value in known]
        found.append(made.step(x[n : n + 1], own, first + n, places[n : n + 1])[0])
    return torch.cat(found)


@pytest.mark.parametrize("make", [laid_out, rounded, rounded_in_groups])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 2), (3, 5, 1), (16, 33, 4), (50, 97, 5), (64, 128, 1)])
@pytest.mark.parametrize("pre", [True, False])
def test_a_row_alone_is_the_row_in_a_batch(make: object, sizes: tuple[int, int, int], pre: bool) -> None:
    width, hidden, heads = sizes
    made, x, N = table(width, hidden, heads, make, pre=pre), torch.randn(9, width), 9
    known = pools(40, width)
    places = torch.cat((torch.randint(0, 20, (N, 6)), 20 + torch.arange(N)[:, None]), 1).int()
    alone = rows_alone(made, x, places, 20, known)
    together, written, read = made.step(x, known, 20, places)
    assert torch.equal(together, alone)
    assert written.shape == (2, N, width)
    assert read.shape == (0, N, width)


def test_what_is_not_a_number_stays_in_its_row() -> None:
    made, x = table(16, 32, 2, laid_out), torch.randn(5, 16)
    clean, x[2, 3] = x.clone(), float("nan")
    places = torch.arange(5).int()[:, None]
    wanted, found = (made.step(rows, pools(5, 16), 0, places)[0] for rows in (clean, x))
    assert found[2].isnan().all()
    others = [0, 1, 3, 4]
    assert torch.equal(found[others], wanted[others])


def test_nothing_to_read_adds_nothing_but_the_bias() -> None:
    made, x = table(16, 32, 2, laid_out, crosses=True), torch.randn(4, 16)
    places, kept_places = torch.arange(4).int()[:, None], torch.tensor([[0, 1, 2], [3, 4, 5]], dtype=torch.int32)
    kept = pools(6, 16)
    counts = torch.tensor([3, 0], dtype=torch.int32)
    before = made.step(x, pools(4, 16), 0, places, kept, kept_places, counts)[0]
    for key, value in kept:
        key[3:], value[3:] = float("nan"), float("nan")
    after = made.step(x, pools(4, 16), 0, places, kept, kept_places, counts)[0]
    assert torch.equal(before, after)
    kept[0][1][0] += 1
    changed = made.step(x, pools(4, 16), 0, places, kept, kept_places, counts)[0]
    assert not torch.equal(changed[:2], after[:2])
    assert torch.equal(changed[2:], after[2:])


def test_places_behind_the_length_of_a_text_do_not_count() -> None:
    made, x, known = table(16, 32, 2, laid_out), torch.randn(4, 16), pools(30, 16)
    lengths = torch.tensor([3, 1, 6, 2])
    places = torch.randint(0, 20, (4, 6)).int()
    for n, length in enumerate(lengths.tolist()):
        places[n, length - 1], places[n, length:] = 20 + n, 10**6
    found = made.step(x, known, 20, places, lengths=lengths)[0]
    for n, length in enumerate(lengths.tolist()):
        alone = made.step(x[n : n + 1], known, 20 + n, places[n : n + 1, :length])[0]
        assert torch.equal(found[n : n + 1], alone)
