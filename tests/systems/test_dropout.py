"""Every dropout that a config has is applied, wherever it should be, in training and not else.

The fields are found by their names. Each needs a line in `SITES`: how often a training step applies a dropout of this rate.
A site that is lost, or a field that nothing reads, changes the count.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import systems
from saccade.data.tensors import BagInput, Batch, LabelTarget
from saccade.layers import dropout, gat_conv, multihead
from saccade.systems.han import of_like_length
from saccade.task import Task

from .samples import small
from .tiny import Tiny, examples, fitted, loudly, tiny, without_dropout

CHANCE = 0.37  # that nothing else has
FIELDS = [
    (name, field.name)
    for name in systems.names()
    for field in dataclasses.fields(systems.load(name).Config)
    if "dropout" in field.name
]
# What else differs between training and evaluation, switched off.
PLAIN: dict[str, dict[str, Any]] = {
    "show_attend_tell": {"max_shift": 0, "coverage": 0.0},
    "show_attend_read": {"max_shift": 0},
}
Count = int | Callable[[Batch], int]


def fed(batch: Batch) -> int:
    """Vectors of words on both sides, what the output reads, between two encoder layers, and behind both at each step."""
    return 4 + 2 * int(batch.target.tokens.shape[1])


def read_in_groups(batch: Batch) -> int:
    """Words, once for each group of sentences of like length, sentences, and what the output reads."""
    return len([*of_like_length(batch.input.lengths)]) + 2


# What is given beside the dropout, and how many times a dropout is applied.
SITES: dict[tuple[str, str], list[tuple[dict[str, Any], Count]]] = {
    # The words of the question, the cells of the picture, and what the output reads.
    ("ask_attend_answer", "word_dropout"): [({}, 1)],
    ("ask_attend_answer", "letter_dropout"): [({}, 1)],
    ("ask_attend_answer", "dropout"): [({}, 3), ({"num_hops": 1}, 3)],
    ("stacked_attention", "word_dropout"): [({}, 1)],
    ("stacked_attention", "letter_dropout"): [({}, 1)],
    ("stacked_attention", "dropout"): [({}, 3)],
    # The same, and what both glimpses show.
    ("show_ask_attend_answer", "word_dropout"): [({}, 1)],
    ("show_ask_attend_answer", "letter_dropout"): [({}, 1)],
    ("show_ask_attend_answer", "dropout"): [({}, 4)],
    # The text's words and the aspect's.
    ("atae_lstm", "word_dropout"): [({}, 2)],
    ("atae_lstm", "letter_dropout"): [({}, 2)],
    # Vectors of words, and what the output reads.
    ("atae_lstm", "dropout"): [({}, 2)],
    # Vectors of words, and what each layer gives.
    ("key_value_memory", "dropout"): [({}, 2)],
    ("picture_network", "dropout"): [({}, 1)],
    ("lstmn", "dropout"): [({}, 2), ({"num_layers": 2}, 3), ({"memory": "last"}, 2)],
    # Behind each layer of a perceptron, or of LeNet's last.
    ("attention_mil", "dropout"): [({"hidden_sizes": (9, 8, 7)}, 3), ({"hidden_sizes": (7,)}, 1), ({"shape": (20, 20)}, 1)],
    # Drawn for each feature, by no module: the next tests tell.
    ("bag_of_words", "word_dropout"): [({}, 0), ({"features": "binary", "ngrams": 2}, 0)],
    ("bag_of_words", "dropout"): [({}, 1), ({"hidden_size": 5}, 2)],
    # Vectors of tokens, and two parts of each layer; roberta's once more before the pooler, and before a label.
    ("bert", "dropout"): [({}, 5), ({"num_layers": 1}, 3)],
    ("bert", "attention_dropout"): [({}, 2), ({"num_layers": 1}, 1)],
    ("roberta", "dropout"): [({}, 5), ({"num_layers": 1}, 3)],
    ("roberta", "attention_dropout"): [({}, 2), ({"num_layers": 1}, 1)],
    # Vectors of words on both sides, the deep output, and between the reader's layers in each direction.
    ("bahdanau", "dropout"): [
        ({}, 3),
        ({"num_layers": 2}, 5),
        ({"num_layers": 3, "directions": 1}, 5),
        ({"readout_size": 0}, 3),
    ],
    ("document_attention", "word_dropout"): [({}, 1), ({"pool": "mean"}, 1)],
    ("document_attention", "letter_dropout"): [({}, 1)],
    ("document_attention", "dropout"): [({}, 2), ({"encoder": "gru"}, 2)],
    # Vectors of tokens, and two parts of each layer.
    ("gpt2", "dropout"): [({}, 5), ({"num_layers": 1}, 3)],
    ("gpt2", "attention_dropout"): [({}, 2), ({"num_layers": 1}, 1)],
    # In each layer features, weights and values.
    ("gat", "dropout"): [({}, 6), ({"num_layers": 3}, 9)],
    ("han", "dropout"): [({}, read_in_groups)],
    # Vectors of words on both sides, what the output reads, and between layers.
    ("luong", "dropout"): [({"feeding": "none"}, 3), ({"feeding": "none", "num_layers": 3}, 7), ({"num_layers": 2}, fed)],
    ("point_cloud", "dropout"): [({}, 2)],
    # Vectors of words on both sides, and between the layers of both.
    ("seq2seq", "dropout"): [({"num_layers": 1}, 2), ({"num_layers": 3}, 6)],
    ("set_expansion", "dropout"): [({}, 1)],
    # Before each layer and the output.
    ("set_outlier", "dropout"): [({"num_layers": 2}, 3), ({"num_layers": 3}, 4)],
    # The picture's features, vectors of letters, and what the output reads.
    ("show_attend_read", "dropout"): [({}, 3)],
    # The picture's features, vectors of words, and what the output reads.
    ("show_attend_tell", "dropout"): [({}, 3)],
    # Vectors of words on both sides, two parts of each layer that reads, three of each that writes.
    ("transformer", "dropout"): [
        ({}, 12),
        ({"encoder_layers": 1, "decoder_layers": 3}, 13),
        ({"norm": "pre"}, 12),
        ({"mixer": "light"}, 12),
    ],
    # Vectors of tokens and of distances, weights and three parts of each layer, the output; for the memory all but the last.
    ("xlnet", "dropout"): [({}, 17), ({"num_layers": 1}, 9)],
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


def made(name: str, *, shape: tuple[int, ...] = (), spelled: bool = False, **given: Any) -> tuple[Any, Batch]:
    """A model with no dropout but what is given, and its batch; of items of this `shape`, or with letters, if asked for."""
    keys = {**without_dropout(name), **PLAIN.get(name, {}), **given}
    if shape:
        return of_items(name, shape, keys)
    one = with_letters(name, keys) if spelled else tiny(name, **keys)
    return one.model, one.batch()


def of_items(name: str, shape: tuple[int, ...], keys: dict[str, Any]) -> tuple[Any, Batch]:
    """A model that labels bags of items of this shape, and four bags."""
    torch.manual_seed(5)
    module, sizes = systems.load(name), torch.tensor([3, 1, 6, 2])
    items = torch.randn(int(sizes.sum()), *shape)
    model = loudly(module.Model(small(module.Config, **keys), shape=shape, labels=2), 1.0)
    return model, Batch(BagInput(items, sizes), LabelTarget(torch.tensor([1, 0, 1, 0])))


def with_letters(name: str, keys: dict[str, Any]) -> Tiny:
    """A small model that also reads how words are spelled."""
    settings, _, known = fitted(name)
    reader, config = dataclasses.replace(settings.reader, spelling=1), dataclasses.replace(settings.model, **keys)
    settings = dataclasses.replace(settings, reader=reader, model=config)
    module = systems.load(name)
    task = Task.fit(settings, examples(module.READS, module.WRITES))
    torch.manual_seed(5)
    return Tiny(settings, task, known, loudly(module.Model(config, **task.sizes()), 1.5))


def training(model: nn.Module) -> nn.Module:
    """The model in training; batch norms, which differ there, stay as they are in evaluation."""
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    return model


def output(model: Any, batch: Batch) -> Tensor:
    """What a model puts out: logits or scores; where it writes texts, the loss."""
    name = next((name for name in ("logits", "scores") if hasattr(model, name)), None)
    found: Tensor = model(batch).loss if name is None else getattr(model, name)(batch.input)
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
        """Count the calls of a function that applies dropout."""
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
each = pytest.mark.parametrize(
    ("name", "field", "given", "count"), CASES, ids=[f"{name}-{field}-{given}" for name, field, given, _ in CASES]
)


@each
def test_it_is_applied_in_training_and_nowhere_else(
    name: str, field: str, given: dict[str, Any], count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: dict[str, Any] = {**given, field: CHANCE}
    model, batch = made(name, spelled=field == "letter_dropout", **keys)
    expected = count if isinstance(count, int) else count(batch)
    struck = Struck(monkeypatch)
    one, other = (output(training(model), batch) for _ in range(2))
    assert not torch.equal(one, other)
    assert struck.calls == 2 * expected
    if struck.numbers > 500:
        spread = (CHANCE * (1 - CHANCE) / struck.numbers) ** 0.5
        assert struck.lost / struck.numbers == pytest.approx(CHANCE, abs=5 * spread)
    struck.calls = 0
    one, other = (output(model.eval(), batch) for _ in range(2))
    assert torch.equal(one, other)
    assert struck.calls == 0


@pytest.mark.parametrize("name", dict(FIELDS))
def test_without_it_training_is_what_evaluation_is(name: str) -> None:
    model, batch = made(name)
    assert torch.equal(output(training(model), batch), output(training(model), batch))
    torch.testing.assert_close(output(training(model), batch), output(model.eval(), batch), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("features", ["vectors", "binary"])
def test_so_many_features_of_a_bag_of_words_are_dropped(features: str) -> None:
    model, batch = made("bag_of_words", word_dropout=CHANCE, features=features, ngrams=2, pool="sum")
    whole = torch.cat([model.eval().features(batch.input)[1] for _ in range(30)])
    left = torch.cat([model.train().features(batch.input)[1] for _ in range(30)])
    assert whole.eq(1).sum() > 500
    assert left[whole == 0].eq(0).all()
    assert 1 - left[whole == 1].mean().item() == pytest.approx(CHANCE, abs=0.05)
