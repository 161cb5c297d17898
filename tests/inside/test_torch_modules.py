"""The attention of torch's own modules, also on their fast path, which stays open and gives the same bits."""

from typing import Any

import pytest
import torch
from torch import nn

from saccade.inside import looking

from .families import seen

PADDING = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
FUTURE = torch.ones(6, 6, dtype=torch.bool).triu(1)


@pytest.mark.parametrize(
    "masks",
    [{}, {"key_padding_mask": PADDING}, {"attn_mask": FUTURE}, {"attn_mask": torch.randn(8, 6, 6)}],
    ids=["open", "padding", "causal", "bias"],
)
@pytest.mark.parametrize("need_weights", [True, False], ids=["slow", "fast"])
def test_multihead_attention(masks: dict[str, Any], need_weights: bool) -> None:
    own, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 6, 16)
    with torch.no_grad():
        plain = own(x, x, x, need_weights=need_weights, **masks)[0]
        expected = own(x, x, x, average_attn_weights=False, **masks)[1]
        with looking(own) as looks:
            watched = own(x, x, x, need_weights=need_weights, **masks)[0]
    (attended,) = seen(looks)
    assert torch.equal(plain, watched)
    assert torch.allclose(attended.weights(), expected, atol=1e-6)
    assert torch.allclose(own.out_proj(attended.context.transpose(1, 2).flatten(2)), plain, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [{"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 5, "vdim": 7}, {"bias": False}],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.parametrize("batched", [True, False])
def test_multihead_attention_of_every_kind(options: dict[str, Any], batched: bool) -> None:
    own = nn.MultiheadAttention(16, 4, **options).eval()
    shape = (2,) if batched else ()
    query, key, value = (torch.randn(5, *shape, width) for width in (16, own.kdim, own.vdim))
    padding = PADDING[:, 1:] if batched else PADDING[1, 1:]
    with torch.no_grad(), looking(own) as looks:
        expected = own(query[:3], key, value, key_padding_mask=padding, average_attn_weights=False)[1]
    weights = seen(looks)[0].weights()
    assert torch.allclose(weights if batched else weights[0], expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("padding", [None, PADDING], ids=["open", "padding"])
def test_the_fast_path_of_an_encoder(norm_first: bool, padding: torch.Tensor | None) -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    own, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval(), torch.randn(2, 6, 16)
    with torch.no_grad():
        plain = own(x, src_key_padding_mask=padding)
        with looking(own) as looks:
            watched = own(x, src_key_padding_mask=padding)
    with looking(own) as slow:  # with gradients the layers take torch's other path
        own(x, src_key_padding_mask=padding)
    assert torch.equal(plain, watched)
    assert list(looks) == list(slow) == ["layers.0.self_attn", "layers.1.self_attn"]
    rows = slice(0, 4)  # behind them a nested tensor has nothing
    for name in looks:
        fast, other = seen(looks, name)[0].weights()[:, :, rows], seen(slow, name)[0].weights()[:, :, rows]
        assert fast.shape[-1] == 6
        assert torch.allclose(fast, other, atol=1e-6)


def test_a_whole_transformer() -> None:
    own = nn.Transformer(16, 4, 1, 1, 32, batch_first=True).eval()
    source, target = torch.randn(2, 6, 16), torch.randn(2, 5, 16)
    mask = own.generate_square_subsequent_mask(5)
    with torch.no_grad():
        plain = own(source, target, tgt_mask=mask, tgt_is_causal=True)
        with looking(own) as looks:
            watched = own(source, target, tgt_mask=mask, tgt_is_causal=True)
    assert torch.equal(plain, watched)
    shapes = {name: tuple(seen(looks, name)[0].weights().shape) for name in looks}
    assert shapes == {
        "encoder.layers.0.self_attn": (2, 4, 6, 6),
        "decoder.layers.0.self_attn": (2, 4, 5, 5),
        "decoder.layers.0.multihead_attn": (2, 4, 5, 6),
    }
    assert seen(looks, "decoder.layers.0.self_attn")[0].weights().triu(1).max() == 0
