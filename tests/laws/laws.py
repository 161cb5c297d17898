"""The laws themselves: each takes a trial and raises if it does not hold; `EXEMPTIONS` lists where one need not."""

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

import saccade.attention.attended
import saccade.attention.call
from saccade.attention import (
    NORMALIZERS,
    SCORES,
    Attended,
    AttendedEdges,
    allow,
    attend,
    attend_edges,
    causal,
    lengths,
    looking,
    make_normalizer,
)
from tests.laws.cases import MASK_CASES, Combination, Sizes, Trial, combinations, seed_torch
from tests.laws.covering import covering
from tests.second_device import on_cpu, second_device

Law = Callable[[Trial], None]


def near(trial: Trial, one: Tensor, other: Tensor) -> None:
    """Equal up to rounding."""
    torch.testing.assert_close(one, other, rtol=trial.tolerance, atol=trial.tolerance, equal_nan=True)


def gradients(trial: Trial, mask_output: Tensor | None = None) -> list[Tensor]:
    """Gradients of a sum of the output for query, key and value, zeros where they play no part."""
    tensors = [t.detach().clone().requires_grad_() for t in (trial.query, trial.key, trial.value)]
    context = trial.run(tensors[0], tensors[1], tensors[2]).context
    context = context if mask_output is None else context[mask_output]
    found = torch.autograd.grad((context * context.detach().sign()).sum(), tensors, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


def rows_are_distributions(trial: Trial) -> None:
    """Weights are ≥ 0 and a row sums to 1, or is all zero; damped rows sum to at most 1."""
    weights = trial.dense(trial.run()).double()
    assert (weights >= 0).all()
    totals = weights.sum(-1)
    slack = max(trial.tolerance, 1e-6)
    assert (totals <= 1 + slack).all()
    if not trial.has_factor():
        assert ((totals - 1).abs().le(slack) | totals.eq(0)).all()


def closed_pairs_weigh_nothing(trial: Trial) -> None:
    """A pair that may not look weighs exactly 0; a query that may look nowhere gets zeros and finite gradients."""
    attended = trial.run()
    seen = trial.open()
    assert (trial.dense(attended)[~seen] == 0).all()
    empty = ~seen.any(-1)
    assert (attended.context[empty] == 0).all()
    found = gradients(trial)
    assert all(gradient.isfinite().all() for gradient in found)
    assert (found[0][empty] == 0).all()


def masked_is_masked(trial: Trial) -> None:
    """NaN and inf in what nobody sees change neither output nor gradient; what some see spoils only those."""
    seen = trial.open()
    clean, clean_gradients = trial.run().context, gradients(trial)
    unseen_keys, unseen_queries = ~seen.any(-2), ~seen.any(-1)
    own = (trial.query, trial.key, trial.value)
    trial.query, trial.key, trial.value = (
        torch.where(hidden[..., None], _poison(t), t)
        for hidden, t in ((unseen_queries, own[0]), (unseen_keys, own[1]), (unseen_keys, own[2]))
    )
    near(trial, trial.run().context, clean)
    for spoiled, expected in zip(gradients(trial), clean_gradients, strict=True):
        near(trial, spoiled, expected)
    last = torch.zeros_like(unseen_keys)
    last[..., -1] = True
    trial.query, trial.key, trial.value = own[0], *(torch.where(last[..., None], math.nan, t) for t in own[1:])
    blind = ~seen[..., -1]
    context = trial.run().context
    near(trial, context[blind], clean[blind])
    assert context[~blind].isnan().all()
    if blind.any():
        assert all(gradient.isfinite().all() for gradient in gradients(trial, blind))


def _poison(like: Tensor) -> Tensor:
    """NaN, inf and -inf, mixed."""
    return like.new_tensor([math.nan, math.inf, -math.inf])[torch.randint(3, like.shape)]


def fused_is_explicit(trial: Trial) -> None:
    """The output equals the weights that are told of it, times the values."""
    attended = trial.run()
    near(trial, attended.context, trial.dense(attended) @ trial.value)


def edges_are_a_rectangle(trial: Trial) -> None:
    """A list of the open pairs gives what the rectangle with that mask gives."""
    seen = trial.open()[0, 0]
    tensors = (trial.query[0, 0], trial.key[0, 0], trial.value[0, 0])
    # One number is drawn for each query on either layout, and a query's edges are listed in the order of its keys.
    seed_torch(7)
    edges = attend_edges(*tensors, seen.nonzero().T.flip(0), score=trial.score, normalize=trial.normalize)
    seed_torch(7)
    rectangle = attend(*tensors, score=trial.score, normalize=trial.normalize, mask=allow(seen))
    near(trial, edges.context, rectangle.context)


def chunked_is_whole(trial: Trial) -> None:
    """Blocks of a row or two give what one block gives; so do chosen rows and heads, and the summaries."""
    # Of gradients in blocks one dtype tells as much as three, and they cost most of the time.
    whole, exact = trial.run(), trial.combination.dtype == torch.float64
    whole_gradients = gradients(trial) if exact else []
    modules: tuple[Any, ...] = (saccade.attention.call, saccade.attention.attended)
    sizes = [module.BLOCK_NUMBERS for module in modules]
    pair = trial.score.pair_numbers(trial.score.queries(trial.query))
    half = trial.size.batch * trial.size.heads * trial.size.keys * pair * -(-trial.size.queries // 2)
    try:
        for module in modules:
            module.BLOCK_NUMBERS = half
        chunked = trial.run()
        near(trial, chunked.context, whole.context)
        for one, other in zip(gradients(trial) if exact else [], whole_gradients, strict=True):
            near(trial, one, other)
        if isinstance(chunked, Attended):
            chosen_is_whole(trial, chunked, whole.weights())
    finally:
        for module, size in zip(modules, sizes, strict=True):
            module.BLOCK_NUMBERS = size


def chosen_is_whole(trial: Trial, chunked: Attended, weights: Tensor) -> None:
    """Parts of the weights, and what is summed up of them, agree with all of them."""
    near(trial, chunked.weights(), weights)
    row, head, sample = trial.size.queries - 1, trial.size.heads - 1, trial.size.batch - 1
    part = chunked.weights(rows=row, heads=[head], batch=slice(sample, None))
    near(trial, part, weights[sample:, head : head + 1, row : row + 1])
    near(trial, chunked.mass(), weights.sum(-2))
    near(trial, chunked.entropy(), torch.special.entr(weights).sum(-1))
    near(trial, chunked.top(2)[0], weights.topk(min(2, trial.size.keys), -1).values)


def order_of_keys_is_nothing(trial: Trial) -> None:
    """Keys, values and mask in another order give the same output."""
    order = torch.randperm(trial.size.keys, generator=torch.Generator().manual_seed(trial.size.seed))
    expected = trial.run().context
    if trial.on_edges:
        place = order.argsort()
        shuffled = trial.edges.clone()
        shuffled[0] = place[trial.edges[0]]
        seen = allow(trial.open()[..., order]) if trial.mask is not None else None
        got = trial.run(key=trial.key[..., order, :], value=trial.value[..., order, :], edges=shuffled, mask=seen)
    else:
        seen = allow(trial.open()[..., order])
        got = trial.run(key=trial.key[..., order, :], value=trial.value[..., order, :], mask=seen)
    near(trial, got.context, expected)


def self_attention_is_equivariant(trial: Trial) -> None:
    """Things that look at each other, in another order: the same outputs in that order. (`square`: as many as keys.)"""
    order = torch.randperm(trial.size.keys, generator=torch.Generator().manual_seed(trial.size.seed))
    seen, moved = trial.open(), trial.open()[..., order, :][..., order]
    seed_torch(7)
    expected = attend(trial.key, trial.key, trial.value, score=trial.score, normalize=trial.normalize, mask=allow(seen))
    shuffled = (trial.key[..., order, :], trial.key[..., order, :], trial.value[..., order, :])
    got = attend(*shuffled, score=trial.score, normalize=trial.normalize, mask=allow(moved))
    near(trial, got.context, expected.context[..., order, :])


def the_future_is_closed(trial: Trial) -> None:
    """Under a causal mask the gradient of an output for later keys and values is exactly zero."""
    trial.mask = causal() if trial.mask is None else trial.mask & causal()
    shift = 0 if trial.on_edges else trial.size.keys - trial.size.queries
    key, value = trial.key.clone().requires_grad_(), trial.value.clone().requires_grad_()
    context = trial.run(key=key, value=value).context
    for row in {0, trial.size.queries - 1}:
        found = torch.autograd.grad(context[..., row, :].sum(), (key, value), retain_graph=True, allow_unused=True)
        assert found[1] is not None  # a score may not read keys, but every output is made of values
        for gradient in (one for one in found if one is not None):
            assert (gradient[..., max(0, row + shift + 1) :, :] == 0).all()


def a_sample_is_alone(trial: Trial) -> None:
    """One sample gives the same inside a batch as alone, on either layout."""
    mask = None if trial.mask is None else allow(trial.mask_on_layout().expand_as(trial.open())[:1])
    context = trial.run().context
    trial.mask = None
    alone = trial.run(trial.query[:1], trial.key[:1], trial.value[:1], mask=mask)
    near(trial, context[:1], alone.context)


def padding_is_nothing(trial: Trial) -> None:
    """Keys behind the end of a sample change nothing, however many there are."""
    tensors = (trial.query[:1], trial.key[:1], trial.value[:1])
    padded = [torch.nn.functional.pad(t, (0, 0, 0, 2), value=1e3) for t in tensors[1:]]
    seen = torch.nn.functional.pad(trial.open()[:1], (0, 2), value=True)
    length = lengths(torch.full((1,), trial.size.keys))
    seed_torch(7)
    one = attend(*tensors, score=trial.score, normalize=trial.normalize, mask=allow(trial.open()[:1])).context
    seed_torch(7)
    other = attend(tensors[0], *padded, score=trial.score, normalize=trial.normalize, mask=allow(seen) & length).context
    near(trial, one, other)


def looking_changes_nothing(trial: Trial) -> None:
    """The output has the same bits whether or not anybody looks, before or after."""
    plain = trial.run().context
    runner = _Runner(trial)
    with looking(runner) as looks:
        seen = runner()
        seen.weights()
        seen.entropy()
        again = runner().context
        trial.run()
    assert torch.equal(plain, seen.context)
    assert torch.equal(plain, again)
    assert [len(found) for found in looks.values()] == [2]


class _Runner(torch.nn.Module):
    """A module that runs the trial."""

    def __init__(self, trial: Trial) -> None:
        super().__init__()
        self.trial = trial

    def forward(self) -> Attended | AttendedEdges:
        return self.trial.run()


def gradient_is_the_derivative(trial: Trial) -> None:
    """The gradient agrees with finite differences, in float64."""
    tensors = [t.detach().clone().requires_grad_() for t in (trial.query, trial.key, trial.value)]
    parameters = [p for p in trial.score.parameters() if p.requires_grad]

    def context(*given: Tensor) -> Tensor:
        return trial.run(given[0], given[1], given[2]).context + sum((0 * p).sum() for p in given[3:])

    assert torch.autograd.gradcheck(context, (*tensors, *parameters), fast_mode=True, eps=1e-6, atol=1e-5)


def devices_agree(trial: Trial) -> None:
    """On another device: the same output, weights and gradients, and the host reads none of its numbers."""
    expected = [trial.run().context, trial.run().weights(), *gradients(trial)]
    with second_device(synchronize=False):
        moved = trial.moved()
        found = [moved.run().context, moved.run().weights(), *gradients(moved)]
    for one, other in zip(on_cpu(found), expected, strict=True):
        near(trial, one, other)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        rows_are_distributions,
        closed_pairs_weigh_nothing,
        masked_is_masked,
        fused_is_explicit,
        edges_are_a_rectangle,
        chunked_is_whole,
        order_of_keys_is_nothing,
        self_attention_is_equivariant,
        the_future_is_closed,
        a_sample_is_alone,
        padding_is_nothing,
        looking_changes_nothing,
        gradient_is_the_derivative,
        devices_agree,
    )
}


def square(law: str, combination: Combination) -> bool:
    """Whether a law needs as many queries as keys: things that look at each other, and positions on both layouts.

    (Positions are counted from the first query on edges, from the last in a rectangle.)
    """
    return law == "self_attention_is_equivariant" or (law == "edges_are_a_rectangle" and _positional(combination))


class Exemption(NamedTuple):
    """Laws that do not hold for some combinations, and why."""

    laws: tuple[str, ...]
    reason: str
    applies: Callable[[Combination], bool]


def _positional(combination: Combination) -> bool:
    return SCORES[combination.score].positional


def _draws(combination: Combination) -> bool:
    return NORMALIZERS[combination.normalizer].draws


def _has_factor(combination: Combination) -> bool:
    mask = MASK_CASES[combination.mask](Sizes(1, 1, 1, 1, 1, 0))
    return mask is not None and mask.has_factor()


ORDERS = ("order_of_keys_is_nothing", "self_attention_is_equivariant")
EXEMPTIONS = (
    Exemption(
        ("rows_are_distributions",),
        "weights that nobody normalized",
        lambda combination: not make_normalizer(combination.normalizer).on_logarithms().distribution,
    ),
    Exemption(ORDERS, "the score reads positions", _positional),
    Exemption(ORDERS, "what is drawn depends on the order, its distribution does not (tested apart)", _draws),
    Exemption(ORDERS, "the factor reads positions", _has_factor),
    Exemption(ORDERS, "the chain goes through the keys in their order", lambda each: NORMALIZERS[each.normalizer].ordered),
    Exemption(
        ("edges_are_a_rectangle",),
        "so coarse a rounding moves what is drawn",
        lambda combination: _draws(combination) and combination.dtype == torch.bfloat16,
    ),
    Exemption(("a_sample_is_alone",), "one number is drawn for each query of the batch: alone, it is another", _draws),
    Exemption(
        ("a_sample_is_alone", "padding_is_nothing"),
        "booleans, which are cut to a sample here, do not hold the factor",
        _has_factor,
    ),
    Exemption(("padding_is_nothing",), "the query's own position moves with the number of keys", _positional),
    Exemption(("padding_is_nothing",), "a list of edges has no padding", lambda combination: combination.layout == "edges"),
    Exemption(
        ("gradient_is_the_derivative",),
        "finite differences need float64",
        lambda combination: combination.dtype != torch.float64,
    ),
    Exemption(
        ("gradient_is_the_derivative",),
        "its gradient is not its derivative, on purpose (tested apart)",
        lambda combination: combination.normalizer == "straight_through",
    ),
)


def exempt(law: str, combination: Combination) -> str | None:
    """Why a law does not hold for this combination, or None."""
    return next((one.reason for one in EXEMPTIONS if law in one.laws and one.applies(combination)), None)


def covered(law: str, scores: Iterable[str]) -> list[Combination]:
    """Combinations that the law holds for: with every pair of a score, normalizer, mask, layout and dtype that there is."""
    return _covered(tuple(one for one in EXEMPTIONS if law in one.laws), tuple(scores))


@cache
def _covered(exemptions: tuple[Exemption, ...], scores: tuple[str, ...]) -> list[Combination]:
    every = [each for score in scores for each in combinations(score)]
    return covering([each for each in every if not any(one.applies(each) for one in exemptions)])


def trial_for(law: str, combination: Combination, size: Sizes) -> Trial:
    """A trial of sizes that the law holds for."""
    return Trial.make(combination, size._replace(queries=size.keys) if square(law, combination) else size)


def check(law: str, trial: Trial) -> None:
    """Raise if the law does not hold for the trial."""
    try:
        LAWS[law](trial)
    except Exception as error:
        error.add_note(f"law {law!r}, {trial.combination}, {trial.size}, mask {trial.mask}")
        raise
