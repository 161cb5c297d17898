"""The kernel finds the end of a nucleus where sorting finds it, also among equals and where nearly all is one number."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.kernels.nucleus import least_of_nucleus, nucleus_definition

SHARES = [1e-9, 0.1, 0.5, 0.9, 0.999, 1.0]


@given(
    st.integers(1, 5), st.integers(1, 300), st.sampled_from(SHARES), st.sampled_from([0.01, 1.0, 30.0]), st.integers(0, 99)
)
def test_kernel_is_its_definition(rows: int, size: int, share: float, spread: float, seed: int) -> None:
    dice = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(rows, size, generator=dice)
    likely = (logits - logits.amax(-1, keepdim=True)).exp()
    found, wanted = least_of_nucleus(likely, share), nucleus_definition(likely, share)
    assert torch.equal(likely >= found, likely >= wanted) or _borders(likely, found, wanted, share)


def _borders(likely: torch.Tensor, one: torch.Tensor, other: torch.Tensor, share: float) -> bool:
    """Whether what one of them keeps and the other does not is less than the sums are rounded by."""
    kept = [(likely.double() * (likely >= least)).sum(-1) for least in (one, other)]
    whole = likely.double().sum(-1)
    reached = [(part / whole - share).abs() for part in kept]
    return bool(((kept[0] - kept[1]).abs() / whole < 1e-12).all() or (torch.minimum(*reached) < 1e-12).all())


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_equals_are_kept_together(share: float) -> None:
    likely = torch.tensor([[0.5, 1.0, 0.5, 0.25, 0.5, 0.25, 1.0]])
    assert torch.equal(least_of_nucleus(likely, share), nucleus_definition(likely, share))
    assert least_of_nucleus(likely, 0.51).item() == 0.5


def test_numbers_that_differ_in_their_last_bit() -> None:
    one = torch.tensor(0.7)
    likely = torch.stack((torch.nextafter(one, torch.tensor(0.0)), one, torch.nextafter(one, torch.tensor(1.0))))[None]
    assert [least_of_nucleus(likely, share).item() for share in (0.2, 0.5, 0.9)] == [
        likely[0, place].item() for place in (2, 1, 0)
    ]


def test_nothing_and_what_is_not_a_number() -> None:
    likely = torch.tensor([[0.0, 0.0, 0.0], [1.0, math.nan, 0.5], [1.0, 0.0, 0.0]])
    least = least_of_nucleus(likely, 0.9)
    assert (likely[0] * (likely[0] >= least[0])).tolist() == [0.0, 0.0, 0.0]
    assert math.isnan(least[1].item())
    assert least[2].item() == 1.0


def test_threads_and_no_kernels_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    likely, before = torch.rand(6, 5000), torch.get_num_threads()
    found = least_of_nucleus(likely, 0.8)
    try:
        torch.set_num_threads(2)
        assert torch.equal(least_of_nucleus(likely, 0.8), found)
    finally:
        torch.set_num_threads(before)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    assert torch.equal(least_of_nucleus(likely, 0.8), found)
