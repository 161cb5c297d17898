"""Plans come out as published: days, dollars and FLOPs of a lecture's rows; and what fits nowhere says what would."""

from dataclasses import replace

import pytest

from saccade.errors import UsageError
from saccade.planning.amounts import devices
from saccade.planning.hardware import accelerator, accelerators, prices
from saccade.planning.models import MODELS
from saccade.planning.training_plan import TrainingOrder, planned, speed


def order(name: str) -> TrainingOrder:
    """The training of this model as it was published."""
    model = MODELS[name]
    trained = model.trained
    count, called = devices(str(trained.devices))
    device = accelerator(called)
    return TrainingOrder(
        name=name,
        shape=model.shape,
        tokens=trained.tokens or 0.0,
        batch=trained.batch,
        context=trained.context,
        precision=trained.precision,
        devices=count,
        device=device,
        recompute=trained.recompute,
        price=prices()[device.name],
        code=trained.code,
        printed_days=trained.days,
    )


@pytest.mark.parametrize(
    ("name", "days"), [("megatron-8.3b", 9), ("megatron-4.2b", 10), ("transformer-base", 0.5), ("transformer-big", 3.5)]
)
def test_days_are_within_15_percent_of_the_printed(name: str, days: float) -> None:
    plan = planned(order(name))
    assert plan.days["middle"] == pytest.approx(days, rel=0.15)
    assert plan.days["low"] < plan.days["middle"] < plan.days["high"]
    assert plan.order.printed_days == days


def test_the_printed_cost() -> None:
    """ "~$430,000 on Amazon AWS": 512 devices for the printed 9 days."""
    plan = planned(order("megatron-8.3b"))
    assert plan.printed is not None
    assert plan.printed["dollars"] == pytest.approx(430_000, rel=0.02)
    assert plan.dollars is not None
    assert plan.dollars["low"] < 430_000 < plan.dollars["high"]
    assert plan.dollars["middle"] == pytest.approx(plan.days["middle"] * 24 * 512 * 3.9015)


@pytest.mark.parametrize(
    ("name", "flops"),
    [("transformer-base", 9.45e17), ("transformer-big", 9.63e18), ("bert-base", 2.3e19), ("bert-large", 7.8e19)],
)
def test_model_flops(name: str, flops: float) -> None:
    assert planned(order(name)).flops.model == pytest.approx(flops, rel=0.03)


def test_hardware_flops_and_utilization_of_megatron() -> None:
    plan = planned(order("megatron-8.3b"))
    assert plan.flops.hardware == pytest.approx(1.10e22, rel=0.01)
    assert plan.utilization["middle"] == pytest.approx(29.5 / 125)


def test_rates_of_the_same_code_come_first() -> None:
    assert "Megatron-LM" in speed(order("megatron-4.2b")).sources[0]
    near = speed(replace(order("megatron-4.2b"), code=""))
    assert near.low < speed(order("megatron-4.2b")).low


def test_a_small_model_is_told_that_rates_are_of_large_ones() -> None:
    device, shape = accelerator("A100"), MODELS["gpt2-small"].shape
    small = replace(
        order("megatron-8.3b"), name="mine", shape=replace(shape, layers=1, vocabulary=100), device=device, code=""
    )
    assert "times as large" in speed(small).sources[-1]
    assert not any("times as large" in line for line in speed(replace(small, shape=shape)).sources)


def test_an_exact_rate_has_a_narrow_range() -> None:
    exact = speed(order("megatron-8.3b"))
    assert exact.published
    assert exact.high / exact.low == pytest.approx(1.15**2)
    assert not speed(replace(order("megatron-8.3b"), devices=64)).published


def test_a_device_without_rates_takes_the_shares_of_others() -> None:
    wide = speed(replace(order("megatron-8.3b"), device=accelerators()["A100-40GB"]))
    assert 0.05 * 312e12 < wide.low < wide.middle < wide.high < 0.7 * 312e12
    assert "no published rate" in wide.sources[0]


def test_what_does_not_fit_says_what_would() -> None:
    with pytest.raises(UsageError, match=r"fits no layout of 8xP100-16GB: the smallest .* take 8x[VA]100"):
        planned(replace(order("megatron-8.3b"), devices=8, device=accelerator("P100"), recompute=None))
    with pytest.raises(UsageError, match="no known device is large enough"):
        planned(replace(order("megatron-8.3b"), devices=1))
    with pytest.raises(UsageError, match="raise the batch, or take fewer"):
        planned(replace(order("megatron-8.3b"), batch=8))


def test_the_table_has_all_that_is_told() -> None:
    table = planned(order("megatron-8.3b")).table()
    assert table["steps"] == 300_000
    assert table["layout"] == {"data": 64, "tensor": 8, "recompute": True, "parts": 1, "sequences": 8}
    assert table["memory_per_device"]["total"] < table["devices"]["memory"]
    assert any(line.startswith("price: $3.9015") for line in table["assumed"])
    assert any("utilization" in line for line in table["assumed"])
    assert planned(replace(order("megatron-8.3b"), price=None)).table()["dollars"] is None
