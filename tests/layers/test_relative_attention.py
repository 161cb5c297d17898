"""The score is that of Transformer-XL with segments, pair by pair; looking changes no bit of it."""

from typing import Any

import pytest
import torch

from saccade.attention import allow, looking
from saccade.errors import UsageError
from saccade.layers.relative_attention import Relations, RelativeAttention
from saccade.training.parallel import split

WIDTH, HEADS, Q, K = 12, 3, 4, 6


def given() -> tuple[RelativeAttention, torch.Tensor, torch.Tensor, Relations, torch.Tensor]:
    torch.manual_seed(2)
    layer = RelativeAttention(WIDTH, HEADS)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    relations = Relations(torch.randn(9, WIDTH), torch.randint(0, 9, (2, Q, K)), torch.rand(2, Q, K) < 0.5)
    seen = torch.rand(2, 1, Q, K) < 0.7
    seen[0, 0, 1] = False
    return layer, torch.randn(2, Q, WIDTH), torch.randn(2, K, WIDTH), relations, seen


def test_each_pair_has_the_score_of_the_papers() -> None:
    layer, query, key, relations, seen = given()
    with looking(layer) as looks, torch.no_grad():
        output = layer(query, key, relations, mask=allow(seen))
    weights = looks[""][0].weights()
    D = WIDTH // HEADS
    for b in range(2):
        for h in range(HEADS):
            part = slice(h * D, (h + 1) * D)
            scores = torch.full((Q, K), -torch.inf)
            for i in range(Q):
                q = layer.query_map.weight[part] @ query[b, i]
                for j in range(K):
                    k = layer.key_map.weight[part] @ key[b, j]
                    r = layer.distance_map.weight[part] @ relations.distances[relations.steps[b, i, j]]
                    s = layer.segments[int(relations.apart[b, i, j]), h]
                    own = (q + layer.content_bias[h]) @ k + (q + layer.distance_bias[h]) @ r
                    if seen[b, 0, i, j]:
                        scores[i, j] = (own + (q + layer.segment_bias[h]) @ s) / D**0.5
            wanted = scores.softmax(-1).nan_to_num(0.0)
            torch.testing.assert_close(weights[b, h], wanted, atol=1e-5, rtol=1e-5)
    pooled = weights @ layer.value_map(key).view(2, K, HEADS, D).transpose(1, 2)
    torch.testing.assert_close(output, layer.output_map(pooled.transpose(1, 2).flatten(-2)), atol=1e-5, rtol=1e-5)
    with torch.no_grad():
        assert torch.equal(layer(query, key, relations, mask=allow(seen)), output)


def test_weights_of_some_rows_and_heads_are_those_of_all() -> None:
    layer, query, key, relations, seen = given()
    with looking(layer) as looks:
        layer(query, key, relations, mask=allow(seen))
    seen_by: Any = looks[""][0]
    whole = seen_by.weights()
    torch.testing.assert_close(seen_by.weights(rows=[3, 1]), whole[:, :, [3, 1]])


def test_processes_cannot_share_its_heads() -> None:
    with pytest.raises(UsageError, match=r"train\.tensor_parallel: expected attention without relative positions"):
        split(RelativeAttention(WIDTH, HEADS), None, 3)


@pytest.mark.parametrize("learns", [False, True])
def test_a_long_text_is_pooled_in_blocks_by_the_same_weights(learns: bool) -> None:
    layer, *_ = given()
    T = 700
    x, steps = torch.randn(1, T, WIDTH), torch.arange(T)[:, None] - torch.arange(T) + T - 1
    relations = Relations(torch.randn(2 * T - 1, WIDTH), steps[None], torch.rand(1, T, T) < 0.5)
    with torch.set_grad_enabled(learns), looking(layer) as looks:
        output = layer(x, x, relations, mask=allow(torch.rand(1, 1, T, T) < 0.8))
    values = layer.value_map(x).view(1, T, HEADS, -1).transpose(1, 2)
    wanted = layer.output_map((looks[""][0].weights() @ values).transpose(1, 2).flatten(-2))
    torch.testing.assert_close(output, wanted, atol=1e-4, rtol=1e-4)
