"""Numbers as people type and read them."""

import pytest

from saccade.errors import UsageError
from saccade.planning import amounts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("157e9", 157e9),
        ("157B", 157e9),
        ("1.5T tokens", 1.5e12),
        ("157,000,000", 157e6),
        ("40_000k", 40e6),
        ("300k steps", 300e3 * 512),
        ("300ksteps", 300e3 * 512),
        ("1e3 steps", 512e3),
    ],
)
def test_tokens(text: str, value: float) -> None:
    assert amounts.tokens(text, 512) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "abc", "-3", "0", "12x", "3 3", "nan", "1e999"])
def test_no_tokens(text: str) -> None:
    with pytest.raises(UsageError, match="expected a number such as 157e9"):
        amounts.tokens(text, 512)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("512xV100", (512, "V100")),
        ("8 × A100-80GB", (8, "A100-80GB")),
        ("1,024*V100", (1024, "V100")),
        ("H100", (1, "H100")),
    ],
)
def test_devices(text: str, found: tuple[int, str]) -> None:
    assert amounts.devices(text) == found


@pytest.mark.parametrize("text", ["", "512", "0xV100", "-1xV100"])
def test_no_devices(text: str) -> None:
    with pytest.raises(UsageError, match="expected a number and a name"):
        amounts.devices(text)


def test_short_numbers() -> None:
    told = [amounts.short(value) for value in (7, 999, 1000, 8_317_040_640, 999_999, 157e9, 1.1e22)]
    assert told == ["7", "999", "1k", "8.32B", "1M", "157B", "1.10e22"]
    assert amounts.rate(29.5e12) == "29.5 TFLOP/s"
    assert [amounts.gigabytes(value) for value in (33.27e9, 3.1e6)] == ["33.3 GB", "3.1 MB"]
    assert [amounts.dollars(value) for value in (431_475.2, 2.5)] == ["$431,475", "$2.50"]


def test_durations_and_ranges() -> None:
    told = [amounts.duration(days) for days in (8.43, 1.5, 0.01, 1e-4, 1e-6)]
    assert told == ["8.4 days", "36.0 hours", "14.4 minutes", "9 seconds", "0.09 seconds"]
    assert amounts.spread(["7.3 days", "9.7 days"]) == "7.3 – 9.7 days"
    assert amounts.spread(["40.0 hours", "3.0 days"]) == "40.0 hours – 3.0 days"
    assert amounts.spread(["$1", "$2"]) == "$1 – $2"
