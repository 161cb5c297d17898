"""All layers in one compiled call: equal to layer after layer in every form, and only where that is all there is to do."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import causal, window
from saccade.kernels.runtime import kernels_on
from saccade.layers.ablated_heads import without_heads
from saccade.layers.cache import KeyValues, Past
from saccade.layers.feed_forward import FeedForward
from saccade.layers.linear import at_rest
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.transformer_blocks import DecoderLayer, EncoderLayer, SelfAttention
from saccade.layers.writing_layers import LayersOutput, WritingLayers

WIDTH, HEADS, HIDDEN, LAYERS = 24, 3, 70, 3
needs_kernels = pytest.mark.skipif(not kernels_on(), reason="kernels are off")


def made(norm: Any = "pre", activation: str = "gelu_tanh", *, crosses: bool = False, mask: Any = None, **kind: Any) -> Any:
    """Layers whose every parameter matters."""

    def layer() -> nn.Module:
        mixer = SelfAttention(MultiHeadAttention(WIDTH, HEADS, **kind), lambda lengths: causal() if mask is None else mask)
        network = FeedForward(WIDTH, HIDDEN, activation)
        if crosses:
            return DecoderLayer(mixer, MultiHeadAttention(WIDTH, HEADS), network, WIDTH, 0.1, norm)
        return EncoderLayer(mixer, network, WIDTH, 0.1, norm)

    layers = nn.ModuleList(layer() for _ in range(LAYERS)).eval()
    for parameter in layers.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return layers


def of(layers: Any) -> WritingLayers:
    return WritingLayers(list(layers))


def memory(layers: Any, inputs: int) -> list[KeyValues]:
    read = torch.randn(inputs, 5, WIDTH)
    with torch.no_grad():
        return [layer.keep(read, torch.arange(inputs) % 6) for layer in layers]


def walked(writing: WritingLayers, given: Tensor, kept: Any, *, at_once: bool) -> list[LayersOutput]:
    """A prompt of three, then steps of two hypotheses that change places."""
    writing.laid.alike = writing.laid.alike and at_once
    B, T, W = given.shape[:3]
    past, outputs = Past.none(B).with_steps(0, 3), []
    with torch.inference_mode():
        outputs.append(writing.step(given[:, :3, 0], past, kept))
        past = past.select(torch.arange(B), torch.zeros(B, W, dtype=torch.long))
        for t in range(3, T):
            past = past.with_steps(writing.used)
            outputs.append(writing.step(given[:, t], past, kept))
            past = past.select(torch.arange(B), torch.randint(0, W, (B, W), generator=torch.manual_seed(t)))
    return outputs


def differences(one: list[LayersOutput], other: list[LayersOutput]) -> float:
    """The largest, of what came out and of where it looked at the last step."""
    pairs = [(a.output, b.output) for a, b in zip(one, other, strict=True)]
    for side in ("written", "read"):
        pairs += [(a(), b()) for a, b in zip(getattr(one[-1], side), getattr(other[-1], side), strict=True)]
    return max(float((a - b).abs().max()) for a, b in pairs)


CASES = list(itertools.product(("pre", "post"), ("relu", "gelu", "gelu_tanh", "swish"), (False, True)))


@needs_kernels
@pytest.mark.parametrize(("norm", "activation", "crosses"), CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_at_once_is_one_by_one(norm: str, activation: str, crosses: bool, threads: int) -> None:
    layers, given = made(norm, activation, crosses=crosses), torch.randn(4, 9, 2, WIDTH)
    kept = memory(layers, 4) if crosses else ()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        fast = walked(of(layers), given, kept, at_once=True)
    finally:
        torch.set_num_threads(before)
    plain = walked(of(layers), given, kept, at_once=False)
    assert len(fast[-1].written) == LAYERS
    assert len(fast[-1].read) == LAYERS * crosses
    assert differences(fast, plain) < 2e-5


@needs_kernels
@pytest.mark.parametrize("precision", ["int8", "int4"])
@pytest.mark.parametrize("crosses", [False, True])
def test_with_rounded_weights(precision: Any, crosses: bool) -> None:
    layers, given = made(crosses=crosses), torch.randn(5, 6, 2, WIDTH)
    kept = memory(layers, 5) if crosses else ()
    with at_rest(precision):
        fast = walked(of(layers), given, kept, at_once=True)
        plain = walked(of(layers), given, kept, at_once=False)
    exact = walked(of(layers), given, kept, at_once=False)
    assert differences(fast, plain) < 1e-2
    assert differences(fast, exact) > 1e-2


@needs_kernels
def test_a_step_calls_the_layers_only_where_it_must() -> None:
    layers, x = made(), torch.randn(2, 1, WIDTH)
    assert of(layers).laid.takes(x)
    assert not of(layers).laid.takes(x.double())
    assert not of(layers).laid.takes(x.clone().requires_grad_())
    assert not of(made(mask=causal() & window(2))).laid.takes(x)
    assert not of(made(score="dot")).laid.takes(x)
    assert not of(made(normalize="sparsemax")).laid.takes(x)
    assert not of(layers.double()).laid.takes(x)
    assert not of(made().train()).laid.takes(x)


@needs_kernels
def test_layers_that_differ_come_one_after_another() -> None:
    layers = [made("pre")[0], made("post")[0]]
    assert not of(layers).laid.takes(torch.randn(2, 1, WIDTH))


@needs_kernels
def test_heads_that_are_left_out_stay_so() -> None:
    model = made()
    given = torch.randn(2, 5, 1, WIDTH)
    whole = walked(of(model), given, (), at_once=True)[-1].output
    with without_heads(nn.ModuleDict({"layers": model}), ["2.1"]):
        fast = walked(of(model), given, (), at_once=True)[-1].output
        plain = walked(of(model), given, (), at_once=False)[-1].output
    assert torch.equal(fast, plain)
    assert not torch.allclose(fast, whole, atol=1e-3)


def test_an_older_state_goes_on_being_right() -> None:
    layers, given = made(), torch.randn(1, 3, WIDTH)
    writing, past = of(layers), Past.none(1)
    with torch.inference_mode():
        first = past.with_steps(writing.used)
        writing.step(given[:, :1], first)
        second = first.with_steps(writing.used)
        wanted = writing.step(given[:, 1:2], second).output
        writing.step(given[:, 2:], second.with_steps(writing.used))
        again = first.with_steps(writing.used)
        assert torch.equal(writing.step(given[:, 1:2], again).output, wanted)


def test_the_same_weights_before_the_first_position() -> None:
    layers, given = made(), torch.randn(2, 1, WIDTH)
    writing = of(layers)
    with torch.inference_mode():
        wanted = writing.step(given, Past.none(2).with_steps(0)).output
        fresh = writing.fresh()
        assert fresh.used == 0
        assert fresh.laid is writing.laid
        assert torch.equal(fresh.step(given, Past.none(2).with_steps(0)).output, wanted)
