"""The residual network with gates: every parameter is reached, company does not matter, and its gates are what it used."""

from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.data.tensors import Batch, LabelTarget, PictureInput
from saccade.errors import UsageError
from saccade.layers.spatial_attention import SpatialAttention
from saccade.layers.squeeze_excitation import SqueezeExcitation
from saccade.systems.se_resnet import Config, Model

from .looks import weights_of
from .samples import gradients

SMALL = {"channels": 6, "num_stages": 2, "num_blocks": 2, "reduction": 2, "stride": 1}
each = pytest.mark.parametrize("excitation", ["se", "none"])


def network(**given: Any) -> Model:
    torch.manual_seed(4)
    made = Model(Config(**{**SMALL, **given}), channels=3, height=10, width=8, labels=4)
    made.train()
    for _ in range(3):  # so that the running means are of something
        made.logits(batch().input)
    return made.eval()


def batch(chosen: slice = slice(None)) -> Batch:
    pictures = torch.randn(6, 10, 8, 3, generator=torch.Generator().manual_seed(7)).permute(0, 3, 1, 2) + 0.5
    return Batch(PictureInput(pictures[chosen]), LabelTarget(torch.arange(6)[chosen] % 4))


@each
def test_its_loss_reaches_every_parameter(excitation: str) -> None:
    made = network(excitation=excitation).train()
    loss = made(batch()).loss
    assert 0 < loss.item() < float("inf")
    for parameter, grad in gradients(made, loss).items():
        assert grad.isfinite().all(), parameter
        assert grad.abs().sum() > 0, parameter


@each
def test_one_picture_alone_is_the_same_as_in_a_batch(excitation: str) -> None:
    made = network(excitation=excitation)
    together, seen = made.logits(batch().input), weights_of(made, batch())
    for place in range(6):
        alone = batch(slice(place, place + 1))
        torch.testing.assert_close(made.logits(alone.input)[0], together[place], atol=1e-5, rtol=1e-5)
        for name, weights in weights_of(made, alone).items():
            torch.testing.assert_close(weights[0], seen[name][place], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(together[0], together[1], atol=1e-3)


def test_it_predicts_by_its_running_means_not_by_those_of_the_batch() -> None:
    made = network()
    buffers = {name: value.clone() for name, value in made.named_buffers()}
    made.logits(batch().input)
    assert all(torch.equal(value, buffers[name]) for name, value in made.named_buffers())
    other = Model(made.config, channels=3, height=10, width=8, labels=4).eval()
    assert not torch.allclose(other.logits(batch().input), made.logits(batch().input), atol=1e-3)
    other.load_state_dict(made.state_dict())
    assert torch.equal(other.logits(batch().input), made.logits(batch().input))


def test_the_gates_of_each_block_are_shown() -> None:
    made = network()
    seen = weights_of(made, batch())
    assert list(seen) == ["stage 1 block 1", "stage 1 block 2", "stage 2 block 1", "stage 2 block 2"]
    assert [tuple(weights.shape) for weights in seen.values()] == [(6, 1, 1, 6)] * 2 + [(6, 1, 1, 12)] * 2
    inputs: list[Tensor] = []
    gates = [part for part in made.modules() if isinstance(part, SqueezeExcitation)]
    handle = gates[-1].register_forward_hook(lambda module, given, output: inputs.extend((given[0], output)))
    made.logits(batch().input)
    handle.remove()
    torch.testing.assert_close(inputs[0] * seen["stage 2 block 2"][:, 0, 0, :, None, None], inputs[1])
    assert weights_of(network(excitation="none"), batch()) == {}


def test_the_plain_network_differs_in_the_gates_alone() -> None:
    gated, plain = network(), network(excitation="none")
    names = set(dict(gated.named_parameters())) - set(dict(plain.named_parameters()))
    assert names
    assert all(".excitation.fc" in name for name in names)
    extra = sum(2 * c * (c // 2) + c // 2 + c for c in (6, 6, 12, 12))
    count = {made: sum(parameter.numel() for parameter in made.parameters()) for made in (gated, plain)}
    assert count[gated] - count[plain] == extra


def test_a_picture_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="expected at least 9 × 9 pixels, got 8 × 30"):
        Model(Config(), channels=1, height=8, width=30, labels=2)
    one = Model(Config(channels=4), channels=1, height=9, width=9, labels=2).train()
    assert one(Batch(PictureInput(torch.randn(1, 1, 9, 9)), LabelTarget(torch.tensor([1])))).loss.isfinite()


def test_self_attention_comes_after_its_stage_and_shows_every_place() -> None:
    made, plain = network(excitation="none", self_attention=2), network(excitation="none")
    assert isinstance(made.attention, SpatialAttention)
    plain.load_state_dict(made.state_dict(), strict=False)
    assert torch.equal(made.logits(batch().input), plain.logits(batch().input))  # γ is 0
    with torch.no_grad():
        made.attention.gamma.fill_(1)
    assert not torch.allclose(made.logits(batch().input), plain.logits(batch().input), atol=1e-3)
    (name, weights), *others = weights_of(made, batch()).items()
    assert (name, others, made.grid) == ("self-attention", [], (5, 4))
    assert weights.shape == (6, 1, 20, 20)
    torch.testing.assert_close(weights.sum(-1), torch.ones(6, 1, 20))
    both = weights_of(network(self_attention=1), batch())
    assert list(both)[:2] == ["self-attention", "stage 1 block 1"]
    assert both["self-attention"].shape[-1] == 80


def test_a_stage_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="self_attention: expected one of the 2 stages, got 3"):
        network(self_attention=3)
