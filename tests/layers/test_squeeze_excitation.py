"""Squeeze and excitation: gates between 0 and 1, channel by channel, and the same numbers as timm's module."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import Gated, gate, looking
from saccade.errors import ShapeError
from saccade.layers.squeeze_excitation import SqueezeExcitation


def block(channels: int = 6, **given: Any) -> SqueezeExcitation:
    torch.manual_seed(0)
    made = SqueezeExcitation(channels, **given)
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(4)
    return made


def pictures() -> Tensor:
    return torch.randn(3, 6, 5, 4, generator=torch.Generator().manual_seed(1))


def gates(made: nn.Module, x: Tensor) -> Tensor:
    with looking(made) as looks:
        made(x)
    (look,) = looks[""]
    return look.weights()


@pytest.fixture
def timm_squeeze() -> Iterator[ModuleType]:
    """timm's file of this block, without the rest of timm, which needs torchvision."""
    spec = importlib.util.find_spec("timm")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("timm is not installed")
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "timm"}
    root = Path(next(iter(spec.submodule_search_locations)))
    for name, place in (("timm", root), ("timm.layers", root / "layers")):
        bare = ModuleType(name)
        bare.__path__ = [str(place)]
        sys.modules[name] = bare
    try:
        yield importlib.import_module("timm.layers.squeeze_excite")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "timm"]:
            del sys.modules[name]
        sys.modules.update(before)


@pytest.mark.parametrize("channels", [8, 64])
def test_the_same_numbers_as_timm(channels: int, timm_squeeze: ModuleType) -> None:
    torch.manual_seed(3)
    theirs = timm_squeeze.SEModule(channels, rd_channels=max(1, channels // 16))
    ours = SqueezeExcitation.from_timm(theirs)
    assert sum(weight.numel() for weight in ours.parameters()) == sum(weight.numel() for weight in theirs.parameters())
    x = torch.randn(2, channels, 7, 5)
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    torch.testing.assert_close(ours(one), theirs(other))
    ours(one).pow(2).sum().backward()
    theirs(other).pow(2).sum().backward()
    torch.testing.assert_close(one.grad, other.grad)
    torch.testing.assert_close(ours.fc1.weight.grad, theirs.fc1.weight.grad.flatten(1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_dtype_and_device_are_those_of_timms(dtype: torch.dtype, device: str, timm_squeeze: ModuleType) -> None:
    theirs = timm_squeeze.SEModule(8).to(device, dtype)
    ours = SqueezeExcitation.from_timm(theirs)
    assert all((part.dtype, part.device.type) == (dtype, device) for part in ours.parameters())
    if (dtype, device) == (torch.float64, "cpu"):
        x = torch.randn(2, 8, 7, 5, dtype=dtype)
        torch.testing.assert_close(ours(x), theirs(x))


def test_it_is_what_it_says() -> None:
    made, x = block(reduction=2), pictures()
    expected = torch.sigmoid(made.fc2(torch.relu(made.fc1(x.mean((2, 3))))))
    torch.testing.assert_close(made(x), x * expected[:, :, None, None])
    assert made.fc1.out_features == 3


def test_gates_lie_between_0_and_1_and_do_not_sum_to_one() -> None:
    found = gates(block(), pictures())
    assert found.shape == (3, 1, 6)
    assert 0 < found.min() < found.max() < 1
    assert not torch.allclose(found.sum(-1), torch.ones(3, 1), atol=0.1)


def test_a_gate_of_one_changes_nothing_and_zeros_halve() -> None:
    made, x = block(), pictures()
    with torch.no_grad():
        made.fc2.weight.zero_()
        made.fc2.bias.zero_()
        torch.testing.assert_close(made(x), x / 2, rtol=0, atol=0)
        made.fc2.bias.fill_(100)
        torch.testing.assert_close(made(x), x, rtol=0, atol=0)


@pytest.mark.parametrize(("channels", "reduction"), [(64, 16), (32, 4), (128, 16)])
def test_it_costs_what_the_paper_says(channels: int, reduction: int) -> None:
    count = sum(weight.numel() for weight in SqueezeExcitation(channels, reduction).parameters())
    assert count == 2 * channels**2 // reduction + channels // reduction + channels


def test_few_channels_keep_one_unit() -> None:
    assert SqueezeExcitation(6).fc1.out_features == 1


def test_one_picture_alone_is_the_same_as_in_a_batch() -> None:
    made, x = block(), pictures()
    for place in range(len(x)):
        torch.testing.assert_close(made(x[place : place + 1])[0], made(x)[place])
    assert made(x[:0]).shape == (0, 6, 5, 4)


def test_memory_keeps_its_order() -> None:
    made, x = block(), pictures().contiguous(memory_format=torch.channels_last)
    assert made(x).is_contiguous(memory_format=torch.channels_last)


def test_looking_changes_nothing_and_stays_nowhere() -> None:
    made, x = block(), pictures()
    before = made(x)
    network = nn.Sequential(nn.Conv2d(6, 6, 1), made)
    with looking(network) as looks:
        network(x)
        inside = made(x)
    assert list(looks) == ["1"]  # what was called past the network is not its look
    assert torch.equal(before, inside)
    assert torch.equal(before, made(x))


def test_gates_of_anything_with_channels() -> None:
    x, scores = torch.randn(2, 3, 4), torch.randn(2, 3)
    gated = gate(x, scores)
    assert isinstance(gated, Gated)
    torch.testing.assert_close(gated.context, x * scores.sigmoid()[..., None])
    assert repr(gated) == "Gated(context=(2, 3, 4), channels=3)"


def test_mistakes_are_told() -> None:
    with pytest.raises(ShapeError, match="expected 6 channels, got 5"):
        block()(torch.randn(2, 5, 3, 3))
    with pytest.raises(ShapeError, match="at least 1"):
        SqueezeExcitation(8, 0)
    with pytest.raises(ShapeError, match="a score for each channel"):
        gate(torch.randn(2, 3), torch.randn(2, 4))
