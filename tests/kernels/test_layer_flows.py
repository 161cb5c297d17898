"""The compiled loop finds the flows of the definition, for every size from 1 up, also where edges are closed."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.kernels.layer_flows import _max_flow, layer_flows


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 5), st.floats(0, 0.9), st.integers(0, 999))
def test_the_loop_is_the_definition(layers: int, size: int, closed: float, seed: int) -> None:
    dice = np.random.default_rng(seed)
    capacity = dice.random((layers, size, size)) * (dice.random((layers, size, size)) >= closed)
    expected = [[_max_flow(capacity, source, sink) for sink in range(size)] for source in range(size)]
    assert np.allclose(layer_flows(capacity), expected, atol=1e-9)


def test_flow_turns_back_where_that_is_better() -> None:
    """The shortest ways take the only exit of the middle; some must be taken back to fill the other."""
    capacity = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    assert layer_flows(capacity).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_threads_and_no_kernels_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    capacity, before = np.random.default_rng(0).random((3, 4, 4)), torch.get_num_threads()
    found = layer_flows(capacity)
    try:
        torch.set_num_threads(2)
        assert np.array_equal(layer_flows(capacity), found)
    finally:
        torch.set_num_threads(before)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    assert np.allclose(layer_flows(capacity), found, atol=1e-12)
