"""Positions: the paper's formula, what it promises, and where learned ones end."""

import math
from typing import Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from saccade.data.tokenizers import learned_layout
from saccade.errors import ShapeError, UnknownName
from saccade.layers.position_embeddings import Learned, Sinusoidal, make_positions, sinusoids
from saccade.systems.transformer import Config, Model

WIDTHS = [1, 2, 7, 8, 64, 513]


def formula(first: int, last: int, width: int) -> NDArray[np.float64]:
    """One number after the other, as the paper writes it."""
    table = np.empty((last - first, width))
    for p in range(first, last):
        for d in range(width):
            angle = p / 10000 ** (2 * (d // 2) / width)
            table[p - first, d] = math.sin(angle) if d % 2 == 0 else math.cos(angle)
    return table


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("first", "last"), [(0, 9), (5, 12), (1000, 1003), (3, 3)])
def test_sinusoids_are_the_formula(width: int, first: int, last: int) -> None:
    found = sinusoids(first, last, width)
    assert found.dtype == torch.float32
    assert found.shape == (last - first, width)
    np.testing.assert_allclose(found.numpy(), formula(first, last, width), atol=1e-7)


@pytest.mark.parametrize("width", WIDTHS)
def test_halves_are_the_same_numbers_in_another_order(width: int) -> None:
    """All sines, then all cosines."""
    order = [*range(0, width, 2), *range(1, width, 2)]
    assert torch.equal(sinusoids(0, 20, width, halves=True), sinusoids(0, 20, width)[:, order])


@pytest.mark.parametrize("shift", [1, 7, 100])
def test_a_shift_is_one_rotation_whatever_the_position(shift: int) -> None:
    """PE(p + k) = R(k) PE(p): what the paper hopes attention to use."""
    width, table = 16, sinusoids(0, 300, 16).double()
    rotation = torch.zeros(width, width, dtype=torch.float64)
    for d in range(0, width, 2):
        angle = shift / 10000 ** (d / width)
        cos, sin = math.cos(angle), math.sin(angle)
        rotation[d : d + 2, d : d + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(width, dtype=torch.float64))
    torch.testing.assert_close(table[:-shift] @ rotation.T, table[shift:], atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["sinusoidal", "sinusoidal_halves"])
def test_a_table_that_grows_stays_the_same(name: str) -> None:
    positions = make_positions(name, 6, longest=3)
    assert isinstance(positions, Sinusoidal)
    halves = name == "sinusoidal_halves"
    for first, last in ((0, 3), (2, 70), (69, 70), (0, 500), (0, 3)):
        assert torch.equal(positions(first, last), sinusoids(first, last, 6, halves=halves))
    assert not list(positions.parameters())
    assert not positions.state_dict()


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_sinusoids_follow_their_module(dtype: torch.dtype, grown: bool) -> None:
    positions = make_positions("sinusoidal", 6, longest=3)
    if grown:
        positions(0, 100)
    positions.to(dtype)
    for first, last in ((0, 9), (5, 80), (0, 300)):
        found = positions(first, last)
        assert found.dtype == dtype
        assert torch.equal(found, sinusoids(first, last, 6).to(dtype))
    assert positions.float()(0, 9).dtype == torch.float32
    assert torch.equal(positions(0, 9), sinusoids(0, 9, 6))
    assert positions.to("meta")(0, 9).device.type == "meta"


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_model_computes_in_its_dtype(dtype: torch.dtype, name: Literal["sinusoidal", "learned"]) -> None:
    config = Config(
        hidden_size=8, num_heads=2, intermediate_size=8, encoder_layers=1, decoder_layers=1, positions=name, dropout=0.0
    )
    model, source, lengths = (
        Model(config, learned_layout(9), learned_layout(9)),
        torch.randint(4, 9, (2, 5)),
        torch.tensor([5, 3]),
    )
    wanted = model.encode(source, lengths)
    found = model.to(dtype).encode(source, lengths)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), wanted, atol=0.1 if dtype == torch.bfloat16 else 1e-5, rtol=0)


def test_learned_positions_are_weights_and_refuse_a_longer_text() -> None:
    positions = make_positions("learned", 6, longest=5)
    assert isinstance(positions, Learned)
    assert [tuple(weight.shape) for weight in positions.parameters()] == [(5, 6)]
    assert torch.equal(positions(2, 5), positions.table[2:5])
    with pytest.raises(ShapeError) as error:
        positions(0, 6)
    assert str(error.value) == "learned positions end at 5, got a text of 6; set model.max_positions"


def test_unknown_positions_are_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'sinusoidal'"):
        make_positions("sinusoid", 6, longest=5)
