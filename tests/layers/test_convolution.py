"""Light and dynamic convolution: against torch's own, causal, and step by step as all at once."""

from typing import Literal

import pytest
import torch
from torch.nn import functional as F

from saccade.data.tensors import TextInput, padded
from saccade.data.tokenizers import START
from saccade.errors import ShapeError
from saccade.layers.convolution import Convolution
from saccade.search import forced
from tests.systems.samples import batch, model, rows

KINDS: list[Literal["light", "dynamic"]] = ["light", "dynamic"]


@pytest.mark.parametrize("causal", [False, True])
def test_light_convolution_is_a_depthwise_one_with_softmaxed_weights(causal: bool) -> None:
    layer = Convolution(8, 2, 3, causal=causal)
    x = torch.randn(2, 6, 8)
    gated = F.glu(layer.into(x)).transpose(1, 2)
    assert layer.weight is not None
    kernel = layer.weight.softmax(-1).repeat_interleave(4, 0)[:, None]
    padded_x = F.pad(gated, (2, 0) if causal else (1, 1))
    expected = layer.out(F.conv1d(padded_x, kernel, groups=8).transpose(1, 2))
    torch.testing.assert_close(layer(x, None), expected, atol=1e-6, rtol=1e-5)


def test_dynamic_convolution_with_equal_weights_everywhere_is_a_light_one() -> None:
    dynamic, light = Convolution(8, 2, 3, kind="dynamic"), Convolution(8, 2, 3)
    assert dynamic.weight_map is not None
    assert light.weight is not None
    with torch.no_grad():
        dynamic.weight_map.weight.zero_()
        light.weight.zero_()
        light.into.load_state_dict(dynamic.into.state_dict())
        light.out.load_state_dict(dynamic.out.state_dict())
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(dynamic(x, None), light(x, None))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_positive_and_sum_to_one(kind: Literal["light", "dynamic"]) -> None:
    weights = Convolution(8, 2, 5, kind=kind).weights(torch.randn(2, 4, 8))
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_causal_one_does_not_see_the_future(kind: Literal["light", "dynamic"]) -> None:
    layer = Convolution(8, 2, 3, kind=kind, causal=True)
    x = torch.randn(1, 6, 8, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(x, None)[0, 2].sum(), x)
    assert (grad[0, 3:] == 0).all()
    assert (grad[0, :3] != 0).any(-1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_is_nobodys_neighbor(kind: Literal["light", "dynamic"]) -> None:
    layer = Convolution(8, 2, 3, kind=kind)
    x = torch.randn(2, 6, 8)
    dirty = x.clone()
    dirty[0, 4:] = 9.0
    lengths = torch.tensor([4, 6])
    torch.testing.assert_close(layer(x, lengths)[0, :4], layer(dirty, lengths)[0, :4])
    torch.testing.assert_close(layer(x[:1, :4], lengths[:1])[0], layer(x, lengths)[0, :4])


@pytest.mark.parametrize("kind", KINDS)
def test_a_transformer_with_it_writes_as_it_learns(kind: str) -> None:
    made = model("transformer", mixer=kind)
    sources, targets = rows()
    with torch.no_grad():
        told = forced(made, made.read(TextInput(*padded(sources))), targets, start=START, looks=True)
        loss = float(made(batch()).loss)
        alone = sum(float(made(batch([i])).loss) for i in range(len(sources)))
    assert sum(float(one.log_probs.sum()) for one in told) == pytest.approx(-loss, abs=1e-4, rel=1e-5)
    assert alone == pytest.approx(loss, rel=1e-5)
    seen = next(look.weights for look in told[1].looks if look.keys == "written")
    torch.testing.assert_close(seen[:, 1:].sum(-1) > 0, torch.ones(seen[:, 1:].shape[:2], dtype=torch.bool))


def test_an_even_size_is_refused() -> None:
    with pytest.raises(ShapeError, match="odd size"):
        Convolution(8, 2, 4)
