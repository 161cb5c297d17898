"""All steps of the recurrent decoder in one call equal a plain loop of them."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from saccade.kernels import decoder_steps
from saccade.kernels.recurrent_cells import CELLS, RecurrentCell

LENGTHS = torch.tensor([5, 1, 3, 4, 2])
LEAVES = ("gates", "start", "key", "value", "query weight", "vector", "context weight", "state weight", "bias")


def close(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float) -> None:
    """Equal up to this share of the largest number of each tensor."""
    assert one.keys() == other.keys()
    for name, tensor in other.items():
        scale = tolerance * max(1.0, float(tensor.abs().max()))
        torch.testing.assert_close(one[name].double(), tensor.double(), atol=scale, rtol=0, msg=name)


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"], autouse=True)
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def drawn(cell: RecurrentCell, T: int = 4, H: int = 6, C: int = 7, D: int = 9) -> list[Tensor]:
    """The leaves in their order, for a batch as large as LENGTHS."""
    B, K, G = len(LENGTHS), int(LENGTHS.max()), cell.gates * H
    sizes = [(T, B, G), (B, cell.parts * H), (B, K, D), (B, K, C), (D, H), (D,), (G, C), (G, H), (G,)]
    return [0.7 * torch.randn(size) for size in sizes]


def looped(cell: RecurrentCell, leaves: list[Tensor], live: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """States, contexts and queries as the equations say them."""
    gates, state, key, value, query_weight, vector, context_weight, state_weight, bias = leaves
    found = []
    for words in gates:
        hidden = state[:, : state_weight.shape[1]]
        query = hidden @ query_weight.T
        scores = torch.tanh(query[:, None] + key) @ vector
        weights = torch.softmax(scores.masked_fill(~live, -torch.inf), -1)
        context = (weights[..., None] * value).sum(1)
        state = cell.definition(words + context @ context_weight.T, hidden @ state_weight.T + bias, state)
        found.append((state, context, query[:, None]))
    states, contexts, queries = map(torch.stack, zip(*found, strict=True))
    return states, contexts, queries


def kernel_written(cell: RecurrentCell, leaves: list[Tensor], live: Tensor) -> decoder_steps.DecodedSteps:
    gates, start, key, value, *weights = leaves
    return decoder_steps.decode(cell, gates, start, key, value, live, decoder_steps.DecoderWeights(*weights))


def outcome(
    cell: RecurrentCell, tensors: list[Tensor], live: Tensor, pulls: list[Tensor], kernel: bool
) -> dict[str, Tensor]:
    """What is written, and the gradient of every leaf."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    if kernel:
        written: tuple[Tensor, ...] = kernel_written(cell, leaves, live)
    else:
        written = looped(cell, leaves, live)
    total = sum((part * pull.to(part.dtype)).sum() for part, pull in zip(written, pulls, strict=False))
    assert isinstance(total, Tensor)
    grads = torch.autograd.grad(total, leaves)
    told = dict(zip(("states", "contexts", "queries"), (part.detach() for part in written), strict=True))
    return {**told, **dict(zip(LEAVES, grads, strict=True))}


@pytest.mark.parametrize("name", sorted(CELLS))
def test_all_steps_are_the_plain_loop_of_them(name: str) -> None:
    cell, tensors = CELLS[name], drawn(CELLS[name])
    live = torch.arange(int(LENGTHS.max())) < LENGTHS[:, None]
    pulls = [torch.randn(4, len(LENGTHS), cell.parts * 6), torch.randn(4, len(LENGTHS), 7)]
    ours = outcome(cell, tensors, live, pulls, kernel=True)
    theirs = outcome(cell, [tensor.double() for tensor in tensors], live, pulls, kernel=False)
    assert all(tensor.abs().max() > 1e-3 for tensor in theirs.values())
    close(ours, theirs, 1e-5)


@pytest.mark.parametrize("name", sorted(CELLS))
def test_keys_that_are_not_live_need_not_stand_at_the_end(name: str) -> None:
    cell, tensors = CELLS[name], drawn(CELLS[name])
    live = torch.arange(int(LENGTHS.max())).flip(0) < LENGTHS[:, None]
    pulls = [torch.zeros(4, len(LENGTHS), cell.parts * 6), torch.randn(4, len(LENGTHS), 7)]
    ours = outcome(cell, tensors, live, pulls, kernel=True)
    close(ours, outcome(cell, [tensor.double() for tensor in tensors], live, pulls, kernel=False), 1e-5)
    assert ours["key"][~live].eq(0).all()
    assert ours["value"][~live].eq(0).all()


def test_what_is_given_is_left_alone() -> None:
    cell, live = CELLS["gru"], torch.ones(len(LENGTHS), 5, dtype=torch.bool)
    leaves = [tensor.requires_grad_() for tensor in drawn(cell)]
    before = [leaf.detach().clone() for leaf in leaves]
    written = kernel_written(cell, leaves, live)
    assert not written.queries.requires_grad
    pulls = [torch.ones_like(written.states), torch.ones_like(written.contexts)]
    torch.autograd.grad([written.states, written.contexts], leaves, pulls)
    assert all(torch.equal(leaf, kept) for leaf, kept in zip(leaves, before, strict=True))
    assert all(pull.eq(1).all() for pull in pulls)
