"""Heads left out: their contexts are zero on every path, and nothing is left behind."""

import pytest
import torch
from torch import Tensor, nn

from saccade.errors import UsageError
from saccade.layers.ablated_heads import stacks, without_heads
from saccade.layers.cache import KeyValueCache, Past
from saccade.layers.multihead import MultiHeadAttention

from ..systems.tiny import tiny


def by_hand(layer: MultiHeadAttention, x: Tensor, heads: list[int]) -> Tensor:
    """The output where these heads pool nothing."""
    maps = (layer.query_map(x), layer.key_map(x), layer.value_map(x))
    contexts = []
    for head in range(layer.heads):
        query, key, value = (part[..., 4 * head : 4 * head + 4] for part in maps)
        contexts.append(torch.softmax(query @ key.mT / 2, -1) @ value * (head not in heads))
    output: Tensor = layer.output_map(torch.cat(contexts, -1))
    return output


def test_a_head_that_is_left_out_adds_nothing() -> None:
    layer, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    before = layer(x)
    with without_heads(layer, ["1.1"]):
        assert torch.allclose(layer(x), by_hand(layer, x, [1]), atol=1e-6)
    with without_heads(layer, ["1.0", "1.2"]), torch.no_grad():
        assert torch.allclose(layer(x), by_hand(layer, x, [0, 2]), atol=1e-6)
    with without_heads(layer, ["1"]):
        assert torch.equal(layer(x), layer.output_map(torch.zeros_like(x)))
    assert torch.equal(layer(x), before)
    assert not layer.output_map._forward_pre_hooks


def test_steps_leave_it_out_too() -> None:
    """Also on the fast path of a search, which gives what the whole text gives."""
    layer, x = MultiHeadAttention(12, 3).eval(), torch.randn(1, 1, 12)
    with torch.inference_mode(), without_heads(layer, ["1.1"]):
        cache = KeyValueCache()
        stepped = layer.step(x, Past.none(1, x.device).with_steps(cache.used), cache).output
        assert torch.allclose(stepped, by_hand(layer, x, [1]), atol=1e-6)


def test_nothing_is_left_behind_by_an_error() -> None:
    layer = MultiHeadAttention(12, 3)
    with pytest.raises(RuntimeError), without_heads(layer, ["1"]):
        layer(torch.randn(1, 2, 7))
    assert not layer.output_map._forward_pre_hooks


class Pair(nn.Module):
    """Two stacks."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.ModuleList(nn.ModuleDict({"mixer": MultiHeadAttention(8, 2)}) for _ in range(2))
        self.decoder = nn.ModuleList(nn.ModuleDict({"cross": MultiHeadAttention(8, 2)}) for _ in range(3))


def test_stacks_have_the_names_of_what_they_are() -> None:
    assert {name: len(layers) for name, layers in stacks(Pair()).items()} == {"encoder": 2, "cross": 3}
    transformer = tiny("transformer").model
    assert set(stacks(transformer)) == {"encoder", "decoder", "cross"}
    for name in ("gpt2", "bert"):
        assert len(stacks(tiny(name).model)) == 1


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        (["3.5"], r"without: expected one of encoder\.3\.5, cross\.3\.5, got '3\.5'"),
        (["decoder.1"], r"without: expected one of encoder\.1, cross\.1, got 'decoder\.1'"),
        (["cross.4"], r"without: expected a layer from 1 to 3, got 4 in 'cross\.4'"),
        (["cross.0.1"], r"without: expected a layer from 1 to 3, got 0 in 'cross\.0\.1'"),
        (["encoder.2.2"], r"without: expected a head from 0 to 1, got 2 in 'encoder\.2\.2'"),
        (["encoder.-1"], r"without: expected layer\.head, such as 3\.5, or a layer, such as 3, got 'encoder\.-1'"),
        ([], "without: expected heads"),
        ("1.1", "without: expected heads"),
    ],
)
def test_what_is_wrong_is_said(heads: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said), without_heads(Pair(), heads):
        pass


def test_other_systems_are_refused() -> None:
    with (
        pytest.raises(UsageError, match="without: expected a model of multi-head attention"),
        without_heads(nn.Linear(2, 2), ["1.1"]),
    ):
        pass
