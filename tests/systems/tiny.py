"""A small task for every system: examples for each kind of reader and writer, what is fitted on them, a model, batches.

A new kind of reader or writer needs a function in `INPUTS` or a list in `TARGETS`.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from saccade import config, systems
from saccade.data.examples import Bag, Example, Fact, Facts, Node, Pair, Picture, PictureQuestion, Question, Splits, Story
from saccade.data.formats.graph_files import GraphData
from saccade.data.formats.pickles import Csr
from saccade.data.tensors import Batch
from saccade.search import Config as SearchConfig
from saccade.task import Task
from saccade.training.settings import Settings, resolve
from saccade.writers.writer import Options

from .samples import small

COUNT = 5  # examples, of very different sizes

TEXTS = ["red fox", "the dog runs over a hill .", "sun", "one bird sings", "a red bird runs to the sun ."]
ASPECTS = ["fox", "a hill", "moon", "bird", "the sun"]
DOCUMENTS = [
    "A red fox. The dog runs over one green hill. Sun!",
    "Sun and moon.",
    "One bird sings. The dog runs.",
    "Nobody knows why the red bird runs to the sun. It does.",
    "No.",
]
PIECES = [
    "red [MASK]",
    Pair("the dog runs over a hill .", "it [MASK] fast . [MASK] it"),
    "[MASK] sun",
    "one bird sings [MASK]",
    Pair("a red bird", "it runs to the [MASK] ."),
]
STORIES = [
    Story(("red fox .", "the dog runs over a hill ."), "who runs ?", (1,)),
    Story(("sun .",), "what is there ?"),
    Story(("one bird sings .", "the red bird runs to the sun .", "a fox .", "the hill ."), "who runs to the sun ?", (1, 2)),
    Story(("moon .", "the dog runs ."), "who runs over a hill ?"),
    Story(("a bird .", "the bird sings .", "red sun ."), "who sings ?", (1,)),
]
FACTS = Facts(
    (
        Fact("Red Hill", "shot by", "Ada Fox"),
        Fact("Red Hill", "year", "1994"),
        Fact("Moon", "shot by", "Bo Bird"),
        Fact("The Sun", "year", "1994"),
        Fact("The Sun", "shot by", "Ada Fox"),
    )
)
ASKED = ["who shot Red Hill?", "when was the sun made?", "what did Ada Fox shoot?", "what is from 1994?", "whose is Moon?"]
QUESTIONS = [Pair("who runs ?", text) for text in TEXTS]
SETS = ["red green", "fox dog bird dog sun moon", "sun", "hill red moon", "bird fox"]


def bags() -> list[Bag]:
    """Rows of three features, one of them marked."""
    dice = np.random.default_rng(0)
    sizes = (3, 2, 7, 4, 2)
    marks = [np.eye(size, dtype=np.int64)[size // 2] for size in sizes]
    return [Bag(dice.normal(size=(size, 3)).astype(np.float32), own) for size, own in zip(sizes, marks, strict=True)]


def pictures() -> list[Picture]:
    """Pictures of 12 × 10 pixels in color."""
    pixels = np.random.default_rng(0).integers(0, 256, (COUNT, 12, 10, 3), dtype=np.uint8)
    return [Picture(one) for one in pixels]


def graph() -> GraphData:
    """Nine nodes with eight features; one has no neighbor."""
    dice, count, width = np.random.default_rng(0), 9, 8
    features = dice.normal(size=count * width).astype(np.float32)
    columns = np.tile(np.arange(width), count)
    matrix = Csr(np.arange(0, (count + 1) * width, width), columns, features, width)
    edges = np.array([[0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 7], [1, 0, 2, 1, 0, 2, 3, 4, 5, 6, 0]])
    parts = np.arange(COUNT), np.arange(COUNT, 7), np.arange(7, count)
    return GraphData(matrix, np.arange(count) % 3, edges, *parts, ("a", "b", "c"))


INPUTS: dict[str, Callable[[], Sequence[Any]]] = {
    "text": lambda: TEXTS,
    "words": lambda: TEXTS,
    "aspect": lambda: [f"{text} | {aspect}" for text, aspect in zip(TEXTS, ASPECTS, strict=True)],
    "document": lambda: DOCUMENTS,
    "pieces": lambda: PIECES,
    "bag": bags,
    "set": lambda: SETS,
    "picture": pictures,
    "picture_question": lambda: [PictureQuestion(*pair) for pair in zip(pictures(), TEXTS, strict=True)],
    "word_picture": pictures,
    "story": lambda: STORIES,
    "facts": lambda: list(map(Question, ASKED)),
    "bits": lambda: ["01 11 > . .", "10 > .", "11 00 01 > . . .", "01@0.5 > .", "10 times=2 11 > . ."],
    "node": lambda: [Node(number) for number in range(COUNT)],
}
TARGETS: dict[str, list[str]] = {
    "text": ["a fox", "the hill .", "sun", "it sings , one bird does", "to the sun ."],
    "caption": ["a fox", "the hill .\na hill", "sun", "it sings , one bird does", "to the sun ."],
    "label": ["a", "b", "c", "a", "b"],
    "answer": ["a", "b\nc\nb", "c", "a", "b"],
    "candidate": ["dog", "sun", "bird", "red, fox", "bird"],
    "number": ["4", "11", "2", "7", "5"],
    "item": [""] * COUNT,  # it is marked in the input
    "continuation": TEXTS,
    "word": ["moon", "red", "fox", "bird", "sun"],
    "masked": TEXTS,
    "permuted": TEXTS,
    "bits": ["01 11", "10", "11 00 01", "01", "10 11"],
    "tags": [" ".join("ab"[len(word) % 2] for word in text.split()) for text in TEXTS],
    "span": ["red fox", "dog", "", "one bird", "the sun"],
    "vector": [""] * COUNT,
}
NAMED = ["Ada Fox", "1994", "Red Hill\nThe Sun", "The Sun\nRed Hill", "Bo Bird"]  # answers about the facts
# Inputs where a task needs others than its reader's.
OF_TASKS: dict[str, Sequence[Any]] = {"tags": TEXTS, "span": QUESTIONS}
PLAIN = {"metric": "exact_match", "label_smoothing": 0.0, "share_tokenizer": False}
CHARACTERS: config.Table = {"tokens": {"kind": "char"}, "writer": PLAIN}
WORDS: config.Table = {"reader": {"spelling": 0}, "writer": {"agreement": 0.0}}
# What a system needs beside small sizes.
GIVEN: dict[str, config.Table] = {
    "transformer": {
        "tokens": {"kind": "char"},
        "writer": {**PLAIN, "share_tokenizer": True},
        "model": {"positions": "sinusoidal", "final_norm": "both"},
    },
    "bahdanau": CHARACTERS,
    "luong": CHARACTERS,
    "seq2seq": CHARACTERS,
    "document_attention": WORDS,
    "atae_lstm": WORDS,
    "bag_of_words": {"writer": {"agreement": 0.0}},
    "attention_mil": {"model": {"hidden_sizes": (9, 7)}},
    "deep_sets": {"model": {"hidden_sizes": (9, 7)}},
    "bert": {"model": {"num_heads": 4, "max_positions": 32}, "reader": {"max_length": 32}, "tokens": {"kind": "word"}},
    "roberta": {"model": {"num_heads": 4, "max_positions": 32}, "reader": {"max_length": 14}, "tokens": {"kind": "word"}},
    "xlnet": {"model": {"num_heads": 4}, "reader": {"max_length": 14}, "tokens": {"kind": "word"}},
    "memory_network": {"model": {"num_hops": 2, "linear_steps": 0}},
    "gpt2": {"model": {"num_heads": 4}, "writer": {"context_length": 12}},
    "lstmn": {"writer": {"context_length": 12}},
    "ram": {"model": {"glimpse_size": 4, "num_glimpses": 3, "num_scales": 2}},
    "picture_network": {"model": {"filter_size": 4, "dropout": 0.3}},
    "show_attend_read": {"reader": {"height": 12, "width": 20}},
    "se_resnet": {"model": {"reduction": 4}, "writer": {"label_smoothing": 0.0}},
}
LOUD = {"se_resnet": 0.7} | dict.fromkeys(
    ("show_attend_tell", "show_attend_read", "ask_attend_answer", "show_ask_attend_answer", "stacked_attention"), 1.0
)  # what parameters are multiplied by where 1.5 would be too much


class Tiny(NamedTuple):
    """A task with its examples and a model."""

    settings: Settings
    task: Task
    examples: Sequence[Example]
    model: Any

    @property
    def rows(self) -> range:
        """The rows of the corpus: examples, or what the writer makes of them."""
        return range(len(self.task.corpus(self.examples).lengths))

    def batch(self, chosen: Sequence[int] | None = None) -> Batch:
        """The batch of all rows, or of these."""
        return self.task.corpus(self.examples).batch(self.rows if chosen is None else chosen)


@cache
def examples(reads: str, writes: str) -> Splits:
    """Training examples of these kinds of input and target."""
    if reads == "node":
        return graph().splits()
    inputs = OF_TASKS[writes] if writes in OF_TASKS else INPUTS[reads]()
    targets = NAMED if reads == "facts" else TARGETS[writes]
    pairs = enumerate(zip(inputs, targets, strict=True))
    shared = FACTS if reads == "facts" else None
    return Splits([Example(one, target, name=f"example {number}") for number, (one, target) in pairs], [], [], shared=shared)


@cache
def fitted(name: str, of: str = "") -> tuple[Settings, Task, Sequence[Example]]:
    """The settings of a small model, its task, and the examples that this was fitted on; `of`: one of the system's tasks."""
    module, given = systems.load(name), GIVEN.get(name, {})
    model = config.plain(small(module.Config, **given.get("model", {})))
    settings = resolve({"system": name, "task": of, **given, "model": model})
    splits = examples(*systems.sides(name, of))
    return settings, Task.fit(settings, splits), splits.train


def tiny(name: str, of: str = "", **changed: Any) -> Tiny:
    """A small model, always the same, with parameters large enough that everything it reads makes a difference."""
    settings, task, known = fitted(name, of)
    settings = dataclasses.replace(settings, model=dataclasses.replace(settings.model, **changed))
    torch.manual_seed(5)
    model = systems.load(name).Model(settings.model, **task.sizes())
    return Tiny(settings, task, known, loudly(model, LOUD.get(name, 1.5)).eval())


def loudly(model: nn.Module, loud: float) -> nn.Module:
    """All parameters made larger, and none zero."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter)).mul_(loud)
    return model


def without_dropout(name: str) -> dict[str, Any]:
    """Every dropout of a system's config, at 0."""
    return {field.name: 0.0 for field in dataclasses.fields(systems.load(name).Config) if "dropout" in field.name}


def options(*, looks: bool = False, **search: Any) -> Options:
    """How predictions are made; texts are short."""
    return Options(SearchConfig(**{"max_length": 9, **search}), looks)


def loss_of(model: Any, batch: Batch) -> Tensor:
    """The summed loss of a batch; a system that draws something draws the same every time."""
    torch.manual_seed(9)
    found: Tensor = model(batch).loss
    return found


def output_of(model: Any, batch: Batch) -> Tensor:
    """What the writer reads of a model for this batch: logits, numbers or scores; where it writes texts, the loss."""
    for name in ("logits", "numbers", "scores"):
        if hasattr(model, name):
            found: Tensor = getattr(model, name)(batch.input)
            return found
    return loss_of(model, batch)
