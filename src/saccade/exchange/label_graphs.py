"""Systems that label or count, as one graph each that ONNX can say: the tensors of an input in, logits or numbers out."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade.attention import allow, lengths
from saccade.attention.live import live
from saccade.data.examples import Bag, Picture, PictureQuestion
from saccade.exchange import families
from saccade.exchange.recurrent_nodes import replace_recurrent
from saccade.trained import TrainedModel

SOFTMAX = {"model.normalize": ("softmax",)}
ASKED = {**SOFTMAX, "reader.backbone": ("",)}  # of pictures and questions
NEEDS: families.Needs = {
    "ask_attend_answer": ASKED,
    "atae_lstm": SOFTMAX,
    "attention_mil": {**SOFTMAX, "model.pool": ("attention", "gated", "mean")},
    "bag_of_words": {},
    "deep_sets": {"model.pool": ("sum", "mean")},
    "document_attention": SOFTMAX,
    "gat": {},
    "han": SOFTMAX,
    "se_resnet": {},
    "show_ask_attend_answer": ASKED,
    "stacked_attention": ASKED,
}
# Axes of the tensors of an input; what is not named here has a fixed size.
AXES = {
    "tokens": ("batch", "words"),
    "lengths": ("batch",),
    "spelling": ("batch", "words", "pieces"),
    "aspect": ("batch", "aspect_words"),
    "aspect_lengths": ("batch",),
    "aspect_spelling": ("batch", "aspect_words", "aspect_pieces"),
    "distance": ("batch", "words"),
    "items": ("items",),
    "sizes": ("batch",),
    "pixels": ("batch",),
    "nodes": ("batch",),
}
TEXTS = ("word or words in other texts", "some more words", "any words as well")  # only their sizes are seen
Given = dict[str, tuple[Tensor, Mapping[int, Any]]]


class LabelGraph(nn.Module):
    """The output of a system from the tensors of its input, by their names."""

    model: Any

    def __init__(self, model: nn.Module, sample: Any, names: list[str]) -> None:
        super().__init__()
        self.model, self.sample, self.names = model, sample, names

    def forward(self, *tensors: Tensor) -> Tensor:
        input = with_tensors(self.sample, dict(zip(self.names, tensors, strict=True)))
        output: Tensor = self.model.logits(input) if hasattr(self.model, "logits") else self.model.numbers(input)
        return output


class DocumentGraph(nn.Module):
    """That of `han`, which reads sentences of like length together: here all of a rectangle, a sentence a row.

    Shapes: tokens (B, S, K), lengths (B, S) -> logits (B, labels)
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, sizes: Tensor) -> Tensor:
        own, there = sizes.flatten(), sizes > 0
        words = self.model.embedding(tokens.flatten(0, 1))
        sentences = self.model.words(words, live(own, tokens.shape[2]), lengths(own))
        documents = self.model.sentences(sentences.view(*tokens.shape[:2], -1), there, allow(there[:, None]))
        logits: Tensor = self.model.output(documents)
        return logits


def tensors_of(input: Any) -> dict[str, Tensor]:
    """The tensors of an input by their names, of a picture and a question those of both."""
    parts = {field.name: getattr(input, field.name) for field in fields(input)}
    inner = [tensors_of(one) for one in parts.values() if is_dataclass(one)]
    own = {name: one for name, one in parts.items() if isinstance(one, Tensor)}
    return {name: one for each in (own, *inner) for name, one in each.items()}


def with_tensors(input: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The same input with others of these names."""
    parts = {field.name: getattr(input, field.name) for field in fields(input)}
    changed = {name: one for name, one in parts.items() if is_dataclass(one) and tensors_of(one).keys() & tensors.keys()}
    inner = {name: with_tensors(one, tensors) for name, one in changed.items()}
    return replace(input, **inner, **{name: tensors[name] for name in parts if name in tensors})


def graph(model: TrainedModel) -> tuple[nn.Module, Given, str]:
    """What is traced, its inputs by name with those of their axes that may be of any size, and the name of the output."""
    module = copy.deepcopy(model.module).cpu().eval()
    replace_recurrent(module)
    if model.system == "han":
        return DocumentGraph(module), _document(), "logits"
    sample = _sample(model)
    tensors = tensors_of(sample)
    names = [name for name in tensors if name in AXES]
    axes = {name: torch.export.Dim(name, min=2) for own in AXES.values() for name in own}
    given: Given = {name: (tensors[name], {i: axes[axis] for i, axis in enumerate(AXES[name])}) for name in names}
    return LabelGraph(module, sample, names), given, "logits" if hasattr(module, "logits") else "numbers"


def _document() -> Given:
    batch, sentences, words = (torch.export.Dim(name, min=2) for name in ("batch", "sentences", "words"))
    sizes = torch.tensor([[4, 2, 3], [3, 0, 0]])
    rows = {0: batch, 1: sentences}
    return {"tokens": (torch.zeros(2, 3, 4, dtype=torch.long), {**rows, 2: words}), "lengths": (sizes, rows)}


def _sample(model: TrainedModel) -> Any:
    """An input of this system, made of nothing: no size of it is 1, and no two are equal that may differ."""
    reader, sizes = model.task.reader, model.task.sizes()
    shape = sizes.get("shape") or ()
    if model.system == "gat":
        whole = reader.encode([0, 1, 2]).batch(range(3))
        dense = whole.features if whole.features.layout == torch.strided else whole.features.to_dense()
        return replace(whole, features=dense)
    made: dict[type, Callable[[], list[Any]]] = {
        Picture: lambda: [Picture(np.zeros((sizes["height"], sizes["width"], sizes["channels"]), np.uint8))] * 3,
        Bag: lambda: [Bag(np.zeros((size, *shape), np.float32)) for size in (5, 2, 4)],
    }
    kind = Picture if "height" in sizes else Bag if shape else str
    inputs = made[kind]() if kind in made else list(TEXTS)
    if reader.INPUT is PictureQuestion:
        inputs = [PictureQuestion(*pair) for pair in zip(inputs, TEXTS, strict=True)]
    if model.system == "atae_lstm":
        inputs = [f"{text} | {aspect}" for text, aspect in zip(TEXTS, ("a b", "a b c d", "b"), strict=True)]
    sample = reader.encode(inputs).batch(range(3))
    # Of words that nobody knows there are no letters.
    spelled = {name: one for name, one in tensors_of(sample).items() if name in ("spelling", "aspect_spelling")}
    return with_tensors(sample, {name: one.new_zeros(*one.shape[:2], 3) for name, one in spelled.items()})


def repeat_interleave(repeats: Any, output_size: Any = None) -> Any:
    """For each item its bag, by how many ends of bags lie before it: onnxscript's own form takes no `output_size`."""
    import onnxscript

    op: Any = onnxscript.opset18  # whose types are narrower than what it takes
    first, last = op.Constant(value_ints=[0]), op.Constant(value_ints=[1])
    ends = op.Unsqueeze(op.CumSum(repeats, op.Constant(value_int=0)), first)
    count = op.ReduceSum(repeats, keepdims=0)
    items = op.Unsqueeze(op.Range(op.Constant(value_int=0), count, op.Constant(value_int=1)), last)
    return op.ReduceSum(op.Cast(op.GreaterOrEqual(items, ends), to=7), last, keepdims=0)
