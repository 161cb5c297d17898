"""How heads find a place: weights sum to 1, a closed gate keeps the place, a shift turns a circle, sharpening sharpens."""

import torch
from torch import Tensor

from saccade.attention import attend, make_score
from saccade.layers.addressing import Address, Addressing, sharpened, shifted_in_circle


def made(gate: float, shift: list[float], sharpness: float = 1.0) -> Address:
    ones = torch.ones(2, 1, 1)
    return Address(torch.randn(2, 1, 4), 2 * ones, gate * ones, torch.tensor(shift).expand(2, 1, 3), sharpness * ones)


def weights_of(address: Address, before: Tensor) -> Tensor:
    memory = torch.randn(2, 6, 4)
    score = make_score("cosine", query_width=4, key_width=4, keys=6)
    found: Tensor = attend(address.key, memory, memory, score=score, normalize=Addressing(address, before)).weights()
    return found


def test_weights_are_distributions_from_any_numbers() -> None:
    torch.manual_seed(0)
    address = Address.of(5 * torch.randn(2, 1, sum(Address.sizes(4, 1))), 4, 1)
    weights = weights_of(address, torch.rand(2, 1, 6).softmax(-1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1))
    assert (weights >= 0).all()
    assert (address.sharpness >= 1).all()


def test_a_closed_gate_keeps_the_last_weights_and_shifts_them() -> None:
    before = torch.eye(6)[torch.tensor([[1], [5]])]
    torch.testing.assert_close(weights_of(made(0.0, [0.0, 1.0, 0.0]), before), before)
    torch.testing.assert_close(weights_of(made(0.0, [0.0, 0.0, 1.0]), before), torch.eye(6)[torch.tensor([[2], [0]])])
    torch.testing.assert_close(weights_of(made(0.0, [1.0, 0.0, 0.0]), before), torch.eye(6)[torch.tensor([[0], [4]])])


def test_an_open_gate_looks_by_content_alone() -> None:
    torch.manual_seed(0)
    one, other = (torch.rand(2, 1, 6).softmax(-1) for _ in range(2))
    address, memory = made(1.0, [0.0, 1.0, 0.0]), torch.randn(2, 6, 4)
    score = make_score("cosine", query_width=4, key_width=4, keys=6)
    found = [attend(address.key, memory, memory, score=score, normalize=Addressing(address, own)) for own in (one, other)]
    cosines = torch.nn.functional.cosine_similarity(address.key, memory, dim=-1)[:, None]
    for attended in found:
        torch.testing.assert_close(attended.weights(), (2 * cosines).softmax(-1))


def test_a_blurred_shift_is_a_circular_convolution() -> None:
    weights, shift = torch.rand(1, 1, 5), torch.tensor([[[0.2, 0.5, 0.3]]])
    expected = [sum(weights[0, 0, (i - j) % 5] * shift[0, 0, j + 1] for j in (-1, 0, 1)) for i in range(5)]
    torch.testing.assert_close(shifted_in_circle(weights, shift)[0, 0], torch.stack(expected))  # type: ignore[arg-type]


def test_sharpening_raises_to_a_power_and_stays_finite() -> None:
    weights = torch.tensor([[[0.5, 0.3, 0.2]]])
    raised = weights**3
    torch.testing.assert_close(sharpened(weights, torch.full((1, 1, 1), 3.0)), raised / raised.sum())
    tiny = torch.full((1, 1, 4), 1e-20, requires_grad=True)
    found = sharpened(tiny, torch.full((1, 1, 1), 50.0))
    torch.testing.assert_close(found, torch.full((1, 1, 4), 0.25))
    found.square().sum().backward()
    assert tiny.grad is not None
    assert tiny.grad.isfinite().all()
