"""Which device to compute on, by its name."""

import os
import shutil
import sys

import torch

from saccade import processes
from saccade.errors import UsageError

ACCELERATORS = ("cuda", "mps", "xpu")


def device_named(name: str) -> torch.device:
    """auto: the accelerator of this machine, if it has one, else the CPU; cpu, cuda, cuda:1, mps, xpu."""
    device = _named(name)
    if processes.local() is not None and device.type != "cpu" and device.index is None:
        device = torch.device(device.type, processes.local())  # each process of a machine has an accelerator of its own
        torch.accelerator.set_device_index(device.index)
    return device


def require_compiler(device: torch.device) -> None:
    """Refuse to compile for a CPU where torch.compile would not find the C++ compiler that it calls."""
    wanted = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if device.type == "cpu" and not shutil.which(wanted):
        what = f"train.compile: expected a C++ compiler, got none called {wanted}"
        raise UsageError(f"{what}; install one, name it in the variable CXX, or leave train.compile out")


def _named(name: str) -> torch.device:
    if name == "auto":
        accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        return torch.device("cpu") if accelerator is None or accelerator.type not in ACCELERATORS else accelerator
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        there = ["cpu", *(kind for kind in ACCELERATORS if _available(kind))]
        if name.partition(":")[0] in ACCELERATORS:
            what = f"device: this machine has no {name} that torch {torch.__version__} can use"
            raise UsageError(f"{what}; there is {' and '.join(there)}, and auto takes what there is") from None
        raise UsageError(f"device: expected one of auto, {', '.join(there)}, got {name!r}") from None
    return device


def _available(kind: str) -> bool:
    module = getattr(torch, kind, None)
    return bool(module is not None and module.is_available())
