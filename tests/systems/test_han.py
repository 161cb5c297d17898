"""Words to sentences to a document: masks on both levels, and the two equations written out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from saccade.attention import looking
from saccade.data.stored.ragged import Ragged
from saccade.data.tensors import Batch, DocumentInput, LabelTarget
from saccade.readers.document import DocumentColumn
from saccade.systems.han import STEPS, Config, Model, of_like_length

from .looks import weights_of
from .samples import SIZE, VOCABULARY, close, gradients

LABELS = 3
DOCUMENTS = [
    [[4, 5, 6], [7], [8, 9, 4, 5, 6, 7, 8, 9, 10]],
    [[5, 5]],
    [],
    [[6, 10, 4, 4, 7], [9, 8]],
]
POOLS = ("attention", "mean")
each = pytest.mark.parametrize("pool", POOLS)


def made(**given: Any) -> Model:
    torch.manual_seed(3)
    one = Model(Config(embedding_size=6, hidden_size=4, attention_size=5, **given), source=VOCABULARY, labels=LABELS)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(0.4 * torch.randn_like(parameter))
    return one.eval()


def batch(documents: list[list[list[int]]] = DOCUMENTS) -> Batch:
    return Batch(read(documents), LabelTarget(torch.tensor([n % LABELS for n in range(len(documents))])))


def read(documents: list[list[list[int]]] = DOCUMENTS) -> DocumentInput:
    pairs = [([word for row in own for word in row], [0, *map(len, own)]) for own in documents]
    return DocumentColumn(Ragged.of([row for both in pairs for row in both])).batch(range(len(documents)))


@each
def test_its_loss_reaches_every_parameter(pool: str) -> None:
    one = made(pool=pool)
    loss = one(batch()).loss
    assert 0 < loss.item() < float("inf")
    for parameter, grad in gradients(one, loss).items():
        assert grad.isfinite().all(), parameter
        assert grad.abs().sum() > 0, parameter


@each
def test_one_document_alone_is_the_same_as_in_a_batch(pool: str) -> None:
    one = made(pool=pool)
    together = one.logits(read())
    for i, document in enumerate(DOCUMENTS):
        torch.testing.assert_close(one.logits(read([document]))[0], together[i], atol=1e-5, rtol=1e-5)


@each
def test_padding_changes_nothing(pool: str) -> None:
    one, clean = made(pool=pool), batch()
    tokens = clean.input.tokens
    live = torch.arange(tokens.shape[1]) < clean.input.lengths[:, None]
    dirty = replace(clean, input=replace(clean.input, tokens=pad(tokens.where(live, SIZE - 1), (0, 3), value=5)))
    assert not torch.equal(dirty.input.tokens[:, :-3], tokens)
    torch.testing.assert_close(one.logits(clean.input), one.logits(dirty.input), atol=1e-5, rtol=1e-5)
    close(gradients(one, one(clean).loss), gradients(one, one(dirty).loss), 1e-5)


@each
@pytest.mark.parametrize("place", [0, 1, 3])
def test_an_empty_sentence_changes_nothing(pool: str, place: int) -> None:
    one = made(pool=pool)
    filled = [[*DOCUMENTS[0][:place], [], *DOCUMENTS[0][place:]], *DOCUMENTS[1:]]
    torch.testing.assert_close(one.logits(read(filled)), one.logits(read()), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(one.logits(read([[[]]]))[0], one.logits(read())[2], atol=1e-5, rtol=1e-5)
    assert all(grad.isfinite().all() for grad in gradients(one, one(batch(filled)).loss).values())


@each
def test_nothing_at_all_has_a_label(pool: str) -> None:
    one = made(pool=pool)
    torch.testing.assert_close(one.logits(read([[], []]))[1], one.logits(read())[2], atol=1e-5, rtol=1e-5)
    assert all(weights.sum() == 0 for weights in weights_of(one, batch([[]])).values())


def by_hand(one: Model, document: list[list[int]]) -> tuple[Tensor, list[Tensor], Tensor]:
    """Equations 1 to 11 of the paper, sentence by sentence: logits, weights of words, weights of sentences."""

    def level(part: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        states = part.reader(x[:, None], torch.ones(len(x), 1, dtype=torch.bool))[0][:, 0]
        pool = part.pool
        scores = torch.tanh(pool.score.key_map(states) + pool.score.query_map(pool.query)) @ pool.score.vector
        return scores.softmax(0) @ states, scores.softmax(0)

    sentences = [level(one.words, one.embedding(torch.tensor(row))) for row in document]
    pooled, weights = level(one.sentences, torch.stack([vector for vector, _ in sentences]))
    return one.output(pooled), [own for _, own in sentences], weights


@pytest.mark.parametrize("which", [0, 1, 3])
def test_it_is_the_paper_s_equations(which: int) -> None:
    one, document = made(), DOCUMENTS[which]
    logits, words, sentences = by_hand(one, document)
    torch.testing.assert_close(one.logits(read())[which], logits, atol=1e-5, rtol=1e-5)
    seen = weights_of(one, batch())
    assert list(seen) == ["words", "sentences"]
    torch.testing.assert_close(seen["sentences"][which, 0, 0, : len(document)], sentences, atol=1e-5, rtol=1e-5)
    assert not seen["sentences"][which, 0, 0, len(document) :].any()
    own = torch.block_diag(*words)  # each sentence looks at its own words alone
    torch.testing.assert_close(seen["words"][which, 0, : len(own), : own.shape[1]], own, atol=1e-5, rtol=1e-5)
    assert not seen["words"][which, 0, len(own) :].any()
    assert not seen["words"][which, 0, :, own.shape[1] :].any()


def test_of_one_sentence_everything_counts() -> None:
    one = made()
    seen = weights_of(one, batch([[[5, 5, 9]]]))
    assert seen["sentences"].flatten().tolist() == [1.0]
    assert seen["words"].sum().item() == pytest.approx(1)


def test_the_mean_looks_at_all_alike() -> None:
    one = made(pool="mean")
    with looking(one) as recorded:
        one.logits(read(DOCUMENTS[:1]))
    torch.testing.assert_close(recorded["sentences.pool"][0].weights()[0, 0], torch.full((3,), 1 / 3))
    words = torch.cat([look.weights()[:, 0].sum(1) for look in recorded["words.pool"]])
    torch.testing.assert_close(words, torch.ones(3))
    torch.testing.assert_close(recorded["words.pool"][-1].weights()[0, 0], torch.full((9,), 1 / 9))
    assert weights_of(one, batch()) == {}  # there is nothing to show


def test_the_order_of_words_and_of_sentences_matters() -> None:
    one = made()
    documents = [[[4, 5, 6], [7]], [[6, 5, 4], [7]], [[7], [4, 5, 6]]]
    words, turned, swapped = (one.logits(read([document])) for document in documents)
    assert not torch.allclose(words, turned, atol=1e-4)
    assert not torch.allclose(words, swapped, atol=1e-4)


def test_sentences_of_like_length_are_read_together() -> None:
    sizes = torch.tensor([3, 50, 0, 4, 21, 100, 5, 1])
    groups = [group.tolist() for group in of_like_length(sizes)]
    assert sorted(row for group in groups for row in group) == list(range(8))
    for group in groups[1:-1]:
        chosen = sizes[group]
        assert chosen.max() <= next(step for step in STEPS if step >= chosen.min())


def planted(dice: np.random.Generator, count: int) -> tuple[list[list[list[int]]], Tensor, list[tuple[int, int]]]:
    """Documents of six sentences in one of which one word, 4 or 5, says the label; and where it stands."""
    documents = dice.integers(6, SIZE, (count, 6, 5))
    places = [(int(dice.integers(6)), int(dice.integers(5))) for _ in range(count)]
    labels = dice.integers(0, 2, count)
    for document, (sentence, word), label in zip(documents, places, labels, strict=True):
        document[sentence, word] = 4 + label
    return documents.tolist(), torch.from_numpy(labels), places


def test_it_finds_the_word_that_says_the_label() -> None:
    torch.manual_seed(0)
    dice = np.random.default_rng(0)
    one = Model(Config(embedding_size=8, hidden_size=8, attention_size=8, dropout=0.0), source=VOCABULARY, labels=2)
    optimizer = torch.optim.Adam(one.parameters(), 0.02)
    for _ in range(60):
        documents, labels, _ = planted(dice, 32)
        optimizer.zero_grad()
        one(Batch(read(documents), LabelTarget(labels))).loss.backward()
        optimizer.step()
    documents, labels, places = planted(dice, 200)
    with torch.no_grad():
        accuracy = (one.logits(read(documents)).argmax(1) == labels).float().mean()
        seen = weights_of(one, batch(documents))
    assert accuracy >= 0.98
    mass = [float(seen["sentences"][n, 0, 0, s] * seen["words"][n, 0, s].max()) for n, (s, _) in enumerate(places)]
    assert np.mean(mass) > 0.5  # of one word among thirty
