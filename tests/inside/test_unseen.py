"""A model whose attention cannot be seen says so: which module, and why, in one warning."""

import re
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention.flex_attention import flex_attention

from saccade.inside import looking


class FlexAttention(nn.Module):
    """Torch's flexible attention, which runs a graph of its own."""

    def forward(self, x: Tensor) -> Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, that it is slow here
            found: Tensor = flex_attention(x, x, x)
            return found


class LinearAttention(nn.Module):
    """Without a softmax over keys (Katharopoulos et al. 2020)."""

    def forward(self, x: Tensor) -> Tensor:
        features = F.elu(x) + 1
        return features @ (features.mT @ x)


def told(own: nn.Module, x: Tensor, ran: Callable[..., object] | None = None) -> str:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with torch.no_grad(), looking(own) as looks:
            (ran or own)(x)
    assert dict(looks) == {}
    (one,) = found
    assert one.filename == __file__, "the warning stands at the user's line"
    return str(one.message)


@pytest.mark.parametrize("kind", [FlexAttention, LinearAttention])
def test_a_module_that_attends_unseen_is_named(kind: type[nn.Module]) -> None:
    own, x = nn.Sequential(nn.Linear(8, 8), kind(), kind()), torch.randn(1, 2, 16, 8)
    with torch.no_grad():
        plain = own(x)
        with pytest.warns(UserWarning, match="cannot be seen"), looking(own):
            assert torch.equal(own(x), plain)
    text = told(own, x)
    assert re.match(rf"attention that cannot be seen in '1' \({kind.__name__}\), '2' \({kind.__name__}\): ", text)
    assert "flex_attention" in text


def test_a_compiled_module_is_named() -> None:
    compiled: Any = torch.compile(LinearAttention(), backend="eager")
    own = nn.Sequential(nn.Linear(8, 8), compiled)
    text = told(own, torch.randn(1, 4, 8))
    assert "cannot be seen in '1' (OptimizedModule): compiled by torch.compile" in text
    other = LinearAttention()
    other.compile(backend="eager")
    assert "compiled by torch.compile" in told(other, torch.randn(1, 4, 8))


def test_an_implementation_of_transformers_is_named() -> None:
    own: Any = LinearAttention()
    own.config = SimpleNamespace(_attn_implementation="flash_attention_2")
    assert "runs in flash_attention_2" in told(own, torch.randn(1, 4, 8))
    assert "attn_implementation='sdpa'" in told(own, torch.randn(1, 4, 8))


def test_a_model_without_attention_and_one_that_was_not_called() -> None:
    own, x = nn.Linear(3, 3), torch.randn(2, 3)
    assert "Linear ran, and no attention was seen in it" in told(own, x)
    assert "was not called inside the block" in told(own, x, lambda x: None)
