"""Every dropout that a config has is applied, wherever it should be, in training and not else.

The fields are found by their names. Each needs a line in `SITES`: how often a training step strikes out with this chance.
A site that is lost, or a field that nothing reads, changes the count.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from saccade.data.documents import document_batch
from saccade.data.ragged import joined
from saccade.data.text import LabeledAspects, LabeledTexts, padded
from saccade.layers.nodes import NodeBatch
from torch import Tensor
from torch.nn import functional as F

from saccade import systems
from saccade.attention import Graph
from saccade.data.examples import Bag
from saccade.data.picture_sets import set_batch
from saccade.layers import dropout, gat_conv, multihead

from .samples import SIZE, batch, rows, small

CHANCE = 0.37  # that nothing else has
LABELS, RUNS = 3, 6
DICE = np.random.default_rng(0)
FIELDS = [
    (name, field.name)
    for name in systems.names()
    for field in dataclasses.fields(systems.load(name).Config)
    if "dropout" in field.name
]
READ = torch.randint(1, 1 + RUNS, (len(rows()[0]), max(map(len, rows()[0])), 3), generator=torch.Generator().manual_seed(1))

# What is given beside the dropout, and how many times something is struck out.
SITES: dict[tuple[str, str], list[tuple[dict[str, Any], int]]] = {
    # The text's words and the aspect's.
    ("atae_lstm", "word_dropout"): [({}, 2)],
    ("atae_lstm", "letter_dropout"): [({}, 2)],
    # Vectors of words, and what the output reads.
    ("atae_lstm", "dropout"): [({}, 2)],
    # Behind each layer of a perceptron, or of LeNet's last.
    ("attention_mil", "dropout"): [({}, 3), ({"widths": (7,)}, 1), ({"shape": (20, 20)}, 1)],
    # Drawn for each feature, by no module: the next tests tell.
    ("bag_of_words", "word_dropout"): [({}, 0), ({"features": "binary", "ngrams": 2}, 0)],
    ("bag_of_words", "dropout"): [({}, 1), ({"hidden": 5}, 2)],
    # Vectors of words on both sides, the deep output, and between the reader's layers in each direction.
    ("bahdanau", "dropout"): [({}, 3), ({"layers": 2}, 5), ({"layers": 3, "directions": 1}, 5), ({"readout": 0}, 3)],
    ("document_attention", "word_dropout"): [({}, 1), ({"pool": "mean"}, 1)],
    ("document_attention", "letter_dropout"): [({}, 1)],
    ("document_attention", "dropout"): [({}, 2), ({"reader": "gru"}, 2)],
    # In each layer features, weights and values.
    ("gat", "dropout"): [({}, 6), ({"layers": 3}, 9)],
    # Words (in two groups of like length), sentences, and what the output reads.
    ("han", "dropout"): [({}, 4)],
    # Vectors of words on both sides, what the output reads, and between layers; fed with what it saw, at each of six steps
    # behind every layer.
    ("luong", "dropout"): [({"feeding": "none"}, 3), ({"feeding": "none", "layers": 3}, 7), ({"layers": 2}, 4 + 12)],
    ("point_cloud", "dropout"): [({}, 2)],
    # Vectors of words on both sides, and between the layers of both.
    ("seq2seq", "dropout"): [({"layers": 1}, 2), ({"layers": 3}, 6)],
    ("set_expansion", "dropout"): [({}, 1)],
    # Before each layer and the output.
    ("set_outlier", "dropout"): [({"layers": 2}, 3), ({"layers": 3}, 4)],
    # Vectors of words on both sides, two parts of each layer that reads, three of each that writes.
    ("transformer", "dropout"): [
        ({}, 12),
        ({"encoder_layers": 1, "decoder_layers": 3}, 13),
        ({"norm": "pre"}, 12),
        ({"mixer": "light"}, 12),
    ],
    # What mixes positions in each layer, and what looks at the source.
    ("transformer", "attention_dropout"): [
        ({}, 6),
        ({"encoder_layers": 1, "decoder_layers": 3}, 7),
        ({"normalize": "sparsemax"}, 6),
        ({"mixer": "light"}, 6),
        ({"mixer": "dynamic"}, 6),
    ],
    ("transformer", "activation_dropout"): [({}, 4), ({"encoder_layers": 1, "decoder_layers": 2}, 3)],
}


def texts() -> LabeledTexts:
    source, lengths = padded(rows()[0])
    return LabeledTexts(source, lengths, torch.arange(len(source)) % LABELS, spelled=READ)


def aspects() -> LabeledAspects:
    read = texts()
    aspect, lengths = padded([[4], [5, 6], [9, 9, 7], [10], [8]])
    spelled = {"spelled": READ, "aspect_spelled": READ[:, : aspect.shape[1]]}
    return LabeledAspects(read.source, read.lengths, read.label, aspect, lengths, **spelled)


def documents() -> Any:
    found = [([4, 5, 6, 7, 8, 9, 10], [3, 1, 3]), ([5, 5], [2]), ([6, 10, 4, 4, 7, 9, 8], [5, 2])]
    return document_batch([(np.array(ids, np.int32), np.array(sizes, np.int32)) for ids, sizes in found], torch.arange(3))


def bags(shape: tuple[int, ...] = (5,)) -> Any:
    found = [Bag(DICE.normal(size=(size, *shape)).astype(np.float32), "") for size in (3, 1, 6, 2)]
    return joined(found, [1, 0, 1, 0])


def nodes() -> NodeBatch:
    edges = torch.randint(0, 9, (2, 30), generator=torch.Generator().manual_seed(2))
    features = torch.randn(9, 12, generator=torch.Generator().manual_seed(3))
    return NodeBatch(Graph(edges, 9), features, None, torch.arange(9), torch.arange(9) % LABELS)


def words() -> Any:
    return set_batch([DICE.integers(4, SIZE, size) for size in (3, 1, 6, 2)], np.array([5, 6, 7, 8]))


# The arguments of a model beside its config, and a batch that it reads, by the system's task or its own name.
GIVEN: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "text_to_text": ({"source_size": SIZE, "target_size": SIZE}, batch),
    "text_to_label": ({"source_size": SIZE, "labels": LABELS}, texts),
    "document_attention": ({"source_size": SIZE, "labels": LABELS, "runs": RUNS}, texts),
    "aspect_to_label": ({"source_size": SIZE, "labels": LABELS, "runs": RUNS}, aspects),
    "document_to_label": ({"source_size": SIZE, "labels": LABELS}, documents),
    "bags_to_labels": ({"shape": (5,), "labels": 2}, bags),
    "nodes_to_labels": ({"features": 12, "labels": LABELS}, nodes),
    "sets_to_words": ({"words": SIZE}, words),
    "sets_to_items": ({"shape": (5,)}, bags),
}


def made(name: str, **given: Any) -> tuple[Any, Any]:
    """A model with no dropout but what is given, and its batch."""
    module = systems.load(name)
    sizes, read = GIVEN[name if name in GIVEN else module.TASK]
    none = {field: 0.0 for system, field in FIELDS if system == name}
    shape = {"shape": given.pop("shape")} if "shape" in given else {}
    model = module.Model(small(module.Config, **{**none, **given}), **{**sizes, **shape})
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return model, read(*shape.values())


def output(model: Any, read: Any) -> Tensor:
    """What training reads of a model: its logits, or, where it writes texts, the loss."""
    found: Tensor = model.loss(read) if hasattr(model, "step") else model(read)
    return found.detach()


class Struck:
    """Every use of CHANCE: how many there were, and of the numbers there, how many were not zero, and are now."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, self.numbers, self.lost = 0, 0, 0
        self.patch = monkeypatch
        self.watch(F, "dropout", lambda x, p=0.5, training=True, inplace=False: p * training)
        self.watch(dropout, "drop", lambda x, chance: chance)
        for module, name in ((multihead, "attend"), (gat_conv, "attend_edges")):
            self.watch(module, name, lambda *args, dropout=0.0, **others: dropout, looks=True)
        self.watch(dropout.WordDropout, "forward", lambda layer, ids: layer.share * layer.training, ids=True)

    def watch(self, where: Any, name: str, chance: Callable[..., float], *, looks: bool = False, ids: bool = False) -> None:
        """Count the calls of a function that strikes out."""
        original = getattr(where, name)

        def called(*args: Any, **words: Any) -> Any:
            found = original(*args, **words)
            if chance(*args, **words) == CHANCE:
                self.calls += 1
                if not looks:
                    self.compare(args[-1] if ids else args[0], found, ids)
            return found

        self.patch.setattr(where, name, called)

    def compare(self, before: Tensor, after: Tensor, ids: bool) -> None:
        """What is left is scaled up so that the mean stays; of ids, what is left is itself."""
        stays = (after == before) if ids else after != 0
        counts = (before != 0) & ~(ids & (before == 3))  # padding has nothing to lose, the unknown word neither
        self.numbers, self.lost = self.numbers + int(counts.sum()), self.lost + int((counts & ~stays).sum())
        if not ids:
            torch.testing.assert_close(after[stays], before[stays] / (1 - CHANCE))


def test_every_dropout_has_its_line() -> None:
    assert {*FIELDS} == {*SITES}, "a dropout of a config needs a line in SITES"


CASES = [(name, field, given, count) for (name, field), cases in SITES.items() for given, count in cases]
each = pytest.mark.parametrize(("name", "field", "given", "count"), CASES, ids=str)


@each
def test_it_is_applied_in_training_and_nowhere_else(
    name: str, field: str, given: dict[str, Any], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, read = made(name, **{field: CHANCE}, **given)
    struck = Struck(monkeypatch)
    one, other = (output(model.train(), read) for _ in range(2))
    assert not torch.equal(one, other)
    assert struck.calls == 2 * count
    if struck.numbers > 500:
        spread = (CHANCE * (1 - CHANCE) / struck.numbers) ** 0.5
        assert struck.lost / struck.numbers == pytest.approx(CHANCE, abs=5 * spread)
    struck.calls = 0
    one, other = (output(model.eval(), read) for _ in range(2))
    assert torch.equal(one, other)
    assert struck.calls == 0


@pytest.mark.parametrize("name", dict(FIELDS))
def test_without_it_training_is_what_evaluation_is(name: str) -> None:
    model, read = made(name)
    assert torch.equal(output(model.train(), read), output(model.train(), read))
    torch.testing.assert_close(output(model.train(), read), output(model.eval(), read), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("features", ["vectors", "binary"])
def test_so_many_features_of_a_bag_of_words_are_struck_out(features: str) -> None:
    model, read = made("bag_of_words", word_dropout=CHANCE, features=features, ngrams=2, pool="sum")
    whole = torch.cat([model.eval().features(read)[1] for _ in range(30)])
    left = torch.cat([model.train().features(read)[1] for _ in range(30)])
    assert whole.eq(1).sum() > 500
    assert left[whole == 0].eq(0).all()
    assert 1 - left[whole == 1].mean().item() == pytest.approx(CHANCE, abs=0.05)
