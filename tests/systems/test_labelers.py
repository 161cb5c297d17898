"""Every system that writes a label for a text: a loss that reaches all of it, and results that hang on nothing else."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from saccade import systems
from saccade.data.text import LabeledTexts, padded
from saccade.data.tokenizers import UNKNOWN
from saccade.tasks.text_to_label import TextCorpus

from .samples import SIZE, close, gradients, rows, small

LABELS = 3
WITHOUT_ORDER = [("bag_of_words", {}), ("bag_of_words", {"features": "binary"}), ("document_attention", {})]
CASES = [
    ("bag_of_words", {}),
    ("bag_of_words", {"features": "binary", "ngrams": 2}),
    ("bag_of_words", {"ngrams": 3, "hidden": 5, "pool": "sum"}),
    ("document_attention", {}),
    ("document_attention", {"query": "context", "normalize": "sparsemax"}),
    ("document_attention", {"reader": "gru"}),
    ("document_attention", {"pool": "mean"}),
]
each = pytest.mark.parametrize(("name", "given"), CASES, ids=lambda case: str(case))


def labeler(name: str, given: dict[str, Any]) -> Any:
    module = systems.load(name)
    torch.manual_seed(2)
    made = module.Model(small(module.Config, **given), source_size=SIZE, labels=LABELS)
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return made.eval()


def batch(chosen: list[int] | None = None) -> LabeledTexts:
    sources, _ = rows()
    chosen = list(range(len(sources))) if chosen is None else chosen
    return LabeledTexts(*padded([sources[i] for i in chosen]), torch.tensor([i % LABELS for i in chosen]))


def test_every_such_system_is_tried() -> None:
    known = {name for name in systems.names() if systems.load(name).TASK == "text_to_label"}
    assert known == {name for name, _ in CASES}


@each
def test_its_loss_reaches_every_weight(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    loss = made.loss(batch())
    assert 0 < loss.item() < float("inf")
    context = given.get("query") == "context"  # then nobody asks with the learned query
    for weight, grad in gradients(made, loss).items():
        assert grad.isfinite().all(), weight
        assert grad.abs().sum() > 0 or (context and weight == "pool.query"), weight


@each
def test_one_text_alone_is_the_same_as_in_a_batch(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    together = made(batch())
    for i in range(len(together)):
        torch.testing.assert_close(made(batch([i]))[0], together[i], atol=1e-5, rtol=1e-5)


@each
def test_padding_changes_nothing(name: str, given: dict[str, Any]) -> None:
    made, clean = labeler(name, given), batch()
    live = torch.arange(clean.source.shape[1]) < clean.lengths[:, None]
    dirty = replace(clean, source=torch.nn.functional.pad(clean.source.where(live, SIZE - 1), (0, 2), value=5))
    close(gradients(made, made.loss(clean)), gradients(made, made.loss(dirty)), 1e-5)
    torch.testing.assert_close(made(clean), made(dirty), atol=1e-5, rtol=1e-5)


@each
def test_an_empty_text_has_a_label_too(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    empty = LabeledTexts(*padded([[4, 5], []]), torch.tensor([0, 1]))
    assert made(empty).isfinite().all()
    alone = TextCorpus([[]], np.zeros(1, dtype=np.int64)).batch([0])
    torch.testing.assert_close(made(alone)[0], made(empty)[1], atol=1e-5, rtol=1e-5)
    assert all(grad.isfinite().all() for grad in gradients(made, made.loss(empty)).values())


@pytest.mark.parametrize(("name", "given"), WITHOUT_ORDER)
def test_the_order_of_words_does_not_matter(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    words = [4, 9, 5, 5, 7]
    one, other = (LabeledTexts(*padded([row]), torch.tensor([0])) for row in (words, words[::-1]))
    torch.testing.assert_close(made(one), made(other), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("name", "given"), [("bag_of_words", {"ngrams": 2}), ("document_attention", {"reader": "gru"})])
def test_where_it_is_read_the_order_does(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    one, other = (LabeledTexts(*padded([row]), torch.tensor([0])) for row in ([4, 9, 5], [5, 9, 4]))
    assert not torch.allclose(made(one), made(other), atol=1e-4)


def test_who_asks_with_the_mean_is_shown_by_what_it_chose() -> None:
    made = labeler("document_attention", {"query": "context"})
    assert list(made.glance(batch())) == ["pool"]


def test_binary_features_count_once() -> None:
    made = labeler("bag_of_words", {"features": "binary"})
    one, other = (LabeledTexts(*padded([row]), torch.tensor([0])) for row in ([4, 9], [4, 9, 4, 4]))
    torch.testing.assert_close(made(one), made(other))


@each
def test_it_attends_where_words_are_weighed_against_each_other(name: str, given: dict[str, Any]) -> None:
    made, long = labeler(name, given), batch([1])  # of seven words
    weights = [look.detach().flatten() for look in made.glance(long).values()]
    assert systems.attends(name, made.config) == any(float(one.max() - one.min()) > 1e-3 for one in weights)


def test_where_it_looked_is_what_it_weighed_by() -> None:
    made = labeler("document_attention", {})
    seen = made.glance(batch())
    assert list(seen) == ["pool"]
    assert seen["pool"].shape == (5, 1, 1, 7)
    torch.testing.assert_close(seen["pool"].sum(-1), torch.ones(5, 1, 1))
    for row, length in zip(seen["pool"], batch().lengths.tolist(), strict=True):
        assert not row[..., length:].any()
    words = made.words(batch())
    pooled = (seen["pool"][:, 0] @ words)[:, 0]
    torch.testing.assert_close(made.output(pooled), made(batch()), atol=1e-5, rtol=1e-5)


def test_word_dropout_teaches_what_to_make_of_unknown_words() -> None:
    made, every = labeler("document_attention", {"word_dropout": 0.5}), batch()
    known = replace(every, source=every.source.masked_fill(every.source == UNKNOWN, 4))
    assert not gradients(made, made.loss(known))["embedding.weight"][UNKNOWN].any()
    assert gradients(made, made.train().loss(known))["embedding.weight"][UNKNOWN].any()
