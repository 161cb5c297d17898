"""Multi-head attention: parity with torch, any score, caches."""

import pytest
import torch
from torch import nn

from saccade.attention import Attended, Sparsemax, causal, lengths, looking
from saccade.layers import MultiHeadAttention


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", [None, (12, 12), (10, 14)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parity_with_torch(bias: bool, widths: tuple[int, int] | None, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    kdim, vdim = widths or (None, None)
    theirs = nn.MultiheadAttention(12, 3, bias=bias, kdim=kdim, vdim=vdim, batch_first=True, dtype=dtype)
    nn.init.normal_(theirs.out_proj.weight)
    if bias:
        nn.init.normal_(theirs.in_proj_bias)
    ours = MultiHeadAttention.from_torch(theirs)
    query = torch.randn(2, 5, 12, dtype=dtype)
    key, value = torch.randn(2, 7, kdim or 12, dtype=dtype), torch.randn(2, 7, vdim or 12, dtype=dtype)
    padding = torch.tensor([7, 4])
    expected, weights = theirs(
        query, key, value, key_padding_mask=torch.arange(7) >= padding[:, None], average_attn_weights=False
    )
    with looking(ours) as looks:
        output = ours(query, key, value, mask=lengths(padding))
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=1e-6)
    look = looks[""][0]
    assert isinstance(look, Attended)
    torch.testing.assert_close(look.weights(), weights, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_dtype_and_device_are_those_of_torchs(dtype: torch.dtype, device: str) -> None:
    theirs = nn.MultiheadAttention(12, 3, dtype=dtype, device=device)
    for ours in MultiHeadAttention.from_torch(theirs).parameters():
        assert (ours.dtype, ours.device.type) == (dtype, device)


def test_causal_parity_with_torch() -> None:
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    x = torch.randn(2, 6, 12)
    closed = torch.ones(6, 6).triu(1).bool()
    expected, _ = theirs(x, x, x, attn_mask=closed)
    torch.testing.assert_close(MultiHeadAttention.from_torch(theirs)(x, mask=causal()), expected, atol=1e-6, rtol=1e-6)


def test_heads_are_separate_attentions_joined() -> None:
    layer, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    maps = (layer.query_map(x), layer.key_map(x), layer.value_map(x))
    contexts = []
    for head in range(3):
        query, key, value = (part[..., 4 * head : 4 * head + 4] for part in maps)
        contexts.append(torch.softmax(query @ key.mT / 2, -1) @ value)
    torch.testing.assert_close(layer(x), layer.output_map(torch.cat(contexts, -1)))


def test_dropout_only_in_training_and_other_normalizers() -> None:
    layer, x = MultiHeadAttention(8, 2, dropout=0.5, normalize=Sparsemax()), torch.randn(2, 5, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    without = MultiHeadAttention(8, 2, normalize=Sparsemax())
    without.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x), without(x))
    softmax = MultiHeadAttention(8, 2)
    softmax.load_state_dict(layer.state_dict())
    assert not torch.allclose(layer(x), softmax(x))


@pytest.mark.parametrize("score", ["scaled_dot", "cosine", "gaussian"])
def test_nan_in_padding_reaches_no_weight(score: str) -> None:
    """Padded inputs full of NaN change neither the other outputs nor any gradient."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2, score=score).double()
    clean, size = torch.randn(2, 5, 8, dtype=torch.float64), torch.tensor([3, 5])
    inside = torch.arange(5) < size[:, None]
    results = []
    for padding in (0.0, torch.nan, torch.inf):
        x = torch.where(inside[..., None], clean, padding)
        output = layer(x, mask=lengths(size))[inside]
        results.append([output, *torch.autograd.grad(output.square().sum(), list(layer.parameters()))])
    for spoiled in results[1:]:
        for one, other in zip(results[0], spoiled, strict=True):
            torch.testing.assert_close(one, other)
