"""The compiled loop of maximum flow through layers (Dinitz 1970), in Numba; imported at first use by `runtime`."""

import numpy as np

from saccade.kernels.loops.jit import kernel, part, share_out

LEAST = 1e-12  # what is less is no room


@part(error_model="numpy")
def _levels(capacity, flow, source, sink, level, queue):
    """How far each node is from the source through edges with room; whether the sink is reached."""
    layers, size = capacity.shape[0], capacity.shape[1]
    for node in range(level.size):
        level[node] = -1
    level[source], queue[0], first, end = 0, source, 0, 1
    while first < end and level[sink] < 0:
        node = queue[first]
        first += 1
        floor, place = node // size, node % size
        if floor > 0:
            for k in range(size):
                below = (floor - 1) * size + k
                if level[below] < 0 and capacity[floor - 1, place, k] - flow[floor - 1, place, k] > LEAST:
                    level[below], queue[end] = level[node] + 1, below
                    end += 1
        if floor < layers:
            for k in range(size):
                above = (floor + 1) * size + k
                if level[above] < 0 and flow[floor, k, place] > LEAST:
                    level[above], queue[end] = level[node] + 1, above
                    end += 1
    return level[sink] >= 0


@part(error_model="numpy")
def _room(capacity, flow, node, choice):
    """The neighbor that a choice of a node leads to, down for the first ones and else up, and the room on the way."""
    layers, size = capacity.shape[0], capacity.shape[1]
    floor, place = node // size, node % size
    if choice < size:
        if floor == 0:
            return -1, 0.0
        return (floor - 1) * size + choice, capacity[floor - 1, place, choice] - flow[floor - 1, place, choice]
    if floor == layers:
        return -1, 0.0
    return (floor + 1) * size + choice - size, flow[floor, choice - size, place]


@part(error_model="numpy")
def _push(flow, node, choice, amount):
    size = flow.shape[1]
    floor, place = node // size, node % size
    if choice < size:
        flow[floor - 1, place, choice] += amount
    else:
        flow[floor, choice - size, place] -= amount


@part(error_model="numpy")
def _blocking(capacity, flow, source, sink, level, tried, path):
    """Fill shortest ways until none is left; what went through."""
    total, depth, size = 0.0, 0, capacity.shape[1]
    for node in range(tried.size):
        tried[node] = 0
    path[0] = source
    while True:
        node = path[depth]
        if node == sink:
            amount = 2.0
            for step in range(depth):
                amount = min(amount, _room(capacity, flow, path[step], tried[path[step]])[1])
            for step in range(depth):
                _push(flow, path[step], tried[path[step]], amount)
            total += amount
            back = depth
            for step in range(depth - 1, -1, -1):  # to the first edge that is full
                if _room(capacity, flow, path[step], tried[path[step]])[1] <= LEAST:
                    back = step
            depth = back
            continue
        advanced = False
        while tried[node] < 2 * size:
            there, room = _room(capacity, flow, node, tried[node])
            if there >= 0 and room > LEAST and level[there] == level[node] + 1:
                depth += 1
                path[depth] = there
                advanced = True
                break
            tried[node] += 1
        if not advanced:
            if depth == 0:
                return total
            depth -= 1
            tried[path[depth]] += 1


@part(error_model="numpy")
def _flows_from(source, capacity, result):
    """From one place of the top to every place of the bottom."""
    layers, size = capacity.shape[0], capacity.shape[1]
    flow = np.empty(capacity.shape)
    nodes = (layers + 1) * size
    level, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    tried, path = np.empty(nodes, np.int64), np.empty(nodes + 1, np.int64)
    top = layers * size + source
    for sink in range(size):
        for layer in range(layers):
            for i in range(size):
                for j in range(size):
                    flow[layer, i, j] = 0.0
        total = 0.0
        while _levels(capacity, flow, top, sink, level, queue):
            total += _blocking(capacity, flow, top, sink, level, tried, path)
        result[source, sink] = total


@kernel
def layer_flows(team, capacity, result):
    """result[i, j]: the maximum flow from place i above the last layer to place j below the first; (layers, N, N)."""
    share_out(_flows_from, capacity.shape[1], team, (capacity, result))
