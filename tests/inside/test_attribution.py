"""What moved the output adds up to what it moved by."""

import torch

from saccade.inside.attribution import gradient_x_input, integrated_gradients


def test_gradient_times_input_of_a_linear_function_is_the_function() -> None:
    weight, x = torch.randn(5), torch.randn(5)
    assert torch.allclose(gradient_x_input(lambda x: x @ weight, x), weight * x)


def test_integrated_gradients_are_complete() -> None:
    """Their sum is what the output changes by from the baseline, though the function is far from linear."""
    first, second, x, baseline = torch.randn(6, 8), torch.randn(8), torch.randn(3, 6), torch.randn(3, 6)

    def output(x: torch.Tensor) -> torch.Tensor:
        return (torch.tanh(x @ first).softmax(-1) @ second).sum()

    moved = integrated_gradients(output, x, baseline)
    assert moved.shape == x.shape
    assert torch.allclose(moved.sum(), output(x) - output(baseline), atol=1e-4)
    assert not torch.allclose(gradient_x_input(output, x).sum(), output(x) - output(torch.zeros(3, 6)), atol=1e-2)
