"""Batch normalization (Ioffe and Szegedy 2015) over the examples of all processes that train one model."""

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn


class Summed(torch.autograd.Function):
    """The sum of a tensor over processes; its gradient is the sum of theirs, as the loss is.

    Shapes: (…) -> the same
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        total = x.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None


class SharedBatchNorm(nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d` whose means and variances are those of the whole batch, wherever its examples are.

    Shapes: (B, C, height, width) -> the same
    """

    group: dist.ProcessGroup

    @classmethod
    def of(cls, norm: nn.BatchNorm2d, group: dist.ProcessGroup) -> "SharedBatchNorm":
        """The same layer, with the same parameters, for these processes."""
        shared = cls(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
        shared.weight, shared.bias, shared.training = norm.weight, norm.bias, norm.training
        shared.running_mean, shared.running_var = norm.running_mean, norm.running_var
        shared.num_batches_tracked, shared.group = norm.num_batches_tracked, group
        return shared

    def forward(self, input: Float[Tensor, "B C height width"]) -> Float[Tensor, "B C height width"]:
        if not self.training:
            return super().forward(input)
        places, column = (0, 2, 3), (-1, 1, 1)
        numbers = input.new_tensor([input.numel() // input.shape[1]])
        dist.all_reduce(numbers, group=self.group)
        mean = Summed.apply(input.sum(places), self.group) / numbers  # type: ignore[no-untyped-call]
        apart = input - mean.view(column)
        variance = Summed.apply(apart.square().sum(places), self.group) / numbers  # type: ignore[no-untyped-call]
        self._remember(mean.detach(), variance.detach() * numbers / (numbers - 1))
        scale = self.weight * torch.rsqrt(variance + self.eps)
        normed: Tensor = apart * scale.view(column) + self.bias.view(column)
        return normed

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        """Running means for evaluation, as torch keeps them."""
        if self.num_batches_tracked is None or self.running_mean is None or self.running_var is None:
            return
        self.num_batches_tracked.add_(1)
        share = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance, share)


def shared_norms(model: nn.Module, group: dist.ProcessGroup) -> None:
    """Let every batch norm of a model see the examples of all these processes."""
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d) and not isinstance(child, SharedBatchNorm):
                setattr(module, name, SharedBatchNorm.of(child, group))
