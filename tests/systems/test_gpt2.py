"""GPT-2: the published sizes, exactly, and masks of Sparse Transformers in its layers."""

import time
from itertools import chain
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade import search
from saccade.data.tokenizers import learned_layout
from saccade.errors import UsageError
from saccade.systems import gpt2
from saccade.systems.gpt2 import Config, Model
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
        model: Any = gpt2.Model(settings.model, learned_layout(settings.tokens.size), settings.writer.context_length)
    assert time.monotonic() - began < 10
    assert sum(weight.numel() for weight in model.parameters()) == COUNTS[name]
    weights, width = dict(model.named_parameters()), model.config.hidden_size
    assert weights["layers.0.network.into.weight"].shape == (4 * width, width)
    assert {part.eps for part in model.modules() if isinstance(part, nn.LayerNorm)} == {1e-5}


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


def lively(mask: str = "none") -> Model:
    """What it writes depends on what it read."""
    torch.manual_seed(0)
    model = Model(Config(hidden_size=16, num_layers=2, num_heads=2, mask=mask), learned_layout(40), 24).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.dim() > 1 else 1)
    return model


PROMPTS = [[5, 6, 7], [], [9] * 20, [3, 4], [8, 8, 8], list(range(3, 26)), [4]]
SEARCHES = [
    search.Config(max_length=9),
    search.Config(method="beam", beam=3, n_best=2, max_length=9),
    search.Config(method="sample", n_best=2, max_length=9, seed=5, top_p=0.9, repetition_penalty=1.2),
]


@pytest.mark.parametrize("kernels", ["on", "off"])
@pytest.mark.parametrize("config", SEARCHES, ids=lambda config: config.method)
def test_prompts_of_different_lengths_are_written_together(
    config: search.Config, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACCADE_KERNELS", kernels)
    model, sizes, step = lively(), list[int](), Model.step

    def counted(self: Model, tokens: Tensor, state: Any) -> Any:
        sizes.append(len(tokens))
        return step(self, tokens, state)

    monkeypatch.setattr(Model, "step", counted)
    how: dict[str, Any] = {"start": 1, "end": 2, "banned": (0, 1), "context_length": 24}
    together = search.search(model, 7, config, inputs=7, prompts=PROMPTS, **how)
    assert sizes[0] == 7
    assert len(sizes) <= 9
    for place, prompt in enumerate(PROMPTS):
        (alone,) = search.search(model, 1, config, inputs=1, prompts=[prompt], positions=[place], **how)
        assert [text.tokens for text in alone] == [text.tokens for text in together[place]]
        assert [text.log_prob for text in alone] == pytest.approx([text.log_prob for text in together[place]], abs=1e-4)
        assert len(prompt) + len(alone[0].tokens) <= 24
    streamed = list(search.stream(model, 7, config, inputs=7, prompts=PROMPTS, **how))
    assert [list(chain(*parts)) for parts in zip(*streamed, strict=True)] == [best[0].tokens for best in together]


def test_masks_that_count_places_keep_lengths_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    model = lively("fixed(4, 1)")
    how: dict[str, Any] = {"start": 1, "end": 2, "banned": (0, 1), "context_length": 24}
    together = search.search(model, 7, SEARCHES[0], inputs=7, prompts=PROMPTS, **how)
    for place, prompt in enumerate(PROMPTS):
        (alone,) = search.search(model, 1, SEARCHES[0], inputs=1, prompts=[prompt], **how)
        assert [text.tokens for text in alone] == [text.tokens for text in together[place]]
