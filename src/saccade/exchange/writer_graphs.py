"""Recurrent systems that write texts, as two graphs that ONNX can say: one reads, the other takes one step.

    encoder: tokens (B, K), lengths (B) -> what is held while a text is written, by the names of `held`
    decoder: token (B), lengths (B) and all of that -> log_probs (B, V), weights (B, K), and the next of what changes

`lengths` and `weights` only where the system attends. Both are traces of the model; the reader of texts of any length alone
becomes ONNX's own recurrent operators. Systems that read pictures take `pixels` (B, C, H, W), and know no lengths.
"""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from saccade.attention import Score
from saccade.attention.score import Prepared
from saccade.data.tensors import PictureInput, TextInput
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
    "show_attend_read": {"model.normalize": ("softmax",)},
    "show_attend_tell": {
        "model.score": ("additive", "general", *_SCORES),
        "model.normalize": ("softmax",),
        "reader.backbone": ("",),
    },
}
SAMPLES = 3  # rows of what is traced
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


def state_of(tensors: Mapping[str, Tensor], score: Score | None) -> DecoderState | State:
    """The state that `held` these, of a system that attends by this score."""
    states = tensors["states"][:, None]
    if score is None:
        return State(states)
    annotations = Annotations(Prepared(tensors["keys"], None, score), tensors["values"], tensors.get("lengths"))
    return DecoderState(annotations, states, tensors["fed"][:, None] if "fed" in tensors else None)


class ReadGraph(nn.Module):
    """Shapes: tokens (B, K), lengths (B); or pixels (B, C, H, W) -> what is `held`, in the order of its names"""

    def __init__(self, model: Any, reads: type[TextInput] | type[PictureInput]) -> None:
        super().__init__()
        self.model, self.reads = copy.deepcopy(model), reads
        if reads is TextInput:  # a picture has as many columns as the sample
            replace_recurrent(self.model)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(held(self.model.start(self.model.read(self.reads(*tensors)))).values())


class StepGraph(nn.Module):
    """One step of the model, which attends by this score, from the tensors of these names.

    Shapes: token (B), lengths (B), what is `held` -> log_probs (B, V), weights (B, K), and the next of what changes
    """

    def __init__(self, model: Any, score: Score | None, names: list[str]) -> None:
        super().__init__()
        self.model, self.score, self.names = model, score, names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.names, tensors, strict=True))
        step = self.model.step(given["token"][:, None], state_of(given, self.score))
        looks = [look.weights[:, 0, 0] for look in step.glance()]
        after = held(step.state)
        return step.log_probs[:, 0], *looks, *(after[name] for name in CHANGES if name in after)


def graphs(model: TrainedModel) -> dict[str, tuple[nn.Module, Given, list[str]]]:
    """Encoder and decoder: what is traced, its inputs with those of their axes that may be of any size, its outputs."""
    module: Any = copy.deepcopy(model.module).cpu().eval()
    batch, places = (torch.export.Dim(name, min=2) for name in ("batch", "places"))
    row, rectangle = {0: batch}, {0: batch, 1: places}
    source = _source(model.task.sizes(), row, rectangle)
    reads, cells = (TextInput, rectangle) if "tokens" in source else (PictureInput, row)
    with torch.no_grad():
        state = module.start(module.read(reads(*(tensor for tensor, _ in source.values()))))
    tensors = held(state)
    score = state.annotations.keys.score if "keys" in tensors else None
    sizes = {name: one for name, one in source.items() if name == "lengths" and score is not None}
    carried: Given = {name: (one, cells if name in READ else row) for name, one in tensors.items()}
    step: Given = {"token": (torch.zeros(SAMPLES, dtype=torch.long), row), **sizes, **carried}
    looks = [] if score is None else ["weights"]
    outputs = ["log_probs", *looks, *(f"next_{name}" for name in CHANGES if name in tensors)]
    decoder = StepGraph(module, score, list(step))
    return {"encoder": (ReadGraph(module, reads), source, list(tensors)), "decoder": (decoder, step, outputs)}


def _source(sizes: Mapping[str, Any], row: Mapping[int, Any], rectangle: Mapping[int, Any]) -> Given:
    """A sample of what a system with these sizes reads. No size of it is 1: torch would take that for a constant."""
    if "height" in sizes:
        return {"pixels": (torch.zeros(SAMPLES, sizes["channels"], sizes["height"], sizes["width"]), row)}
    return {"tokens": (torch.zeros(SAMPLES, 5, dtype=torch.long), rectangle), "lengths": (torch.tensor([5, 3, 4]), row)}
