"""Batch norms over all processes: with one process they are torch's, gradients and running means included."""

import pytest
import torch
from torch import nn

from saccade.layers.shared_batch_norm import SharedBatchNorm, shared_norms
from tests.training import one


def norms(**options: float | None) -> tuple[nn.BatchNorm2d, SharedBatchNorm]:
    """Torch's layer, and the same one shared; neither has the other's tensors."""
    pair = [nn.BatchNorm2d(3, **options) for _ in range(2)]  # type: ignore[arg-type]
    for layer in pair:
        with torch.no_grad():
            layer.weight.copy_(torch.tensor([1.0, -2.0, 0.5]))
            layer.bias.copy_(torch.tensor([0.0, 1.0, 2.0]))
    return pair[0], SharedBatchNorm.of(pair[1], torch.distributed.group.WORLD)  # type: ignore[arg-type]


@pytest.mark.parametrize("momentum", [0.1, None])
def test_with_one_process_it_is_torchs(momentum: float | None) -> None:
    with one.group():
        plain, shared = norms(momentum=momentum, eps=1e-3)
        for _ in range(3):
            x = torch.randn(4, 3, 5, 2) * 3 + 1
            inputs = [x.clone().requires_grad_() for _ in range(2)]
            outputs = [layer(own) for layer, own in zip((plain, shared), inputs, strict=True)]
            for output in outputs:
                (output.square() * torch.arange(output.numel()).view_as(output)).sum().backward()
            torch.testing.assert_close(outputs[1], outputs[0])
            torch.testing.assert_close(inputs[1].grad, inputs[0].grad, rtol=1e-4, atol=1e-3)
        for (name, value), other in zip(plain.state_dict().items(), shared.state_dict().values(), strict=True):
            torch.testing.assert_close(other, value, msg=name)
        torch.testing.assert_close(shared.weight.grad, plain.weight.grad)
        torch.testing.assert_close(shared.eval()(x), plain.eval()(x))


def test_every_norm_of_a_model_is_shared_and_keeps_its_parameters() -> None:
    with one.group():
        model = nn.Sequential(nn.Conv2d(3, 3, 1), nn.Sequential(nn.BatchNorm2d(3)), nn.BatchNorm2d(3))
        before = dict(model.named_parameters())
        shared_norms(model, torch.distributed.group.WORLD)  # type: ignore[arg-type]
        assert [type(module) for module in (model[1][0], model[2])] == [SharedBatchNorm] * 2  # type: ignore[index]
        assert {name: id(own) for name, own in model.named_parameters()} == {name: id(own) for name, own in before.items()}
        own = model[2]
        shared_norms(model, torch.distributed.group.WORLD)  # type: ignore[arg-type]
        assert model[2] is own
