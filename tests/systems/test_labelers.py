"""Every system that writes a label for a text: a loss that reaches all of it, and results that depend on nothing else."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn.functional import pad

from saccade import systems
from saccade.data.stored.ragged import Ragged
from saccade.data.tensors import Batch, LabelTarget, WordsInput, padded
from saccade.data.tokenizers import UNKNOWN
from saccade.readers.words import WordsColumn

from .looks import weights_of
from .samples import SIZE, VOCABULARY, close, gradients, rows, small

LABELS = 3
WITHOUT_ORDER = [
    ("bag_of_words", {"ngrams": 1}),
    ("bag_of_words", {"features": "binary", "ngrams": 1}),
    ("document_attention", {"encoder": "none"}),
]
CASES = [
    ("bag_of_words", {"ngrams": 1}),
    ("bag_of_words", {"features": "binary", "ngrams": 2}),
    ("bag_of_words", {"ngrams": 3, "hidden_size": 5, "pool": "sum"}),
    ("document_attention", {"encoder": "none"}),
    ("document_attention", {"encoder": "none", "query": "context", "normalize": "sparsemax"}),
    ("document_attention", {"encoder": "gru"}),
    ("document_attention", {"pool": "mean"}),
]
each = pytest.mark.parametrize(("name", "given"), CASES, ids=lambda case: str(case))


def labeler(name: str, given: dict[str, Any]) -> Any:
    module = systems.load(name)
    torch.manual_seed(2)
    made = module.Model(small(module.Config, **given), source=VOCABULARY, labels=LABELS)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made.eval()


def batch(chosen: list[int] | None = None) -> Batch:
    sources, _ = rows()
    chosen = list(range(len(sources))) if chosen is None else chosen
    return Batch(read(*(sources[i] for i in chosen)), LabelTarget(torch.tensor([i % LABELS for i in chosen])))


def read(*texts: list[int]) -> WordsInput:
    return WordsInput(*padded(texts))


def test_every_such_system_is_tried() -> None:
    known = {name for name in systems.names() if (systems.load(name).READS, systems.load(name).WRITES) == ("words", "label")}
    assert known == {name for name, _ in CASES}


@each
def test_its_loss_reaches_every_parameter(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    loss = made(batch()).loss
    assert 0 < loss.item() < float("inf")
    context = given.get("query") == "context"  # then the learned query is not used
    for parameter, grad in gradients(made, loss).items():
        assert grad.isfinite().all(), parameter
        assert grad.abs().sum() > 0 or (context and parameter == "pool.query"), parameter


@each
def test_one_text_alone_is_the_same_as_in_a_batch(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    together = made.logits(batch().input)
    for i in range(len(together)):
        torch.testing.assert_close(made.logits(batch([i]).input)[0], together[i], atol=1e-5, rtol=1e-5)


@each
def test_padding_changes_nothing(name: str, given: dict[str, Any]) -> None:
    made, clean = labeler(name, given), batch()
    tokens = clean.input.tokens
    live = torch.arange(tokens.shape[1]) < clean.input.lengths[:, None]
    dirty = replace(clean, input=replace(clean.input, tokens=pad(tokens.where(live, SIZE - 1), (0, 2), value=5)))
    close(gradients(made, made(clean).loss), gradients(made, made(dirty).loss), 1e-5)
    torch.testing.assert_close(made.logits(clean.input), made.logits(dirty.input), atol=1e-5, rtol=1e-5)


@each
def test_an_empty_text_has_a_label_too(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    empty = Batch(read([4, 5], []), LabelTarget(torch.tensor([0, 1])))
    logits = made.logits(empty.input)
    assert logits.isfinite().all()
    alone = WordsColumn(Ragged.of([[]])).batch([0])
    torch.testing.assert_close(made.logits(alone)[0], logits[1], atol=1e-5, rtol=1e-5)
    assert all(grad.isfinite().all() for grad in gradients(made, made(empty).loss).values())


@pytest.mark.parametrize(("name", "given"), WITHOUT_ORDER)
def test_the_order_of_words_does_not_matter(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    words = [4, 9, 5, 5, 7]
    one, other = (made.logits(read(row)) for row in (words, words[::-1]))
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("name", "given"), [("bag_of_words", {"ngrams": 2}), ("document_attention", {"encoder": "gru"})])
def test_where_it_is_read_the_order_does(name: str, given: dict[str, Any]) -> None:
    made = labeler(name, given)
    one, other = (made.logits(read(row)) for row in ([4, 9, 5], [5, 9, 4]))
    assert not torch.allclose(one, other, atol=1e-4)


def test_with_the_mean_as_its_query_only_what_the_query_weighed_is_shown() -> None:
    made = labeler("document_attention", {"query": "context"})
    assert list(weights_of(made, batch())) == ["attention pooling"]


def test_binary_features_count_once() -> None:
    made = labeler("bag_of_words", {"features": "binary", "ngrams": 1})
    one, other = (made.logits(read(row)) for row in ([4, 9], [4, 9, 4, 4]))
    torch.testing.assert_close(one, other)


@each
def test_it_attends_where_words_are_weighed_against_each_other(name: str, given: dict[str, Any]) -> None:
    made, long = labeler(name, given), batch([1])  # of seven words
    weights = [look.detach().flatten() for look in weights_of(made, long).values()]
    assert systems.attends(name, made.config) == any(float(one.max() - one.min()) > 1e-3 for one in weights)


def test_where_it_looked_is_what_it_weighed_by() -> None:
    made = labeler("document_attention", {})
    seen = weights_of(made, batch())
    assert list(seen) == ["attention pooling"]
    assert seen["attention pooling"].shape == (5, 1, 1, 7)
    torch.testing.assert_close(seen["attention pooling"].sum(-1), torch.ones(5, 1, 1))
    for row, length in zip(seen["attention pooling"], batch().input.lengths.tolist(), strict=True):
        assert not row[..., length:].any()
    words = made.words(batch().input)
    pooled = (seen["attention pooling"][:, 0] @ words)[:, 0]
    torch.testing.assert_close(made.output(pooled), made.logits(batch().input), atol=1e-5, rtol=1e-5)


def test_word_dropout_teaches_what_to_make_of_unknown_words() -> None:
    made, every = labeler("document_attention", {"word_dropout": 0.5}), batch()
    tokens = every.input.tokens.masked_fill(every.input.tokens == UNKNOWN, 4)
    known = replace(every, input=replace(every.input, tokens=tokens))
    assert not gradients(made, made(known).loss)["embedding.weight"][UNKNOWN].any()
    assert gradients(made, made.train()(known).loss)["embedding.weight"][UNKNOWN].any()
