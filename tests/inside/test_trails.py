"""Attention that is written out by hand is seen in the ways in which people write it; what is not attention is not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.inside import looking
from saccade.inside.trails import Trails

from .families import seen

B, H, Q, K, D = 2, 3, 4, 5, 6
CLOSED = torch.ones(Q, K, dtype=torch.bool).triu(2)
BIAS = torch.randn(B, 1, Q, K)


class Written(nn.Module):
    """An attention in torch's functions; `weights` are those that it used."""

    def __init__(self, written: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self.written = written

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        self.weights, output = self.written(query, key, value)
        return output


def operators(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / D**0.5
    weights = scores.masked_fill(CLOSED, -torch.inf).softmax(-1)
    return weights, F.dropout(weights, 0.5, training=False) @ value


def in_place(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    scores = torch.matmul(query, key.mT)
    scores *= 0.5
    scores += BIAS
    weights = F.softmax(scores.masked_fill_(CLOSED, -1e9), dim=-1, dtype=torch.float32).to(query.dtype)
    return weights, torch.matmul(weights, value)


def einstein(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    query, key, value = (side.transpose(1, 2) for side in (query, key, value))
    weights = torch.softmax(torch.einsum("b q h d, b k h d -> b h q k", query * 0.3, key), dim=3)
    return weights, torch.einsum("bhqk,bkhd->bqhd", weights, value)


def batched(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    query, key, value = (side.flatten(0, 1) for side in (query, key, value))
    scores = torch.bmm(query, key.transpose(1, 2)).view(B, H, Q, K) + BIAS
    weights = F.softmax(scores.view(B * H, Q, K), dim=-1)
    return weights.view(B, H, Q, K), torch.bmm(weights, value)


def capped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    scores = torch.tanh(query @ key.mT / 5) * 5
    weights = torch.where(CLOSED, torch.finfo(scores.dtype).min, scores).softmax(-1)
    return weights, weights @ value


@pytest.mark.parametrize("written", [operators, in_place, einstein, batched, capped])
def test_attention_by_hand(written: Any) -> None:
    own = Written(written)
    sides = torch.randn(B, H, Q, D), torch.randn(B, H, K, D), torch.randn(B, H, K, 7)
    plain = own(*sides)
    with looking(own) as looks:
        assert torch.equal(own(*sides), plain)
    (attended,) = seen(looks)
    assert torch.allclose(attended.weights(), own.weights, atol=1e-6)
    assert torch.allclose(attended.weights(heads=[2], rows=[1, 3]), own.weights[:, 2:, [1, 3]], atol=1e-6)
    assert torch.allclose(attended.context, own.weights @ sides[2], atol=1e-6)


def test_x_transformers() -> None:
    library = pytest.importorskip("x_transformers", reason="x-transformers (of the dev extra) is not installed")
    layers = library.Decoder(dim=16, depth=2, heads=4, rotary_pos_emb=True)
    own = library.TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers).eval()
    ids = torch.randint(20, (2, 8))
    with torch.no_grad():
        plain, expected = own(ids, return_attn=True)
        with looking(own) as looks:
            assert torch.equal(own(ids), plain)
    found = [one.weights() for name in looks for one in seen(looks, name)]
    assert len(found) == len(expected) == 2
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    "written",
    [
        lambda query, key, value: (query, (query @ key.mT).relu() @ value),
        lambda query, key, value: (query, (query @ key.mT).softmax(-2) @ value),
        lambda query, key, value: (query, (query @ key.mT).cumsum(-1).softmax(-1) @ value),
        lambda query, key, value: (query, (query @ key.mT).softmax(-1)),
    ],
    ids=["relu", "other dimension", "other function", "no values"],
)
def test_what_is_not_attention_is_not_seen(written: Any) -> None:
    own = Written(written)
    with pytest.warns(UserWarning, match="no attention was seen"), looking(own) as looks:
        own(torch.randn(B, H, Q, D), torch.randn(B, H, K, D), torch.randn(B, H, K, 7))
    assert dict(looks) == {}


def test_a_layer_is_not_attention() -> None:
    weight = nn.Parameter(torch.randn(6, 9))
    own = Written(lambda query, key, value: (query, (query @ weight).softmax(-1) @ weight.mT))
    with pytest.warns(UserWarning, match="no attention was seen"), looking(own):
        own(torch.randn(4, 6), torch.zeros(1), torch.zeros(1))


def test_a_trail_is_forgotten_with_its_tensor() -> None:
    trails, query = Trails(), torch.randn(3, 4)
    scores = query @ query.mT
    trails.follow(torch.matmul, (query, query.mT), {}, scores)
    assert len(trails) == 1
    del scores
    assert len(trails) == 0
