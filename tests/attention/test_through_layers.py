"""Attention through all layers: rollout multiplies them, flow is the maximum flow that networkx finds."""

from collections.abc import Iterator

import numpy as np
import pytest
from networkx import DiGraph, maximum_flow_value  # type: ignore[import-untyped]

from saccade.attention.through_layers import Weights, flow, mixed, rollout
from saccade.errors import UsageError


def stack(layers: int, places: int, *, heads: int = 2, causal: bool = False, seed: int = 0) -> list[Weights]:
    scores = 3 * np.random.default_rng(seed).normal(size=(layers, heads, places, places))
    if causal:
        scores = np.where(np.tri(places) > 0, scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return list((powers / powers.sum(-1, keepdims=True)).astype(np.float32))


def maximum_flows(layers: list[Weights]) -> Iterator[list[float]]:
    """The same by networkx, row by row, before it is divided by its sum."""
    graph = DiGraph()
    for number, weights in enumerate(layers):
        for (above, below), weight in np.ndenumerate(mixed(weights)):
            graph.add_edge((number + 1, above), (number, below), capacity=float(weight))
    places = range(layers[0].shape[-1])
    for above in places:
        yield [maximum_flow_value(graph, (len(layers), above), (0, below)) for below in places]


def test_rollout_follows_attention_through_layers() -> None:
    """Two layers in which each place looks at the one before it: half stays, half moves on."""
    shift = np.roll(np.eye(3, dtype=np.float32), -1, axis=1)[None]
    found = rollout([shift, shift])
    half = (np.eye(3) + shift[0]) / 2
    assert found.shape == (1, 3, 3)
    assert np.allclose(found[0], half @ half)
    assert np.allclose(found.sum(-1), 1)


def test_the_last_layer_is_multiplied_from_the_left() -> None:
    """All look at the first place in the first layer, and at the last one in the second."""
    first, last = (np.eye(3, dtype=np.float32)[[place] * 3][None] for place in (0, 2))
    assert np.allclose(rollout([first, last])[0, 1], [0.5, 0.25, 0.25])
    assert np.allclose(rollout([last, first])[0, 1], [0.25, 0.25, 0.5])


@pytest.mark.parametrize(("layers", "places", "causal"), [(1, 1, False), (1, 4, False), (3, 5, False), (4, 5, True)])
def test_flow_is_the_maximum_flow(layers: int, places: int, causal: bool) -> None:
    given = stack(layers, places, causal=causal)
    expected = np.array(list(maximum_flows(given)))
    found = flow(given)
    assert found.shape == (1, places, places)
    assert np.allclose(found[0], expected / expected.sum(-1, keepdims=True), atol=1e-6)
    if causal:
        assert np.all(found[0][np.triu_indices(places, 1)] == 0)


def test_a_narrow_layer_limits_the_flow_and_not_the_rollout() -> None:
    """Through one place of a middle layer no more can flow than it passes on."""
    wide, first = np.full((1, 4, 4), 0.25, np.float32), np.eye(4, dtype=np.float32)[[0] * 4][None]
    assert flow([wide, first, wide])[0, 3] != pytest.approx(rollout([wide, first, wide])[0, 3], abs=0.01)


def test_of_long_texts_no_flow_is_computed() -> None:
    with pytest.raises(UsageError, match="flow: expected at most 64 tokens through 12 layers, got 65; shorten the text"):
        flow(stack(12, 65, heads=1))
