"""The stand-in for an accelerator computes what the CPU computes, and refuses what an accelerator refuses."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.second_device import DEVICE, MixedDevicesError, SynchronizedError, on_cpu, on_device, second_device


def test_a_network_and_its_gradient_are_the_cpus() -> None:
    layer, x = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2)), torch.randn(3, 4)
    expected = layer(x)
    gradients = torch.autograd.grad(expected.sum(), list(layer.parameters()))
    with second_device(synchronize=False):
        found = on_device(layer)(on_device(x))
        found.sum().backward()
    assert found.device == DEVICE
    assert not found.is_cpu
    assert torch.equal(on_cpu(found), expected)
    torch.testing.assert_close(on_cpu([p.grad for p in layer.parameters()]), list(gradients), rtol=0, atol=0)


def test_shared_parameters_stay_shared_and_buffers_move() -> None:
    module = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.BatchNorm1d(2)])
    module[1].weight = module[0].weight
    on_device(module)
    assert module[1].weight is module[0].weight
    assert {part.device for part in (*module.parameters(), *module.buffers())} == {DEVICE}


def test_writing_in_place_and_drawing_are_the_cpus() -> None:
    def made(device: torch.device | None) -> Tensor:
        torch.manual_seed(0)
        x = torch.rand(4, 3, device=device)
        x[1:3] += 2
        torch.add(x, 1, out=x)
        return x.scatter_(1, torch.zeros(4, 1, dtype=torch.int64, device=device), 7.0)

    with second_device():
        assert torch.equal(made(DEVICE).cpu(), made(None))


def test_a_checkpointed_function_is_computed_again() -> None:
    with second_device():
        x = on_device(torch.ones(3, requires_grad=True))
        checkpoint(lambda x: (x * 2).exp(), x, use_reentrant=False).sum().backward()
    torch.testing.assert_close(on_cpu(x.grad), 2 * torch.ones(3).mul(2).exp())


@pytest.mark.parametrize("mix", [lambda x: x + torch.ones(3), lambda x: torch.stack((x, torch.ones(3)))])
def test_devices_do_not_mix(mix: Callable[[Tensor], Tensor]) -> None:
    with second_device(), pytest.raises(MixedDevicesError, match=r"got cpu \(3,\) and second_device:0"):
        mix(on_device(torch.ones(3)))
    with second_device():
        x = on_device(torch.ones(3))
        assert torch.equal(on_cpu((x * torch.tensor(2.0))[torch.tensor([0, 1])]), torch.tensor([2.0, 2.0]))


READS: dict[str, Callable[[Tensor], object]] = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.any()),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "copy": lambda x: torch.ones(3).copy_(x),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "repeat": lambda x: torch.repeat_interleave(x, x.long()),
}


@pytest.mark.parametrize("read", READS)
def test_reading_on_the_host_is_noticed(read: str) -> None:
    with second_device():
        READS[read](on_device(torch.ones(3)))
    with second_device(synchronize=False), pytest.raises(SynchronizedError):
        READS[read](on_device(torch.ones(3)))
