"""Hard attention: places drawn as often as they should, and a gradient whose mean is the exact one."""

from itertools import product

import pytest
import torch
from torch import Tensor

from saccade.attention import Softmax, attend, make_score
from saccade.layers import hard_attention
from saccade.layers.attentive_decoder import Annotations
from saccade.layers.hard_attention import HardDecoder, Likeliest, drawn, follow, policy_loss

REGIONS, STEPS, WIDTH = 4, 2, 5


def test_places_are_drawn_as_often_as_their_weights_say() -> None:
    chances = torch.tensor([0.0, 0.5, 0.2, 0.3, 0.0]).expand(1000, -1)
    places = drawn(chances, (torch.arange(1000) + 0.5) / 1000)
    assert torch.bincount(places, minlength=5).tolist() == [0, 500, 200, 300, 0]
    assert drawn(chances[:2], torch.tensor([0.0, 1 - 2**-24])).tolist() == [1, 3]


def test_the_likeliest_is_one_place_and_training_sees_softmax() -> None:
    score, vectors = make_score("dot", query_width=2, key_width=2, keys=3), torch.tensor([[[1.0, 0], [1, 0], [0, 1]]])
    normalize = Likeliest()
    query = torch.tensor([[[1.0, 0.5]]])
    soft = attend(query, vectors, vectors, score=score, normalize=Softmax())
    torch.testing.assert_close(attend(query, vectors, vectors, score=score, normalize=normalize).context, soft.context)
    likeliest = attend(query, vectors, vectors, score=score, normalize=normalize.eval())
    assert likeliest.weights().tolist() == [[[1, 0, 0]]]


def test_a_choice_answers_for_what_is_written_from_it_on() -> None:
    weights = torch.tensor([[[0.5, 0.5]], [[0.2, 0.8]], [[0.9, 0.1]]], requires_grad=True)
    places, log_probs = torch.tensor([[0], [1], [0]]), torch.tensor([[-1.0], [-2.0], [-9.0]])
    counted = torch.tensor([[True], [True], [False]])
    loss = policy_loss(weights, places, log_probs, counted, torch.tensor([[-1.25], [-1.25], [-3.0]]))
    (gradient,) = torch.autograd.grad(loss, weights)
    # Advantages are (−1 − 2) + 2 · 1.25 and −2 + 1.25; what lies behind the end counts nothing.
    torch.testing.assert_close(gradient, torch.tensor([[[0.5 / 0.5, 0]], [[0, 0.75 / 0.8]], [[0, 0]]]))


def test_each_token_has_a_usual_log_probability_of_its_own() -> None:
    baseline, tokens = torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([[0, 1], [1, 2]])
    open_ = torch.tensor([[True, True], [True, False]])
    follow(baseline, tokens, torch.tensor([[-5.0, -1.0], [-2.0, -9.0]]), open_)
    torch.testing.assert_close(baseline, torch.tensor([-1 - 0.1 * 4, -2 + 0.1 * 0.5, -3]))


def test_a_word_that_is_hard_to_guess_makes_no_noise() -> None:
    """Of choices that change nothing, the estimate is zero for every draw, where one baseline for all tokens scatters."""
    chances, log_probs = torch.tensor([[0.3, 0.7]]), torch.tensor([[-2.3], [-0.1], [-0.7]])
    weights = chances.expand(3, 1, 2).clone().requires_grad_()
    places, counted = torch.tensor([[0], [1], [1]]), torch.ones(3, 1, dtype=torch.bool)
    for usual, noise in ((log_probs, False), (log_probs.mean().expand(3, 1), True)):
        (gradient,) = torch.autograd.grad(policy_loss(weights, places, log_probs, counted, usual), weights)
        assert bool(gradient.abs().sum() > 1e-6) == noise


def decoder() -> HardDecoder:
    """Loud enough that every region says something else."""
    score = make_score("additive", query_width=WIDTH, key_width=3, keys=REGIONS)
    made = HardDecoder(
        2, WIDTH, 3, score=score, normalize=Likeliest(), query_map=torch.nn.Identity(), cell="lstm", gated=True
    )
    for weight in made.parameters():
        torch.nn.init.normal_(weight)
    return made.double()


def log_probs_of(outputs: Tensor) -> Tensor:
    """Of a token that depends on the state, (T, 1)."""
    return torch.nn.functional.logsigmoid(outputs.sum(-1))


def test_the_gradient_is_unbiased_on_four_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """By enumeration of all paths: Σ_s p(s) of the estimator is the gradient of Σ_s p(s) log p(y | s)."""
    made = decoder()
    keys = torch.randn(1, REGIONS, 3, dtype=torch.float64)
    annotations = Annotations(made.score.prepare(keys), keys, None)
    words, start = torch.randn(STEPS, 1, 2).double(), torch.randn(1, 2 * WIDTH).double()
    counted, baseline = torch.ones(STEPS, 1, dtype=torch.bool), torch.tensor([[-0.7], [-1.9]]).double()
    parameters = list(made.parameters())
    estimated = [torch.zeros_like(one) for one in parameters]
    exact, total = torch.zeros((), dtype=torch.float64), 0.0
    for path in product(range(REGIONS), repeat=STEPS):
        choices = iter(path)
        monkeypatch.setattr(hard_attention, "drawn", lambda chances, noise, choices=choices: torch.tensor([next(choices)]))
        annotations = Annotations(made.score.prepare(keys), keys, None)
        found = made.sampled(words, annotations, start, torch.zeros(STEPS, 1), torch.tensor([False]))
        states = torch.cat((made.hidden(start)[None], found.outputs[:-1]))
        seen = attend(states.transpose(0, 1), annotations.keys, keys, score=made.score, normalize=Softmax())
        weights = seen.weights().transpose(0, 1)
        log_probs = log_probs_of(found.outputs)
        chance = weights.gather(-1, found.places[..., None]).prod()
        loss = -log_probs.sum() + policy_loss(weights, found.places, log_probs, counted, baseline)
        own = torch.autograd.grad(loss, parameters, retain_graph=True)
        estimated = [one - chance.item() * part for one, part in zip(estimated, own, strict=True)]
        exact, total = exact + chance * log_probs.sum(), total + chance.item()
    assert total == pytest.approx(1)
    for one, other in zip(estimated, torch.autograd.grad(exact, parameters), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)
        assert other.abs().sum() > 0
