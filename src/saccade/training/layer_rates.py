"""Layer-wise learning rate decay: the nearer to the input, the smaller the learning rate (Clark et al. 2020, ELECTRA).

Layer l of L has the learning rate times decay^(L - l), so the last has all of it; embeddings and positions have decay^L;
what follows the layers, norms and heads, has all of it. Stacks of layers are the module lists called layers, encoder or
decoder, each with an L of its own; embeddings take the largest.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from saccade.errors import UsageError

FACTOR = "factor"  # of a group's learning rate
STACKS = ("layers", "encoder", "decoder")
EMBEDDING = re.compile(r"(^|[._])(embeddings?|positions?)([._]|$)")


def factors(model: nn.Module, decay: float) -> dict[str, float]:
    """Of each parameter, by its name, its share of the learning rate."""
    stacks = {
        f"{name}.": len(part)
        for name, part in model.named_modules()
        if isinstance(part, nn.ModuleList) and name.rpartition(".")[2] in STACKS
    }
    if not stacks:
        raise UsageError("train.layer_decay: has no effect with this system, which has no stack of layers; leave it out")
    return {name: decay ** _below(name, stacks) for name, _ in model.named_parameters()}


def _below(name: str, stacks: Mapping[str, int]) -> int:
    """How many layers of its stack lie above a parameter."""
    for stack, size in stacks.items():
        if name.startswith(stack):
            return size - 1 - int(name.removeprefix(stack).partition(".")[0])
    return max(stacks.values()) if EMBEDDING.search(name) else 0


def by_layer(model: nn.Module, groups: Sequence[Mapping[str, Any]], decay: float) -> list[dict[str, Any]]:
    """Groups of parameters, parted by their share of the learning rate."""
    names = {one: name for name, one in model.named_parameters()}
    shares, parted = factors(model, decay), []
    for group in groups:
        for share in sorted({shares[names[one]] for one in group["params"]}):
            own = [one for one in group["params"] if shares[names[one]] == share]
            parted.append({**group, "params": own, FACTOR: share})
    return parted
