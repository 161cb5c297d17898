"""Heads left out: what they pool is zero for a while (Michel et al. 2019, Are sixteen heads really better than one?).

with without_heads(model, ["3.5", "4"]):
    model(batch)
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from saccade.errors import UsageError
from saccade.layers.multihead import MultiHeadAttention

NUMBER = re.compile(r"\.\d+(?=\.|$)")
NAMED = re.compile(r"(?:(?P<stack>[a-z][a-z_-]*)\.)?(?P<layer>\d{1,6})(?:\.(?P<head>\d{1,6}))?")


def stacks(model: nn.Module) -> dict[str, list[MultiHeadAttention]]:
    """The layers of multi-head attention in order, by what they are: encoder, decoder and cross where there are several."""
    found: dict[str, list[MultiHeadAttention]] = {}
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):
            found.setdefault(NUMBER.sub("", name), []).append(part)
    return {_called(name): layers for name, layers in found.items()}


def _called(name: str) -> str:
    """A stack by the names of its modules: decoder.cross is cross, encoder.mixer.attention is encoder."""
    first, *_, last = name.split(".") if "." in name else (name, name)
    return last if last == "cross" else first


@contextmanager
def without_heads(model: nn.Module, heads: Sequence[str]) -> Iterator[None]:
    """Inside, these heads of the model add nothing: 3.5 is head 5 (from 0) of layer 3 (from 1), 3 the whole layer,
    cross.3.5 one of a stack of several. Nothing is left behind, and no parameter is touched."""
    closed = _chosen(model, heads)
    with ExitStack() as hooks:
        for layer, numbers in closed.items():
            # What all heads have pooled passes through this map, whichever way it was computed.
            hooks.callback(layer.output_map.register_forward_pre_hook(_Closed(layer, numbers)).remove)
        yield


class _Closed:
    """Zeros in place of what some heads have pooled."""

    def __init__(self, layer: MultiHeadAttention, heads: set[int]) -> None:
        self.columns = torch.zeros(layer.heads, layer.head_width, dtype=torch.bool)
        self.columns[sorted(heads)] = True

    def __call__(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Tensor]:
        (context,) = args
        return (context.masked_fill(self.columns.flatten().to(context.device), 0.0),)


def _chosen(model: nn.Module, heads: Sequence[str]) -> dict[MultiHeadAttention, set[int]]:
    """The heads of each layer that are left out."""
    known, closed = stacks(model), dict[MultiHeadAttention, set[int]]()
    if not known:
        raise UsageError("without: expected a model of multi-head attention, such as gpt2, bert or transformer, got another")
    if isinstance(heads, str) or not heads:
        raise UsageError(f'without: expected heads, such as ["3.5", "4"], got {heads!r}')
    for given in heads:
        match = NAMED.fullmatch(str(given))
        if match is None:
            raise UsageError(f"without: expected layer.head, such as 3.5, or a layer, such as 3, got {str(given)!r}")
        layers = _stack(known, match["stack"], str(given))
        layer = int(match["layer"])
        if not 1 <= layer <= len(layers):
            raise UsageError(f"without: expected a layer from 1 to {len(layers)}, got {layer} in {str(given)!r}")
        part = layers[layer - 1]
        if part.split:
            raise UsageError("without: expected all heads in one process, got some; leave train.tensor_parallel out")
        if match["head"] is not None and int(match["head"]) >= part.heads:
            raise UsageError(f"without: expected a head from 0 to {part.heads - 1}, got {match['head']} in {str(given)!r}")
        numbers = range(part.heads) if match["head"] is None else [int(match["head"])]
        closed.setdefault(part, set()).update(numbers)
    return closed


def _stack(known: dict[str, list[MultiHeadAttention]], name: str | None, given: str) -> list[MultiHeadAttention]:
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name not in known:
        numbers = given.removeprefix(f"{name}.")
        choices = ", ".join(f"{stack}.{numbers}" for stack in known)
        raise UsageError(f"without: expected one of {choices}, got {given!r}")
    return known[name]
