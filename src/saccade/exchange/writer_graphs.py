"""Recurrent systems that write texts, as two graphs that ONNX can say: one reads, the other takes one step.

    encoder: tokens (B, K), lengths (B) -> what is held while a text is written, by the names of `held`
    decoder: token (B), lengths (B) and all of that -> log_probs (B, V), weights (B, K), and the next of what changes

`lengths` and `weights` only where the system attends. Both are traces of the model, whose reader alone becomes ONNX's own
recurrent operators.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from saccade.attention.score import Prepared
from saccade.data.tensors import TextInput
from saccade.exchange import families
from saccade.exchange.label_graphs import Given
from saccade.exchange.recurrent_nodes import replace_recurrent
from saccade.layers.attentive_decoder import Annotations, DecoderState
from saccade.systems.seq2seq import State
from saccade.trained import TrainedModel

_SCORES = ("dot", "scaled_dot", "concat", "leaky_concat", "perceptron", "cosine")
NEEDS: families.Needs = {
    "bahdanau": {"model.score": ("additive", "general", *_SCORES), "model.normalize": ("softmax",)},
    "luong": {
        "model.score": ("general", "additive", *_SCORES),
        "model.normalize": ("softmax",),
        "model.attention": ("global", "local_p"),
    },
    "seq2seq": {},
}
CHANGES = ("states", "fed")  # from step to step
READ = ("keys", "values")  # of every place of the source


def held(state: DecoderState | State) -> dict[str, Tensor]:
    """The tensors of a state of one hypothesis: states (B, L, S), and with attention keys, values (B, K, _), fed (B, _)."""
    tensors = {"states": state.states[:, 0]}
    if isinstance(state, DecoderState):
        tensors |= {"keys": state.annotations.keys.vectors, "values": state.annotations.values}
        if state.fed is not None:
            tensors["fed"] = state.fed[:, 0]
    return tensors


def state_of(model: Any, tensors: Mapping[str, Tensor]) -> DecoderState | State:
    """The state that `held` these."""
    states = tensors["states"][:, None]
    if "keys" not in tensors:
        return State(states)
    annotations = Annotations(Prepared(tensors["keys"], None, model.decoder.score), tensors["values"], tensors["lengths"])
    return DecoderState(annotations, states, tensors["fed"][:, None] if "fed" in tensors else None)


class ReadGraph(nn.Module):
    """Shapes: tokens (B, K), lengths (B) -> what is `held`, in the order of its names"""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        replace_recurrent(self.model)

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        return tuple(held(self.model.start(self.model.read(TextInput(tokens, lengths)))).values())


class StepGraph(nn.Module):
    """One step of the model, from the tensors of these names.

    Shapes: token (B), lengths (B), what is `held` -> log_probs (B, V), weights (B, K), and the next of what changes
    """

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.names, tensors, strict=True))
        step = self.model.step(given["token"][:, None], state_of(self.model, given))
        looks = [look.weights[:, 0, 0] for look in step.glance()]
        after = held(step.state)
        return step.log_probs[:, 0], *looks, *(after[name] for name in CHANGES if name in after)


def graphs(model: TrainedModel) -> dict[str, tuple[nn.Module, Given, list[str]]]:
    """Encoder and decoder: what is traced, its inputs with those of their axes that may be of any size, its outputs."""
    module: Any = copy.deepcopy(model.module).cpu().eval()
    # No size of the sample is 1: torch would take that for a constant.
    tokens, lengths = torch.zeros(3, 5, dtype=torch.long), torch.tensor([5, 3, 4])
    with torch.no_grad():
        state = held(module.start(module.read(TextInput(tokens, lengths))))
    batch, places = (torch.export.Dim(name, min=2) for name in ("batch", "places"))
    row, rectangle = {0: batch}, {0: batch, 1: places}
    source: Given = {"tokens": (tokens, rectangle), "lengths": (lengths, row)}
    carried: Given = {name: (one, rectangle if name in READ else row) for name, one in state.items()}
    step: Given = {"token": (tokens[:, 0], row), **({"lengths": source["lengths"]} if "keys" in state else {}), **carried}
    looks = ["weights"] if "keys" in state else []
    outputs = ["log_probs", *looks, *(f"next_{name}" for name in CHANGES if name in state)]
    return {"encoder": (ReadGraph(module), source, list(state)), "decoder": (StepGraph(module, list(step)), step, outputs)}
