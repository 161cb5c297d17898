"""Attention toward an aspect: the paper's equations, and an aspect that decides where is looked."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from saccade.data.aspects import AWAY
from saccade.data.text import LabeledAspects, padded
from saccade.data.tokenizers import UNKNOWN
from saccade.systems.atae_lstm import Config, Model

from .samples import SIZE, close, gradients, rows

LABELS = 3
ASPECTS = [[4], [5, 6], [9, 9, 7], [10], []]


def made(**given: Any) -> Model:
    torch.manual_seed(4)
    one = Model(Config(embedding=6, hidden=5, **given), source_size=SIZE, labels=LABELS)
    with torch.no_grad():
        for weight in one.parameters():
            weight.add_(0.5 * torch.randn_like(weight))
    return one.eval()


def batch(chosen: list[int] | None = None, aspects: list[list[int]] = ASPECTS) -> LabeledAspects:
    sources, _ = rows()
    chosen = list(range(len(sources))) if chosen is None else chosen
    texts, sizes = padded([sources[i] for i in chosen])
    aspect, lengths = padded([aspects[i] or [0] for i in chosen])
    lengths = torch.tensor([len(aspects[i]) for i in chosen])
    return LabeledAspects(texts, sizes, torch.tensor([i % LABELS for i in chosen]), aspect, lengths)


def test_its_loss_reaches_every_weight() -> None:
    one = made()
    for weight, grad in gradients(one, one.loss(batch())).items():
        assert grad.isfinite().all(), weight
        assert grad.abs().sum() > 0, weight


def test_one_text_alone_is_the_same_as_in_a_batch() -> None:
    one = made()
    together = one(batch())
    for i in range(len(together)):
        torch.testing.assert_close(one(batch([i]))[0], together[i], atol=1e-5, rtol=1e-5)


def test_padding_changes_nothing() -> None:
    one, clean = made(), batch()
    live = [torch.arange(ids.shape[1]) < sizes[:, None] for ids, sizes in _sides(clean)]
    source, aspect = (ids.where(there, 3) for (ids, _), there in zip(_sides(clean), live, strict=True))
    wider = torch.nn.functional.pad(aspect, (0, 2), value=8)
    dirty = replace(clean, source=torch.nn.functional.pad(source, (0, 1), value=7), aspect=wider)
    torch.testing.assert_close(one(clean), one(dirty), atol=1e-5, rtol=1e-5)
    close(gradients(one, one.loss(clean)), gradients(one, one.loss(dirty)), 1e-5)


def _sides(given: LabeledAspects) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(given.source, given.lengths), (given.aspect, given.aspect_lengths)]


def test_an_empty_text_has_a_label_too() -> None:
    one = made()
    empty = LabeledAspects(*padded([[4, 5], []]), torch.tensor([0, 1]), *padded([[4], [5]]))
    assert one(empty).isfinite().all()
    assert all(grad.isfinite().all() for grad in gradients(one, one.loss(empty)).values())


def test_another_aspect_changes_the_weights_and_the_label() -> None:
    one = made()
    other = batch(aspects=[[8], *ASPECTS[1:]])
    before, after = one.glance(batch())["pool"], one.glance(other)["pool"]
    assert not torch.allclose(before[0], after[0], atol=1e-3)
    assert not torch.allclose(one(batch())[0], one(other)[0], atol=1e-3)
    torch.testing.assert_close(before[1:], after[1:])


def test_the_aspect_itself_chooses_where_to_look() -> None:
    """Even over the same states, in which the aspect is already: the score depends on who asks."""
    one = made()
    states = torch.randn(1, 4, 5)
    from saccade.attention import lengths

    one_way, other_way = (one.pool(states, torch.randn(1, 6), lengths([4])) for _ in range(2))
    assert not torch.allclose(one_way, other_way, atol=1e-3)


@pytest.mark.parametrize("which", range(4))
def test_it_is_the_equations_written_out(which: int) -> None:
    one, given = made(), batch()
    words = one.embedding.weight[given.source[which, : given.lengths[which]]]
    aspect = one.embedding.weight[given.aspect[which, : given.aspect_lengths[which]]].mean(0)
    beside = torch.cat((words, aspect.expand(len(words), -1)), 1)
    states = one.reader(beside[:, None], torch.ones(len(words), 1, dtype=torch.bool))[0][:, 0]
    score = one.pool.score
    weights = (torch.tanh(score.key_map(states) + score.query_map(aspect)) @ score.vector).softmax(0)
    logits = one.output(torch.tanh(one.pooled(weights @ states) + one.last(states[-1])))
    torch.testing.assert_close(one(given)[which], logits, atol=1e-5, rtol=1e-5)
    seen = one.glance(given)["pool"][which, 0, 0]
    torch.testing.assert_close(seen[: len(words)], weights, atol=1e-5, rtol=1e-5)
    assert not seen[len(words) :].any()


def test_word_dropout_teaches_what_to_make_of_unknown_words() -> None:
    one, every = made(word_dropout=0.5), batch()
    known = replace(every, source=every.source.masked_fill(every.source == UNKNOWN, 4))
    assert not gradients(one, one.loss(known))["embedding.weight"][UNKNOWN].any()
    assert gradients(one, one.train().loss(known))["embedding.weight"][UNKNOWN].any()


def near() -> tuple[Model, LabeledAspects]:
    """A model for which distance counts, and texts in which the aspect stands in all but the last."""
    given = batch()
    distance = torch.arange(given.source.shape[1]) - torch.arange(len(given.source))[:, None]
    distance[-1] = AWAY
    return made(near=2), replace(given, distance=distance)


def test_distance_is_added_to_the_score() -> None:
    one, given = near()
    plain = made()
    plain.load_state_dict({name: weight for name, weight in one.state_dict().items() if "nearness" not in name})
    assert one.pool.nearness is not None
    table = one.pool.nearness.table
    before, after = (model.glance(given)["pool"][:, 0, 0] for model in (plain, one))
    assert given.distance is not None
    for row, (size, distance) in enumerate(zip(given.lengths.tolist(), given.distance.tolist(), strict=True)):
        numbers = torch.stack([table.new_zeros(()) if d == AWAY else table[max(-2, min(d, 2)) + 2] for d in distance[:size]])
        expected = (before[row, :size].log() + numbers).softmax(0)
        torch.testing.assert_close(after[row, :size], expected, atol=1e-5, rtol=1e-5)
        assert not after[row, size:].any()


def test_distance_is_learned_and_a_text_alone_is_as_in_a_batch() -> None:
    one, given = near()
    assert gradients(one, one.loss(given))["pool.nearness.table"].abs().sum() > 0
    assert given.distance is not None
    together = one(given)
    for i in range(len(together)):
        alone = replace(batch([i]), distance=given.distance[i : i + 1, : int(given.lengths[i])])
        torch.testing.assert_close(one(alone)[0], together[i], atol=1e-5, rtol=1e-5)
