"""Skip-gram's kernel equals its definition, and that is a step of descent along torch's own gradient."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import ShapeError
from saccade.kernels.negative_sampling import definition, descend

RATE = 0.1
Step = Callable[..., Tensor]


def tables(words: int, width: int) -> tuple[Tensor, Tensor]:
    return 0.5 * torch.randn(words, width), 0.5 * torch.randn(words, width)


def pairs(words: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Few words, so that centers, contexts and what is drawn often fall together."""
    return torch.randint(words, (count,)), torch.randint(words, (count,)), torch.randint(words, (count, 4))


def loss(inputs: Tensor, outputs: Tensor, center: int, context: int, negatives: list[int]) -> Tensor:
    """As the paper has it (eq. 4), without negatives that are the context itself."""
    told = F.logsigmoid(outputs[context] @ inputs[center])
    others = [F.logsigmoid(-outputs[word] @ inputs[center]) for word in negatives if word != context]
    return -(told + sum(others, torch.zeros(())))


@pytest.mark.parametrize("width", [1, 7, 8, 37, 100])
@pytest.mark.parametrize("words", [3, 40])
def test_kernel_is_its_definition(words: int, width: int) -> None:
    given = pairs(words, 60)
    found = tables(words, width)
    plain = (found[0].double(), found[1].double())
    torch.testing.assert_close(
        descend(*found, *given, RATE).double(), definition(*plain, *given, RATE), atol=1e-4, rtol=1e-4
    )
    for one, other in zip(found, plain, strict=True):
        torch.testing.assert_close(one.double(), other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("step", [descend, definition])
def test_each_pair_is_a_step_of_descent(step: Step) -> None:
    inputs, outputs = tables(5, 6)
    given = pairs(5, 12)
    own = [inputs.clone(), outputs.clone()]
    losses = step(*own, *given, RATE)
    for number, (center, context, negatives) in enumerate(zip(*(part.tolist() for part in given), strict=True)):
        inputs, outputs = inputs.requires_grad_(), outputs.requires_grad_()
        told = loss(inputs, outputs, center, context, negatives)
        assert losses[number].item() == pytest.approx(told.item(), abs=1e-5)
        slopes = torch.autograd.grad(told, (inputs, outputs))
        inputs, outputs = (inputs - RATE * slopes[0]).detach(), (outputs - RATE * slopes[1]).detach()
    torch.testing.assert_close(own[0], inputs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(own[1], outputs, atol=1e-5, rtol=1e-5)


def test_scores_far_out_stay_finite() -> None:
    inputs, outputs = torch.full((2, 8), 30.0), torch.full((2, 8), 30.0)
    losses = descend(inputs, outputs, torch.tensor([0]), torch.tensor([0]), torch.tensor([[1]]), RATE)
    assert losses.item() == pytest.approx(7200)
    assert inputs.isfinite().all()


def test_nothing_to_do_is_nothing() -> None:
    none = torch.zeros(0, dtype=torch.int64)
    inputs, outputs = tables(3, 4)
    for step in (descend, definition):
        assert step(inputs, outputs, none, none, none.reshape(0, 2), RATE).shape == (0,)


@pytest.mark.parametrize("which", ["centers", "contexts", "negatives"])
@pytest.mark.parametrize("wrong", [-100, -1, 6, 2**40])
def test_words_that_there_are_not_are_refused(which: str, wrong: int) -> None:
    inputs, outputs = tables(6, 4)
    before = inputs.clone(), outputs.clone()
    centers, contexts, negatives = pairs(6, 5)
    {"centers": centers, "contexts": contexts, "negatives": negatives}[which].view(-1)[2] = wrong
    with pytest.raises(ShapeError, match=f"{which}: expected words 0 … 5, got {wrong}"):
        descend(inputs, outputs, centers, contexts, negatives, RATE)
    assert torch.equal(inputs, before[0])
    assert torch.equal(outputs, before[1])


def test_tables_that_are_parts_of_others() -> None:
    inputs, outputs = tables(6, 8)
    given = pairs(6, 9)
    expected = [part[:, ::2].contiguous() for part in (inputs, outputs)]
    losses = definition(expected[0], expected[1], *given, RATE)
    torch.testing.assert_close(descend(inputs[:, ::2], outputs[:, ::2], *given, RATE), losses)
    torch.testing.assert_close(inputs[:, ::2], expected[0])
    torch.testing.assert_close(outputs[:, ::2], expected[1])
