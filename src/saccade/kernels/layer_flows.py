"""Maximum flow through layers of edges, from every place above to every place below: a compiled loop, and what it means."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.runtime import kernels_on, run

Floats = NDArray[np.float64]
LEAST = 1e-12  # what is less is no room


def layer_flows(capacity: Floats) -> Floats:
    """(N, N): the most that can flow from place i above the last layer to place j below the first.

    `capacity` (layers, N, N) is what each edge holds, from places above (rows) to places below.
    """
    size = capacity.shape[-1]
    if not kernels_on():
        return np.array([[_max_flow(capacity, source, sink) for sink in range(size)] for source in range(size)])
    result = np.empty((size, size))
    run("layer_flows", np.ascontiguousarray(capacity, dtype=np.float64), result)
    return result


def _max_flow(capacity: Floats, source: int, sink: int) -> float:
    """The definition: fill shortest ways with room, which may undo what flows, until there is none (Edmonds & Karp 1972)."""
    layers, size, _ = capacity.shape
    nodes = (layers + 1) * size
    room = np.zeros((nodes, nodes))
    for layer in range(layers):
        room[(layer + 1) * size : (layer + 2) * size, layer * size : (layer + 1) * size] = capacity[layer]
    start, total = layers * size + source, 0.0
    while (way := _shortest(room, start, sink)) is not None:
        edges = way[:-1], way[1:]
        amount = float(room[edges].min())
        room[edges] -= amount
        room[edges[::-1]] += amount
        total += amount
    return total


def _shortest(room: Floats, start: int, end: int) -> list[int] | None:
    """The nodes of a shortest way with room on every edge; None where there is none."""
    before, ready = {start: start}, deque([start])
    while ready:
        node = ready.popleft()
        for following in np.flatnonzero(room[node] > LEAST).tolist():
            if following not in before:
                before[following] = node
                ready.append(following)
    if end not in before:
        return None
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]
