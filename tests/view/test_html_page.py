"""The page as a file: nothing foreign in it, nothing loaded, small, and refused where no browser could open it."""

import re

import numpy as np
import pytest

from saccade.errors import UsageError
from saccade.view.html_page import html
from saccade.view.trace import Axis, Look, Scene

from .traces import hostile, large, trace


def test_the_page_holds_no_foreign_markup_and_loads_nothing() -> None:
    plain_page, hostile_page = html(trace()), html(trace(hostile()))
    assert not re.search(r"(?:src|href)\s*=|@import|url\(|https?:(?!//www.w3.org/2000/svg)", plain_page)
    assert hostile_page.count("<script") == plain_page.count("<script") == 2
    assert "__pwned = 1</script" not in hostile_page
    assert "<img" not in hostile_page
    assert "\u202e" not in hostile_page
    assert "\\u202e" in hostile_page
    assert "innerHTML" not in plain_page
    hostile_page.encode()


def test_the_page_stays_small() -> None:
    assert len(html(trace())) < 86_000
    assert len(html(trace(large()))) < 5_600_000


def test_a_page_that_no_browser_opens_is_refused() -> None:
    axis = Axis("words", ["w"] * 8000)
    weights = np.broadcast_to(np.float32(0), (2, 8000, 8000))
    with pytest.raises(UsageError, match="a page holds up to 100,000,000 weights, got 128,000,000"):
        html(trace(Scene("t", {"s": axis}, [Look("l", "s", "s", weights)])))
    with pytest.raises(UsageError, match="has heads 0 to 1, got head 5"):
        html(trace(), head=5)
