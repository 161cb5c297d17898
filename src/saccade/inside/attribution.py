"""What moved the output, from its gradient: gradient × input, and integrated gradients (Sundararajan et al. 2017).

And attention rollout, which follows attention through the layers (Abnar & Zuidema 2020). None of them is attention.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade.errors import UsageError
from saccade.inside.places import token_axis
from saccade.inside.runs import ModelRun

Output = Callable[[Tensor], Tensor]


def rollout(layers: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """(1, N, N) from the weights (heads, N, N) of layers in order: heads averaged, half of each layer passing by."""
    total = np.eye(layers[0].shape[-1])
    for weights in layers:
        mixed = (weights.mean(0, dtype=np.float64) + np.eye(weights.shape[-1])) / 2
        total = mixed / mixed.sum(-1, keepdims=True) @ total
    return total[None].astype(np.float32)


def gradient_x_input(output: Output, inputs: Tensor) -> Tensor:
    """The gradient of a number that is computed from inputs, times the inputs."""
    return _gradient(output, inputs) * inputs


def integrated_gradients(output: Output, inputs: Tensor, baseline: Tensor | None = None, steps: int = 32) -> Tensor:
    """The mean gradient on the straight way from the baseline (zeros), times the way; sums to what the output changes by.

    The mean is Gauss and Legendre's: few steps are enough for a smooth way.
    """
    baseline = torch.zeros_like(inputs) if baseline is None else baseline
    nodes, shares = np.polynomial.legendre.leggauss(steps)
    total = torch.zeros_like(inputs)
    for node, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        total += float(share) * _gradient(output, baseline + float(node) * (inputs - baseline))
    return total * (inputs - baseline)


def _gradient(output: Output, inputs: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = inputs.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(output(leaf), leaf)
    return gradient


METHODS: dict[str, Callable[[Output, Tensor], Tensor]] = {
    "gradient × input": gradient_x_input,
    "integrated gradients": integrated_gradients,
}


class LogitSource:
    """A model as a function of the vectors that stand for its input: embeddings, or the input itself where it is numbers."""

    def __init__(self, model: Any, run: ModelRun) -> None:
        self._model, self._run = model, run
        kwargs, both = dict(run.kwargs), getattr(getattr(model, "config", None), "is_encoder_decoder", False)
        self.reads_apart = both
        if run.path:
            ids = torch.tensor([[*run.prompt, *run.written[:-1]]], device=next(model.parameters()).device)
            kwargs["decoder_input_ids" if both else "input_ids"] = ids
            if not both and "attention_mask" in kwargs:
                kwargs["attention_mask"] = torch.ones_like(ids)
        self._kwargs = kwargs
        self._embedding = _embedding(model) if run.main is None or not run.main.is_floating_point() else None
        self.values, self._logits = self._first()

    def _first(self) -> tuple[Tensor, Tensor]:
        """The vectors of the input, and the logits."""
        kept: list[Tensor] = []

        def keep(output: Tensor) -> Tensor:
            kept.append(output)
            return output

        with torch.no_grad(), self._hooked(keep):
            logits = self._forward(None)
        values = kept[0] if kept else self._run.main
        if values is None:
            raise UsageError("attributions: expected a model with an embedding or an input of numbers, got neither")
        return values, logits

    def targets(self) -> list[tuple[int | None, int]]:
        """The places and classes whose logits are explained."""
        if self._run.path:
            first = self._logits.shape[1] - len(self._run.written)
            return [(first + number, token) for number, token in enumerate(self._run.written)]
        if self._logits.dim() == 2:
            return [(None, int(self._logits[0].argmax()))]
        masked = getattr(self._run.tokenizer, "mask_token_id", None)
        ids = self._run.kwargs.get("input_ids")
        places = [] if ids is None or masked is None else (ids[0] == masked).nonzero().flatten().tolist()
        return [(place, int(self._logits[0, place].argmax())) for place in places or [self._logits.shape[1] - 1]]

    def label(self, target: int) -> str:
        """What a class, or a token, is called."""
        if self._logits.dim() == 2:
            named: dict[int, str] = getattr(getattr(self._model, "config", None), "id2label", None) or {}
            return str(named.get(target, target))
        tokenizer = self._run.tokenizer
        return str(target) if tokenizer is None else token_axis(tokenizer, [target]).labels[0]

    def logit(self, values: Tensor, place: int | None, target: int) -> Tensor:
        """The logit as a function of the vectors."""
        with self._hooked(lambda output: values):
            logits = self._forward(values)
        return logits[0, target] if place is None else logits[0, place, target]

    def _forward(self, values: Tensor | None) -> Tensor:
        args, kwargs = self._run.args, self._kwargs
        if self._embedding is None and values is not None:
            args = tuple(values if one is self._run.main else one for one in args)
            kwargs = {name: values if one is self._run.main else one for name, one in kwargs.items()}
        output = self._model(*args, **kwargs)
        logits = output if isinstance(output, Tensor) else getattr(output, "logits", None)
        if not isinstance(logits, Tensor) or logits.dim() not in (2, 3):
            kind = type(self._model).__name__
            raise UsageError(f"attributions: expected a model that gives logits, got {kind}; take one with a head")
        return logits

    @contextmanager
    def _hooked(self, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
        """The first output of the embedding is changed."""
        if self._embedding is None:
            yield
            return
        calls: list[int] = []

        def hook(module: nn.Module, args: object, output: Tensor) -> Tensor:
            calls.append(1)  # a writer may share the embedding of the reader, and comes second
            return change(output) if len(calls) == 1 else output

        handle = self._embedding.register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()


def _embedding(model: Any) -> nn.Module:
    """The embedding of the input's tokens."""
    own = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    found = own if own is not None else next((part for part in model.modules() if isinstance(part, nn.Embedding)), None)
    if not isinstance(found, nn.Module):
        raise UsageError(f"attributions: expected a model with an embedding, got {type(model).__name__}, which has none")
    return found
