"""GPT-2: the published sizes, exactly, and masks of Sparse Transformers in its layers."""

import time

import pytest
import torch
from torch import Tensor

from saccade.data.tokenizers import learned_layout
from saccade.errors import UsageError
from saccade.systems import gpt2
from saccade.training.settings import resolve

COUNTS = {
    "small": 124_439_808,
    "medium": 354_823_168,
    "large": 774_030_080,
    "xl": 1_557_611_200,
    "megatron-345m": 355_788_800,
    "megatron-1.2b": 1_213_479_936,
    "megatron-2.5b": 2_490_408_960,
    "megatron-4.2b": 4_199_109_120,
    "megatron-8.3b": 8_317_040_640,
}


@pytest.mark.parametrize("name", gpt2.PRESETS)
def test_a_preset_has_exactly_the_parameters_of_its_publication(name: str) -> None:
    settings = resolve({"system": "gpt2"}, [f"model.preset={name}"])
    assert settings.tokens is not None
    began = time.monotonic()
    with torch.device("meta"):
        model = gpt2.Model(settings.model, learned_layout(settings.tokens.size), settings.writer.context_length)
    assert time.monotonic() - began < 10
    assert sum(weight.numel() for weight in model.parameters()) == COUNTS[name]
    assert model.layers[0].network.into.weight.shape == (4 * model.config.hidden_size, model.config.hidden_size)
    assert model.norm.eps == model.layers[0].mixed.norm.eps == 1e-5


def made(mask: str) -> gpt2.Model:
    torch.manual_seed(0)
    config = gpt2.Config(hidden_size=16, num_layers=2, num_heads=2, mask=mask)
    model = gpt2.Model(config, learned_layout(20), 24).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(5.0)
    return model


def steps(model: gpt2.Model, tokens: Tensor) -> Tensor:
    state, found = model.start(len(tokens)), []
    for number in range(tokens.shape[1]):
        step = model.step(tokens[:, number, None], state)
        state = step.state
        found.append(step.log_probs[:, 0])
    return torch.stack(found, 1)


@pytest.mark.parametrize("mask", ["none", "strided(5)", "fixed(5, 2)", "window(3)"])
def test_a_text_read_in_steps_is_the_text_read_at_once(mask: str) -> None:
    """With the mask, too: a step sees of the past what it would see in the whole text."""
    model = made(mask)
    tokens = torch.randint(4, 20, (3, 24), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        found = steps(model, tokens)
        for size in (1, 7, 24):
            whole = model.prefill(tokens[:, :size], model.start(3)).log_probs[:, 0]
            torch.testing.assert_close(found[:, size - 1], whole, atol=1e-5, rtol=1e-5)
        if mask != "none":
            assert (found - steps(made("none"), tokens)).abs().max() > 0.01


def test_a_mask_that_is_none_is_told_with_the_settings() -> None:
    with pytest.raises(UsageError, match=r"model\.mask: unknown mask 'stridden'; did you mean 'strided'"):
        resolve({"system": "gpt2"}, ["model.mask=stridden(4)"])
