"""Masks: patterns, joining, caches, printing, local attention."""

import pytest
import torch

from saccade.attention import (
    Mask,
    PredictedCenter,
    allow,
    attend,
    causal,
    fixed,
    lengths,
    local_m,
    local_p,
    others,
    strided,
    window,
)
from saccade.attention.masks import named
from saccade.errors import SaccadeError, ShapeError, UnknownName, UsageError


def test_pictures() -> None:
    assert causal().picture(3) == "■··\n■■·\n■■■"
    assert window(1).picture(4) == "■■··\n■■■·\n·■■■\n··■■"
    assert (causal() & window(1)).picture(4) == "■···\n■■··\n·■■·\n··■■"
    assert (causal() & strided(2)).picture(5) == "■····\n■■···\n■■■··\n·■■■·\n■·■■■"
    assert (causal() & fixed(2)).picture(5) == "■····\n■■···\n·■■··\n·■■■·\n·■·■■"
    assert others().picture(3) == "·■■\n■·■\n■■·"
    assert lengths(torch.tensor([2])).picture(2, 3) == "■■·\n■■·"


def test_names() -> None:
    assert str(causal() & window(3) & lengths(torch.tensor([2, 5]))) == "causal & window(3) & lengths(2, 5)"
    assert str(lengths(torch.arange(20))) == "lengths(0, 1, 2, 3, 4, 5, 6, 7, …)"
    assert str(allow(torch.ones(1, 4, 5, dtype=torch.bool))) == "allow(1 × 4 × 5)"
    assert str(strided(4) & fixed(8, 2)) == "strided(4) & fixed(8, 2)"
    assert str(local_m(torch.zeros(1), 2) & local_p(torch.zeros(1), 3)) == "local_m(2) & local_p(3)"


def test_masks_by_word() -> None:
    assert named("none") is None
    assert named("window(3)") == window(3)
    assert named("strided(8)") == strided(8)
    assert named("fixed(4, 2)") == named("fixed(4,2)") == fixed(4, 2)
    assert named("fixed(4)") == fixed(4)
    assert str(named("fixed(4, 2)")) == "fixed(4, 2)"


@pytest.mark.parametrize("word", ["windw(3)", "causal", "", "lengths(3)", "None"])
def test_a_word_that_names_no_mask_is_told(word: str) -> None:
    with pytest.raises(UnknownName, match="unknown mask"):
        named(word)
    with pytest.raises(UnknownName, match="did you mean 'window'"):
        named("windw(3)")


@pytest.mark.parametrize("word", ["window", "window()", "window(1.5)", "window(-1)", "window(1, 2)", "fixed(0)"])
def test_a_mask_with_a_wrong_number_is_told_in_one_line(word: str) -> None:
    with pytest.raises(UsageError) as error:
        named(word)
    assert str(error.value) == f"mask: expected a word such as {word.partition('(')[0]}(8), got {word!r}"


@pytest.mark.parametrize(
    "mask", [causal(), window(2), causal() & window(1), strided(3) & causal(), fixed(3) & causal()], ids=str
)
def test_with_a_cache_queries_stand_at_the_end(mask: Mask) -> None:
    """The last queries, decoded behind cached keys, get what they get when everything is computed at once."""
    x = torch.randn(2, 9, 4, dtype=torch.float64)
    whole = attend(x, x, x, mask=mask).context
    for count in (1, 2, 5):
        step = attend(x[:, -count:], x, x, mask=mask).context
        torch.testing.assert_close(step, whole[:, -count:])


def test_a_square_pattern_serves_a_cache() -> None:
    x = torch.randn(6, 4, dtype=torch.float64)
    pattern = allow(torch.rand(6, 6) < 0.6)
    whole = attend(x, x, x, mask=pattern).context
    torch.testing.assert_close(attend(x[-2:], x, x, mask=pattern).context, whole[-2:])


@pytest.mark.parametrize("queries", [300, 1000])
def test_long_blocks_agree_with_one_matrix(queries: int) -> None:
    """Past the size of a block: the same as the whole mask given as booleans to torch."""
    query, key, value = (torch.randn(2, 2, n, 8, dtype=torch.float64) for n in (queries, 1000, 1000))
    length = torch.tensor([700, 1000])
    for mask in (window(40), causal() & window(40), causal() & lengths(length), window(300) & lengths(length), strided(50)):
        seen = mask.dense(queries, 1000, leading=2)
        explicit = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        torch.testing.assert_close(attend(query, key, value, mask=mask).context, explicit)


def test_long_window_gradients() -> None:
    tensors = [torch.randn(1, 2, 700, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    seen = window(30).dense(700, 700)
    pull = torch.randn(1, 2, 700, 8, dtype=torch.float64)
    ours = torch.autograd.grad(attend(*tensors, mask=window(30)).context, tensors, pull)
    explicit = torch.nn.functional.scaled_dot_product_attention(tensors[0], tensors[1], tensors[2], attn_mask=seen)
    for one, other in zip(ours, torch.autograd.grad(explicit, tensors, pull), strict=True):
        torch.testing.assert_close(one, other)


def test_local_p_is_a_window_and_a_gaussian() -> None:
    query, key, value = torch.randn(2, 3, 4), torch.randn(2, 9, 4), torch.randn(2, 9, 5)
    center = (torch.rand(2, 3) * 9).requires_grad_()
    attended = attend(query, key, value, mask=local_p(center, 2))
    inside = (torch.arange(9) - center[..., None]).abs() <= 2
    scores = (query @ key.mT / 2).masked_fill(~inside, -torch.inf)
    expected = scores.softmax(-1) * torch.exp(-((torch.arange(9) - center[..., None]) ** 2) / 2)
    torch.testing.assert_close(attended.weights(), expected)
    assert (attended.weights()[~inside] == 0).all()
    (gradient,) = torch.autograd.grad(attended.context.sum(), center)
    assert (gradient != 0).all()


def test_predicted_center_lies_in_the_source() -> None:
    center = PredictedCenter(4)(torch.randn(2, 3, 4), torch.tensor([5, 9]))
    assert center.shape == (2, 3)
    assert (center > 0).all()
    assert (center < torch.tensor([[5.0], [9.0]])).all()


def test_what_does_not_fit_is_refused() -> None:
    x = torch.randn(3, 4)
    with pytest.raises(ShapeError, match="boolean tensor"):
        allow(torch.ones(3, 3))
    with pytest.raises(ShapeError, match="2 × 3 does not fit 3 queries × 3 keys"):
        attend(x, x, x, mask=allow(torch.ones(2, 3, dtype=torch.bool)))
    with pytest.raises(ShapeError, match="radius must be at least 0"):
        window(-1)
    with pytest.raises(SaccadeError, match=r"allow\(tensor\)"):
        causal() & torch.ones(3, 3)  # type: ignore[operator]
