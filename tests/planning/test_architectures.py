"""Closed-form counts equal modules: ours, and those of transformers, on the meta device; FLOPs equal torch's counter."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from saccade.data.tensors import Batch, TextInput, TextTarget
from saccade.data.tokenizers import Vocabulary
from saccade.planning.architectures import Architecture, forward_flops, parameters, total, training_flops
from saccade.planning.models import MODELS
from saccade.systems import gpt2, transformer

# As counted when the table was made; a change of a formula must not go unseen.
COUNTS = {
    "transformer-base": 63_084_544,
    "transformer-big": 214_249_472,
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "xlnet-large": 360_268_800,
    "roberta-large": 355_359_744,
    "gpt2-small": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "megatron-1.2b": 1_213_479_936,
    "megatron-2.5b": 2_490_408_960,
    "megatron-4.2b": 4_199_109_120,
    "megatron-8.3b": 8_317_040_640,
}
B, K, T, VOCABULARY = 3, 7, 10, 101


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _of(shape: Architecture) -> Any:
    """The model of transformers with these sizes."""
    sizes = {"vocab_size": shape.vocabulary}
    encoder = {
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.segments,
    }
    if shape.kind == "two-stream":
        own = {"d_model": shape.width, "n_layer": shape.layers, "n_head": shape.heads, "d_inner": shape.inner}
        return transformers.XLNetModel(transformers.XLNetConfig(**sizes, **own))
    if shape.kind == "decoder":
        own = {"n_embd": shape.width, "n_layer": shape.layers, "n_head": shape.heads, "n_positions": shape.positions}
        return transformers.GPT2Model(transformers.GPT2Config(**sizes, **own))
    if shape.segments == 1:
        return transformers.RobertaModel(transformers.RobertaConfig(**sizes, **encoder))
    return transformers.BertModel(transformers.BertConfig(**sizes, **encoder))


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("transformer-")])
def test_counts_are_those_of_transformers(name: str) -> None:
    with torch.device("meta"):
        assert total(MODELS[name].shape) == count(_of(MODELS[name].shape)) == COUNTS[name]


@pytest.mark.parametrize("name", ["transformer-base", "transformer-big"])
def test_counts_are_those_of_our_transformer(name: str) -> None:
    preset = transformer.PRESETS[name.partition("-")[2]]
    known = Vocabulary(size=preset["tokens"]["size"], pad=0, start=1, end=2)
    with torch.device("meta"):
        model = transformer.Model(transformer.Config(**preset["model"]), known, known)
    assert total(MODELS[name].shape) == count(model) == COUNTS[name]


@pytest.mark.parametrize("size", ["small", "medium", "large", "xl"])
def test_counts_are_those_of_our_gpt2(size: str) -> None:
    preset = gpt2.PRESETS[size]
    known = Vocabulary(size=preset["tokens"]["size"], pad=0, start=1, end=2)
    with torch.device("meta"):
        model = gpt2.Model(gpt2.Config(**preset["model"]), known, preset["writer"]["context_length"])
    assert total(MODELS[f"gpt2-{size}"].shape) == count(model)


def test_megatron_without_filling_up() -> None:
    shape = MODELS["megatron-8.3b"].shape
    assert total(shape) - (51_200 - 50_257) * shape.width == 8_314_143_744
    assert sum(parameters(shape).values()) == total(shape)


def _target() -> TextTarget:
    tokens = torch.randint(3, VOCABULARY, (B, T))
    return TextTarget(tokens, torch.full((B,), T), torch.full((B,), 1))


def _gpt2() -> tuple[nn.Module, Batch, dict[str, int]]:
    config = gpt2.Config(hidden_size=32, num_layers=2, num_heads=4)
    shape = Architecture(
        kind="decoder", layers=2, width=32, heads=4, inner=128, vocabulary=VOCABULARY, positions=16, final_norms=1
    )
    model = gpt2.Model(config, Vocabulary(size=VOCABULARY, pad=0, start=1, end=2), 16)
    assert count(model) == total(shape)
    return model, Batch(None, _target()), forward_flops(shape, sequences=B, context=T)


def _transformer() -> tuple[nn.Module, Batch, dict[str, int]]:
    sizes = {"hidden_size": 32, "num_heads": 4, "intermediate_size": 64, "encoder_layers": 2, "decoder_layers": 3}
    shape = Architecture(
        kind="encoder-decoder", layers=2, decoder_layers=3, width=32, heads=4, inner=64, vocabulary=VOCABULARY, final_norms=2
    )
    known = Vocabulary(size=VOCABULARY, pad=0, start=1, end=2)
    model = transformer.Model(transformer.Config(**sizes, final_norm="both"), known, known)  # type: ignore[arg-type]
    assert count(model) == total(shape)
    read = TextInput(torch.randint(3, VOCABULARY, (B, K)), torch.full((B,), K))
    return model, Batch(read, _target()), forward_flops(shape, sequences=B, context=T, source=K)


@pytest.mark.parametrize("made", [_gpt2, _transformer])
def test_flops_are_those_that_torch_counts(made: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and backward together; the output layer's gradients are made on the way forward, and are counted there."""
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    model, batch, expected = made()
    with FlopCounterMode(display=False) as forward:
        loss = model(batch).loss
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    own = sum(expected.values())
    assert forward.get_total_flops() == own + 2 * expected["output layer"]
    assert backward.get_total_flops() == 2 * (own - expected["output layer"])


def test_recomputation_is_narayanans_formula() -> None:
    """96 B s L D² (1 + s / 6 D + V / 16 L D), Narayanan et al. 2021, equation 3."""
    shape, s, tokens = MODELS["megatron-8.3b"].shape, 1024, 1e9
    L, D, V = shape.layers, shape.width, shape.vocabulary
    exact = 96 * tokens * L * D**2 * (1 + s / (6 * D) + V / (16 * L * D))
    assert training_flops(shape, tokens=tokens, context=s, recompute=True).hardware == pytest.approx(exact, rel=1e-12)
    assert training_flops(shape, tokens=tokens, context=s, recompute=False).hardware == pytest.approx(
        training_flops(shape, tokens=tokens, context=s, recompute=True).model, rel=1e-12
    )


def test_two_streams_and_predicted_tokens() -> None:
    """Each is a part of what another shape would take."""
    bert, xlnet = MODELS["bert-large"].shape, MODELS["xlnet-large"].shape
    one, two = (forward_flops(shape, sequences=2, context=64) for shape in (bert, xlnet))
    assert two["network"] == 2 * one["network"]
    assert one["output layer"] == round(0.15 * 2 * bert.width * bert.vocabulary * 128)
