"""Devices by the names that people type; rates within what devices can do; prices that can be replaced."""

from pathlib import Path

import pytest

from saccade.errors import DataError, UnknownName
from saccade.planning.hardware import accelerator, accelerators, prices, rates


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("V100", "V100-32GB"),
        ("v100 16gb", "V100-16GB"),
        ("A100-80G", "A100-80GB"),
        ("a100_40GB", "A100-40GB"),
        ("TPU-v3", "TPU-v3"),
        ("tpuv2", "TPU-v2"),
    ],
)
def test_names(typed: str, name: str) -> None:
    assert accelerator(typed).name == name


def test_an_unknown_device_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'A100-80GB'"):
        accelerator("A100-90GB")
    with pytest.raises(UnknownName, match=r"known: .*H100"):
        accelerator("abacus")


def test_memory_is_told_in_binary_units() -> None:
    assert accelerator("V100").memory == 32 * 1024**3


def test_rates_are_below_the_peak() -> None:
    for rate in rates():
        assert 0.05 < rate.flops / accelerators()[rate.device].peak[rate.precision] < 0.7, rate


def test_hours_become_the_rate_of_that_training() -> None:
    """100k steps of 25,000 + 25,000 tokens in 0.4 s each on 8 devices: 9.45e17 FLOPs of products with parameters."""
    base = next(rate for rate in rates() if rate.model == "transformer-base")
    assert base.flops == pytest.approx(9.45e17 / 40_000 / 8, rel=0.02)


def test_every_device_has_a_price_with_a_date() -> None:
    assert prices().keys() == accelerators().keys()
    assert all(price.date[:2] == "20" and price.source for price in prices().values())


def test_a_users_own_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "saccade" / "prices.toml"
    own.parent.mkdir()
    own.write_text("[V100-32GB]\ndollars_per_hour = 1\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert {name: price.dollars_per_hour for name, price in prices().items()} == {"V100-32GB": 1.0}
    other = tmp_path / "other.toml"
    other.write_text("[V100-32GB]\ndollars_per_hour = 2.5\ndate = '2026-01'\nsource = 'an offer'\n")
    assert prices(other)["V100-32GB"].told() == "price: $2.5 an hour and device (2026-01; an offer)"


@pytest.mark.parametrize("line", ["dollars_per_hour = '3'", "dollars_per_hour = -1", "price = 3", "dollars_per_hour = true"])
def test_bad_prices_are_told_with_their_place(line: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f"[V100-32GB]\n{line}\n")
    with pytest.raises(DataError, match=r"mine.toml: \[V100-32GB\]: expected dollars_per_hour"):
        prices(tmp_path / "mine.toml")
