"""What a run must remember beside its weights, as named tensors: the optimizer's moments and all random states."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade.training.split_tensors import like


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's memory under the weights' names: `reader.weight/exp_avg`."""
    return {
        f"{name}/{key}": value
        for name, weight in model.named_parameters()
        for key, value in optimizer.state.get(weight, {}).items()
        if isinstance(value, Tensor)
    }


def restore_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put the optimizer's memory back."""
    weights = dict(model.named_parameters())
    optimizer.state.clear()
    for path, value in tensors.items():
        name, _, key = path.rpartition("/")
        # What is as large as its parameter lies where that lies; a count of steps does not.
        weight = weights[name]
        laid = like(value, weight) if value.shape == weight.shape else value
        moved = laid.to(weight.device) if key != "step" or optimizer.defaults.get("fused") else laid
        optimizer.state[weight][key] = moved.clone()


def seed_all(seed: int) -> None:
    """Start torch's, numpy's and Python's random numbers from one seed."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def random_tensors() -> dict[str, Tensor]:
    """The states of torch's, numpy's and Python's random numbers, as tensors."""
    version, words, gauss = random.getstate()
    numpy_state: Any = np.random.get_state(legacy=False)
    inner = numpy_state["state"]
    return {
        "torch": torch.get_rng_state(),
        "python": torch.tensor([version, *words], dtype=torch.int64),
        "python_gauss": torch.tensor([gauss is not None, gauss or 0.0], dtype=torch.float64),
        "numpy": torch.tensor([*inner["key"].tolist(), inner["pos"], numpy_state["has_gauss"]], dtype=torch.int64),
        "numpy_gauss": torch.tensor([numpy_state["gauss"]], dtype=torch.float64),
    }


def restore_random(tensors: Mapping[str, Tensor]) -> None:
    """Put the random states back."""
    torch.set_rng_state(tensors["torch"])
    version, *words = tensors["python"].tolist()
    there, gauss = tensors["python_gauss"].tolist()
    random.setstate((version, tuple(words), gauss if there else None))
    *key, position, has_gauss = tensors["numpy"].tolist()
    inner = {"key": np.array(key, dtype=np.uint32), "pos": position}
    state = {"bit_generator": "MT19937", "state": inner, "has_gauss": has_gauss, "gauss": tensors["numpy_gauss"].item()}
    np.random.set_state(state)
