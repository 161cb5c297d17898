"""What is told of weights: the largest, their spread and what keys got, against plain loops; and of nothing at all."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.attention import (
    NORMALIZERS,
    SCORES,
    Attended,
    Mask,
    allow,
    attend,
    attended,
    causal,
    lengths,
    make_score,
    window,
)

Numbers = NDArray[np.float64]
B, H, Q, K, D = 2, 3, 4, 6, 5
OPEN = np.random.default_rng(1).random((B, 1, Q, K)) < 0.6
SIZES = [4, 2]


def scored(name: str, query: Numbers, key: Numbers) -> float:
    """One query's score of one key."""
    if name == "gaussian":
        return -0.5 * float(sum((q - k) ** 2 for q, k in zip(query, key, strict=True)))
    product = float(sum(q * k for q, k in zip(query, key, strict=True)))
    return product / math.sqrt(D) if name == "scaled_dot" else product


def sees(mask: str, sample: int, query: int, key: int) -> bool:
    """Whether a mask is open here; the last query stands where the last key does."""
    place = query + K - Q
    rules = {
        "none": True,
        "causal": key <= place,
        "lengths": key < SIZES[sample],
        "window": abs(key - place) <= 1,
        "allow": bool(OPEN[sample, 0, query, key]),
        "joined": key <= place and key < SIZES[sample],
    }
    return rules[mask]


def normalized(name: str, scores: dict[int, float], logarithms: bool) -> dict[int, float]:
    """Weights of the keys that are open."""
    if name == "none":
        return {key: math.exp(score) if logarithms else score for key, score in scores.items()}
    if name == "sparsemax":
        for count in range(len(scores), 0, -1):  # the largest support whose members all stay above the threshold
            best = sorted(scores.values(), reverse=True)[:count]
            threshold = (sum(best) - 1) / count
            if best[-1] > threshold:
                return {key: max(0.0, score - threshold) for key, score in scores.items()}
        return {}
    positive = {key: max(0.0, s) if name == "kernel" and not logarithms else math.exp(s) for key, s in scores.items()}
    total = sum(positive.values())
    return {key: number / total if total else 0.0 for key, number in positive.items()}


def expected(score: str, mask: str, normalizer: str, query: Numbers, key: Numbers) -> Numbers:
    """All weights, (B, H, Q, K)."""
    weights = np.zeros((B, H, Q, K))
    for b, h, q in np.ndindex(B, H, Q):
        scores = {k: scored(score, query[b, h, q], key[b, h, k]) for k in range(K) if sees(mask, b, q, k)}
        for k, weight in normalized(normalizer, scores, score == "gaussian").items():
            weights[b, h, q, k] = weight
    return weights


MASKS: dict[str, Mask | None] = {
    "none": None,
    "causal": causal(),
    "lengths": lengths(SIZES),
    "window": window(1),
    "allow": allow(torch.from_numpy(OPEN)),
    "joined": causal() & lengths(SIZES),
}


def spread(weights: Numbers) -> Numbers:
    """-Σ w ln w, one row after the other."""
    found = [-sum(w * math.log(w) for w in row if w > 0) for row in weights.reshape(-1, weights.shape[-1])]
    return np.array(found).reshape(weights.shape[:-1])


def collected(weights: Numbers) -> Numbers:
    """What each key got from all rows together."""
    totals = np.zeros((*weights.shape[:-2], weights.shape[-1]))
    for place in np.ndindex(*weights.shape):
        totals[(*place[:-2], place[-1])] += weights[place]
    return totals


def is_top(top: tuple[Tensor, Tensor], weights: Numbers, count: int) -> None:
    """The so many largest of each row, best first, each at its key, no key twice; of those alike, any."""
    values, keys = (part.numpy() for part in top)
    for row in np.ndindex(*weights.shape[:-1]):
        assert values[row].tolist() == pytest.approx(sorted(weights[row], reverse=True)[:count], abs=1e-12)
        assert values[row].tolist() == pytest.approx(weights[row][keys[row]], abs=1e-12)
        assert len({*keys[row]}) == min(count, weights.shape[-1])


@pytest.mark.parametrize("budget", [1 << 22, 2 * B * H * K * D], ids=["whole", "blocks"])
@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax", "kernel", "none"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", ["dot", "scaled_dot", "gaussian"])
def test_summaries_are_those_of_plain_loops(
    score: str, mask: str, normalizer: str, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attended, "BLOCK_NUMBERS", budget)
    query, key, value = (torch.randn(B, H, n, D, dtype=torch.float64) for n in (Q, K, K))
    look = attend(query, key, value, score=score, mask=MASKS[mask], normalize=normalizer)
    wanted = expected(score, mask, normalizer, query.numpy(), key.numpy())
    np.testing.assert_allclose(look.weights().numpy(), wanted, atol=1e-10)
    np.testing.assert_allclose(look.context.numpy(), np.einsum("bhqk,bhkv->bhqv", wanted, value.numpy()), atol=1e-10)
    np.testing.assert_allclose(look.mass().numpy(), collected(wanted), atol=1e-10)
    for count in (1, 3, K, K + 5):
        is_top(look.top(count), look.weights().numpy(), count)
    if normalizer != "none" or score == "gaussian":  # a weight below zero has no entropy
        np.testing.assert_allclose(look.entropy().numpy(), spread(wanted), atol=1e-10)


CHOICES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({"heads": 1}, (slice(None), [1])),
    ({"heads": [2, 0], "batch": 1}, ([1], [2, 0])),
    ({"heads": slice(1, None), "batch": torch.tensor([1, 0, 1])}, ([1, 0, 1], [1, 2])),
    ({"batch": []}, ([], slice(None))),
]


@pytest.mark.parametrize("budget", [1 << 22, 8], ids=["whole", "blocks"])
@pytest.mark.parametrize(("words", "index"), CHOICES, ids=str)
def test_summaries_of_some_heads_and_samples(
    words: dict[str, Any], index: tuple[Any, ...], budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attended, "BLOCK_NUMBERS", budget)
    query, key, value = (torch.randn(B, H, n, D, dtype=torch.float64) for n in (Q, K, K))
    wanted = expected("scaled_dot", "allow", "softmax", query.numpy(), key.numpy())[index[0]][:, index[1]]
    look = attend(query, key, value, mask=MASKS["allow"])
    np.testing.assert_allclose(look.weights(**words).numpy(), wanted, atol=1e-10)
    np.testing.assert_allclose(look.weights(**words, rows=[3, 1]).numpy(), wanted[..., [3, 1], :], atol=1e-10)
    np.testing.assert_allclose(look.mass(**words).numpy(), collected(wanted), atol=1e-10)
    np.testing.assert_allclose(look.entropy(**words).numpy(), spread(wanted), atol=1e-10)
    is_top(look.top(2, **words), look.weights(**words).numpy(), 2)


def test_keys_that_are_alike_share_and_none_is_told_twice() -> None:
    query, key = torch.randn(2, Q, D), torch.randn(2, 1, D).expand(2, K, D)
    look = attend(query, key, key)
    values, keys = look.top(4)
    torch.testing.assert_close(values, torch.full((2, Q, 4), 1 / K))
    assert all(len(set(row)) == 4 for row in keys.flatten(0, 1).tolist())
    torch.testing.assert_close(look.entropy(), torch.full((2, Q), math.log(K)))
    torch.testing.assert_close(look.mass(), torch.full((2, K), Q / K))


def summaries(look: Attended, leading: tuple[int, ...], queries: int, keys: int) -> None:
    """Everything that is told has its shape, and is zero."""
    told = [
        (look.context, (*leading, queries, 3)),
        (look.weights(), (*leading, queries, keys)),
        (look.entropy(), (*leading, queries)),
        (look.mass(), (*leading, keys)),
        *((part, (*leading, queries, min(2, keys))) for part in look.top(2)),
    ]
    for found, size in told:
        assert found.shape == size
        assert found.eq(0).all()


@pytest.mark.parametrize("mask", ["none", "causal", "lengths", "window"])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize(("queries", "keys"), [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_look_at_and_nobody_who_looks(queries: int, keys: int, normalizer: str, mask: str) -> None:
    for name in SCORES:
        score = make_score(name, query_width=4, key_width=4, keys=max(1, keys))
        query, key, value = (torch.randn(2, 1, n, w).requires_grad_() for n, w in ((queries, 4), (keys, 4), (keys, 3)))
        look = attend(query, key, value, score=score, mask=MASKS[mask], normalize=normalizer)
        summaries(look, (2, 1), queries, keys)
        if look.call.normalize.draws:
            assert torch.equal(look.log_prob(), torch.zeros(2, 1, queries))
        look.context.sum().backward()
        assert all(part.grad is not None and part.grad.eq(0).all() for part in (query, key, value))


def test_no_samples_and_no_heads() -> None:
    for leading in ((0, 2), (2, 0), (0,)):
        query, key, value = (torch.randn(*leading, n, w) for n, w in ((4, 4), (3, 4), (3, 3)))
        summaries(attend(query, key, value, mask=causal()), leading, 4, 3)
