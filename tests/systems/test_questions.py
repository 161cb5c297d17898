"""Systems that answer questions about pictures: what all of them promise of hops, places and questions."""

from dataclasses import replace

import pytest
import torch

from saccade import systems
from saccade.data.tensors import Batch, PictureInput
from saccade.data.tokenizers import learned_layout

from .looks import weights_of
from .pictures_and_questions import Shuffled, batch, made

SYSTEMS = {"ask_attend_answer": "num_hops", "stacked_attention": "num_hops", "show_ask_attend_answer": "num_glimpses"}
every = pytest.mark.parametrize("name", SYSTEMS)


@every
@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_hop_is_to_be_seen_and_its_weights_sum_to_one(name: str, count: int) -> None:
    one, given = made(name, **{SYSTEMS[name]: count}), batch()
    weights = next(iter(weights_of(one, given).values()))
    assert weights.shape == (len(given.target), 1, count, 24)
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(weights), 1, count))
    assert all(not torch.allclose(weights[:, :, i], weights[:, :, 0], atol=1e-3) for i in range(1, count))


@every
def test_word_vectors_start_as_far_apart_as_the_settings_say(name: str) -> None:
    module, words = systems.load(name), learned_layout(2000)
    for std in (0.1, 2.0):
        config = module.Config(channels=4, num_stages=2, hidden_size=8, embedding_std=std)
        one = module.Model(config, channels=3, height=8, width=8, source=words, labels=2)
        assert one.encoder.embedding.weight.std().item() == pytest.approx(std, rel=0.05)


@every
def test_without_positions_cells_may_change_places(name: str) -> None:
    given, order = batch(), torch.randperm(24, generator=torch.Generator().manual_seed(2))
    for positions in (False, True):
        one = made(name, positions=positions)
        before, weights = one.logits(given.input), next(iter(weights_of(one, given).values()))
        one.encoder.picture.picture = Shuffled(one.encoder.picture.picture, order)
        after, moved = one.logits(given.input), next(iter(weights_of(one, given).values()))
        assert torch.allclose(before, after, atol=1e-5) != positions
        assert torch.allclose(weights[..., order], moved, atol=1e-5) != positions


@every
def test_another_question_looks_elsewhere_and_so_does_another_picture(name: str) -> None:
    one, given = made(name), batch()
    question = replace(given.input.question, tokens=(given.input.question.tokens + 3) % 11)
    pixels = given.input.picture.pixels.flip(-1)
    before = next(iter(weights_of(one, given).values()))
    for other in (replace(given.input, question=question), replace(given.input, picture=PictureInput(pixels))):
        after = next(iter(weights_of(one, Batch(other, given.target)).values()))
        assert (before - after).abs().amax((1, 2, 3)).min() > 1e-4


@every
def test_an_empty_question_has_an_answer_too(name: str) -> None:
    one, given = made(name), batch()
    question = replace(given.input.question, lengths=torch.zeros_like(given.input.question.lengths))
    logits = one.logits(replace(given.input, question=question))
    assert logits.isfinite().all()
    logits.sum().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in one.parameters())
