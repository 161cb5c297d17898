"""Attention toward an aspect: the paper's equations, and an aspect that decides where is looked."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from saccade.attention import lengths
from saccade.data.tensors import FAR, AspectInput, Batch, LabelTarget, padded
from saccade.data.tokenizers import UNKNOWN
from saccade.systems.atae_lstm import Config, Model

from .looks import weights_of
from .samples import VOCABULARY, close, gradients, rows

LABELS = 3
ASPECTS = [[4], [5, 6], [9, 9, 7], [10], []]


def made(**given: Any) -> Model:
    torch.manual_seed(4)
    one = Model(Config(embedding_size=6, hidden_size=5, **given), source=VOCABULARY, labels=LABELS)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return one.eval()


def batch(chosen: list[int] | None = None, aspects: list[list[int]] = ASPECTS) -> Batch:
    sources, _ = rows()
    chosen = list(range(len(sources))) if chosen is None else chosen
    labels = torch.tensor([i % LABELS for i in chosen])
    return Batch(texts([sources[i] for i in chosen], [aspects[i] for i in chosen]), LabelTarget(labels))


def texts(sources: list[list[int]], aspects: list[list[int]]) -> AspectInput:
    """Texts with their aspects; an empty aspect still has a place."""
    aspect, _ = padded([own or [0] for own in aspects])
    aspect_lengths = torch.tensor([len(own) for own in aspects])
    return AspectInput(*padded(sources), aspect=aspect, aspect_lengths=aspect_lengths)


def test_its_loss_reaches_every_parameter() -> None:
    one = made()
    for parameter, grad in gradients(one, one(batch()).loss).items():
        assert grad.isfinite().all(), parameter
        assert grad.abs().sum() > 0, parameter


def test_one_text_alone_is_the_same_as_in_a_batch() -> None:
    one = made()
    together = one.logits(batch().input)
    for i in range(len(together)):
        torch.testing.assert_close(one.logits(batch([i]).input)[0], together[i], atol=1e-5, rtol=1e-5)


def test_padding_changes_nothing() -> None:
    one, clean = made(), batch()
    tokens = pad(filled(clean.input.tokens, clean.input.lengths), (0, 1), value=7)
    aspect = pad(filled(clean.input.aspect, clean.input.aspect_lengths), (0, 2), value=8)
    dirty = replace(clean, input=replace(clean.input, tokens=tokens, aspect=aspect))
    torch.testing.assert_close(one.logits(clean.input), one.logits(dirty.input), atol=1e-5, rtol=1e-5)
    close(gradients(one, one(clean).loss), gradients(one, one(dirty).loss), 1e-5)


def filled(ids: Tensor, sizes: Tensor) -> Tensor:
    """The same ids with a word where there was padding."""
    return ids.where(torch.arange(ids.shape[1]) < sizes[:, None], 3)


def test_an_empty_text_has_a_label_too() -> None:
    one = made()
    empty = Batch(texts([[4, 5], []], [[4], [5]]), LabelTarget(torch.tensor([0, 1])))
    assert one.logits(empty.input).isfinite().all()
    assert all(grad.isfinite().all() for grad in gradients(one, one(empty).loss).values())


def test_another_aspect_changes_the_weights_and_the_label() -> None:
    one = made()
    other = batch(aspects=[[8], *ASPECTS[1:]])
    before, after = weights_of(one, batch())["attention pooling"], weights_of(one, other)["attention pooling"]
    assert not torch.allclose(before[0], after[0], atol=1e-3)
    assert not torch.allclose(one.logits(batch().input)[0], one.logits(other.input)[0], atol=1e-3)
    torch.testing.assert_close(before[1:], after[1:])


def test_the_aspect_itself_chooses_where_to_look() -> None:
    """Even over the same states, in which the aspect is already: the score depends on who asks."""
    one = made()
    states = torch.randn(1, 4, 5)
    one_way, other_way = (one.pool(states, torch.randn(1, 6), lengths([4])) for _ in range(2))
    assert not torch.allclose(one_way, other_way, atol=1e-3)


@pytest.mark.parametrize("which", range(4))
def test_it_is_the_equations_written_out(which: int) -> None:
    one, given = made(), batch().input
    words = one.embedding.weight[given.tokens[which, : given.lengths[which]]]
    aspect = one.embedding.weight[given.aspect[which, : given.aspect_lengths[which]]].mean(0)
    beside = torch.cat((words, aspect.expand(len(words), -1)), 1)
    states = one.reader(beside[:, None], torch.ones(len(words), 1, dtype=torch.bool))[0][:, 0]
    score = one.pool.score
    weights = (torch.tanh(score.key_map(states) + score.query_map(aspect)) @ score.vector).softmax(0)
    logits = one.output(torch.tanh(one.pooled(weights @ states) + one.last(states[-1])))
    torch.testing.assert_close(one.logits(given)[which], logits, atol=1e-5, rtol=1e-5)
    seen = weights_of(one, Batch(given))["attention pooling"][which, 0, 0]
    torch.testing.assert_close(seen[: len(words)], weights, atol=1e-5, rtol=1e-5)
    assert not seen[len(words) :].any()


def test_word_dropout_teaches_what_to_make_of_unknown_words() -> None:
    one, every = made(word_dropout=0.5), batch()
    tokens = every.input.tokens.masked_fill(every.input.tokens == UNKNOWN, 4)
    known = replace(every, input=replace(every.input, tokens=tokens))
    assert not gradients(one, one(known).loss)["embedding.weight"][UNKNOWN].any()
    assert gradients(one, one.train()(known).loss)["embedding.weight"][UNKNOWN].any()


def near() -> tuple[Model, Batch]:
    """A model for which distance counts, and texts in which the aspect stands in all but the last."""
    given = batch()
    tokens = given.input.tokens
    distance = torch.arange(tokens.shape[1]) - torch.arange(len(tokens))[:, None]
    distance[-1] = FAR
    return made(near=2), replace(given, input=replace(given.input, distance=distance))


def test_distance_is_added_to_the_score() -> None:
    one, given = near()
    plain = made()
    plain.load_state_dict({name: parameter for name, parameter in one.state_dict().items() if "nearness" not in name})
    assert one.pool.nearness is not None
    table = one.pool.nearness.table
    before, after = (weights_of(model, given)["attention pooling"][:, 0, 0] for model in (plain, one))
    sizes, distances = given.input.lengths.tolist(), given.input.distance.tolist()
    for row, (size, distance) in enumerate(zip(sizes, distances, strict=True)):
        numbers = torch.stack([table.new_zeros(()) if d == FAR else table[max(-2, min(d, 2)) + 2] for d in distance[:size]])
        expected = (before[row, :size].log() + numbers).softmax(0)
        torch.testing.assert_close(after[row, :size], expected, atol=1e-5, rtol=1e-5)
        assert not after[row, size:].any()


def test_distance_is_learned_and_a_text_alone_is_as_in_a_batch() -> None:
    one, given = near()
    assert gradients(one, one(given).loss)["pool.nearness.table"].abs().sum() > 0
    together = one.logits(given.input)
    for i in range(len(together)):
        own = given.input.distance[i : i + 1, : int(given.input.lengths[i])]
        alone = replace(batch([i]).input, distance=own)
        torch.testing.assert_close(one.logits(alone)[0], together[i], atol=1e-5, rtol=1e-5)
