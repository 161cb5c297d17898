"""In which numbers a forward pass computes: float32, or with autocast 16 bits where that is safe."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from saccade.training.train_config import Precision

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def chosen(precision: Precision, device: torch.device) -> Precision:
    """auto: bf16 where the accelerator has it, else fp16; float32 on a CPU."""
    if precision != "auto":
        return precision
    if device.type == "cpu":
        return "float32"
    bf16 = device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16" if bf16 else "fp16"


class Casting:
    """Autocast for forward passes and, for fp16, the scaler that keeps small gradients from vanishing.

    Parameters, gradients and the optimizer stay float32.
    """

    def __init__(self, precision: Precision, device: torch.device) -> None:
        self.device = device
        self.precision = chosen(precision, device)
        self.scaler = torch.amp.GradScaler(device.type) if self.precision == "fp16" else None

    def autocast(self) -> AbstractContextManager[Any]:
        """The block of a forward pass."""
        dtype = DTYPES.get(self.precision)
        return nullcontext() if dtype is None else torch.autocast(self.device.type, dtype)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss whose gradient is computed."""
        return loss if self.scaler is None else self.scaler.scale(loss)

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Gradients as they are, after all were added up."""
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def update(self) -> bool:
        """After a step: a scale that was too large falls, else it grows now and then. Whether it can fall further."""
        if self.scaler is None:
            return False
        self.scaler.update()
        return bool(self.scaler.get_scale() > 1.0)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {} if self.scaler is None else dict(self.scaler.state_dict())

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        if self.scaler is not None and state:
            self.scaler.load_state_dict(state)
