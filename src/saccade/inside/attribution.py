"""What moved the output, from its gradient: gradient × input, and integrated gradients (Sundararajan et al. 2017).

Neither is attention.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade.errors import UsageError
from saccade.inside.places import token_axis
from saccade.inside.runs import ModelRun

Output = Callable[[Tensor], Tensor]


def gradient_x_input(output: Output, inputs: Tensor, baseline: Tensor | None = None) -> Tensor:
    """The gradient of a number that is computed from inputs, times the inputs; it knows no baseline."""
    return _gradient(output, inputs) * inputs


def integrated_gradients(output: Output, inputs: Tensor, baseline: Tensor | None = None, steps: int = 64) -> Tensor:
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


METHODS: dict[str, Callable[[Output, Tensor, Tensor | None], Tensor]] = {
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
        self._ids: Any = kwargs.get("input_ids", run.main)
        self._reading: nn.Module | None = None
        self._embeddings: list[nn.Module] = []
        if self._ids is None or not self._ids.is_floating_point():
            self._embeddings = [part for part in model.modules() if isinstance(part, nn.Embedding)]
        self.values, self._logits = self._first()
        self.baseline = torch.zeros_like(self.values)
        if self._reading is not None and (token := _empty_token(run.tokenizer)) is not None:
            with torch.no_grad():
                self.baseline = self._reading(torch.full_like(self._ids, token))

    def _first(self) -> tuple[Tensor, Tensor]:
        """The vectors of the input, and the logits."""
        kept: list[Tensor] = []

        def keep(output: Tensor) -> Tensor:
            kept.append(output)
            return output

        with torch.no_grad(), self._hooked(keep):
            logits = self._forward(None)
        values = kept[0] if kept else self._run.main
        if values is None or not values.is_floating_point():
            raise UsageError(
                "attributions: expected an nn.Embedding of the input's ids, or an input of numbers, got neither"
            )
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

    def change(self, place: int | None, target: int) -> float:
        """What the logit changes by from the baseline: what integrated gradients add up to."""
        with torch.no_grad():
            return float(self.logit(self.values, place, target) - self.logit(self.baseline, place, target))

    def logit(self, values: Tensor, place: int | None, target: int) -> Tensor:
        """The logit as a function of the vectors."""
        with self._hooked(lambda output: values):
            logits = self._forward(values)
        return logits[0, target] if place is None else logits[0, place, target]

    def _forward(self, values: Tensor | None) -> Tensor:
        args, kwargs = self._run.args, self._kwargs
        if not self._embeddings and values is not None:
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
        """The embedding of the input's ids is changed: the first, where a writer embeds the same."""
        calls: list[int] = []

        def hook(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
            if calls or not args or args[0].shape != self._ids.shape or not torch.equal(args[0], self._ids):
                return output
            calls.append(1)
            self._reading = module
            return change(output)

        handles = [embedding.register_forward_hook(hook) for embedding in self._embeddings]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _empty_token(tokenizer: Any) -> int | None:
    """The token that says least: what integrated gradients start from. From zeros they cannot where vectors are normed."""
    names = ("pad_token_id", "mask_token_id", "unk_token_id", "eos_token_id")
    return next((number for name in names if (number := getattr(tokenizer, name, None)) is not None), None)
