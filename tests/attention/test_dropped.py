"""Dropout over long sequences: the definition with the same weights dropped, fair chances, bounded memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from saccade.attention import Biased, Mask, RelativeBias, ScaledDot, allow, attend, causal, lengths, operator, window

B, H, T, D = 2, 2, 200, 4  # more pairs than the way for short sequences takes
MASKS: dict[str, Callable[[], Mask | None]] = {
    "none": lambda: None,
    "causal": causal,
    "lengths": lambda: lengths([150, 0]),
    "window": lambda: window(20),
    "allow": lambda: allow(torch.rand(B, 1, T, T) < 0.5),
    "joined": lambda: causal() & lengths([T, 90]),
}


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor has that is made while this is on."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        sizes = [part.numel() for part in (made if isinstance(made, tuple | list) else [made]) if isinstance(part, Tensor)]
        self.numbers = max(self.numbers, *sizes, 0)
        return made


@pytest.mark.parametrize("mask", [None, causal()], ids=str)
def test_memory_does_not_grow_with_the_pairs(mask: Mask | None) -> None:
    length, heads = 1024, 6
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        saved[tensor.data_ptr()] = tensor.numel()
        return tensor

    query, key, value = (torch.randn(1, heads, length, D).requires_grad_() for _ in range(3))
    with Largest() as largest, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):  # type: ignore[no-untyped-call]
        attend(query, key, value, mask=mask, dropout=0.1).context.sum().backward()
    assert query.grad is not None
    assert largest.numbers <= 1 << 22 < heads * length * length
    assert sum(saved.values()) < 16 * query.numel()


def dropped(query: Tensor, key: Tensor, seed: int, **words: Any) -> Tensor:
    """The weights that a call really uses, (B, H, T, T): what it gives where value j is the j-th unit vector."""
    torch.manual_seed(seed)
    return attend(query, key, torch.eye(T, dtype=query.dtype).expand(B, H, T, T), **words).context


@pytest.mark.parametrize("bias", ["none", "fixed", "learned"])
@pytest.mark.parametrize("mask", MASKS)
def test_it_is_the_definition_with_the_same_weights_dropped(mask: str, bias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "BLOCK_NUMBERS", B * H * T * 33)  # seven blocks, the last one smaller
    query, key, value = (torch.randn(B, H, T, D, dtype=torch.float64).requires_grad_() for _ in range(3))
    table = RelativeBias(5, heads=H).double().requires_grad_(bias == "learned")
    score = ScaledDot() if bias == "none" else Biased(ScaledDot(), table)
    words: dict[str, Any] = {"mask": MASKS[mask](), "score": score, "dropout": 0.3}
    used = dropped(query, key, 5, **words).detach()
    torch.manual_seed(5)
    look = attend(query, key, value, **words)
    weights = look.weights()
    stays = (used > 0).double() / 0.7
    torch.testing.assert_close(used, weights.detach() * stays)
    open_ = weights > 0
    assert (used[open_] > 0).double().mean().item() == pytest.approx(0.7, abs=0.03)
    wanted = (weights * stays) @ value
    torch.testing.assert_close(look.context, wanted)
    pull = torch.randn_like(wanted)
    leaves = [query, key, value, *([table.table] if bias == "learned" else [])]
    for one, other in zip(
        torch.autograd.grad(look.context, leaves, pull), torch.autograd.grad(wanted, leaves, pull), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("leading", [(), (3,), (2, 1, 2)])
def test_any_leading_dimensions_and_widths(leading: tuple[int, ...]) -> None:
    query, key = torch.randn(*leading, 200, 5), torch.randn(*leading, 250, 5)
    value = torch.ones(*leading, 250, 3)
    context = attend(query, key, value, dropout=0.5).context
    assert context.shape == (*leading, 200, 3)
    assert context.mean().item() == pytest.approx(1, abs=0.05)


def test_the_seed_tells_everything_and_calls_differ() -> None:
    x = torch.randn(1, 1, 300, 4)
    torch.manual_seed(3)
    first, second = (attend(x, x, x, dropout=0.5).context for _ in range(2))
    torch.manual_seed(3)
    assert torch.equal(attend(x, x, x, dropout=0.5).context, first)
    state = torch.get_rng_state()
    assert torch.equal(attend(x, x, x, dropout=0.5).context, second)
    torch.set_rng_state(state)
    assert torch.equal(attend(x, x, x, dropout=0.5).context, second)
    assert not torch.equal(first, second)


def test_the_gradient_leaves_the_generator_alone() -> None:
    x = torch.randn(1, 1, 300, 4).requires_grad_()
    context = attend(x, x, x, dropout=0.5).context
    before = torch.get_rng_state()
    context.sum().backward()
    assert torch.equal(torch.get_rng_state(), before)


def test_functions_of_it_can_be_transformed() -> None:
    query, key, value = (torch.randn(1, 1, 200, 4) for _ in range(3))

    def total(value: Tensor) -> Tensor:
        return attend(query, key, value, dropout=0.5).context.sum()

    found = torch.func.grad(total)(value)
    assert found.sum().item() == pytest.approx(4 * 200, rel=0.05)


def test_everything_dropped_gives_zeros_and_zero_gradients() -> None:
    query, key, value = (torch.randn(1, 2, 200, 4).requires_grad_() for _ in range(3))
    context = attend(query, key, value, dropout=1.0).context
    assert context.eq(0).all()
    context.sum().backward()
    assert all(part.grad is not None and part.grad.eq(0).all() for part in (query, key, value))


def test_few_of_very_many_are_kept_and_count_for_all() -> None:
    """At a dropout of 0.999 the mean of contexts is still that of the values."""
    query, key, value = torch.randn(1, 20, 200, 4), torch.zeros(1, 20, 1000, 4), torch.ones(1, 20, 1000, 1)
    context = attend(query, key, value, dropout=0.999).context
    assert context.mean().item() == pytest.approx(1, abs=0.1)
    assert 0.3 < context.eq(0).double().mean().item() < 0.45  # (1 - 0.001) ** 1000
