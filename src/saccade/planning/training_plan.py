"""A training on devices that one may not have: FLOPs, a layout that fits, days and dollars, and all that is assumed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from saccade.errors import UsageError
from saccade.planning import amounts
from saccade.planning.architectures import Architecture, TrainingFlops, forward_flops, parameters, total, training_flops
from saccade.planning.device_layouts import DeviceLayout, Workload, cheapest, room, smallest
from saccade.planning.hardware import Accelerator, Price, Rate, accelerators, rates

NEAR = 0.15  # how far a training may be from a published rate of the same model on the same devices
LARGER = 10  # times the parameters, from where a rate says little
ENDS = ("low", "middle", "high")


@dataclass(frozen=True, kw_only=True)
class TrainingOrder:
    """What is asked: a model, so many tokens of it, on these devices."""

    name: str
    shape: Architecture
    tokens: float
    batch: int
    context: int
    precision: str
    devices: int
    device: Accelerator
    recompute: bool | None = None
    price: Price | None = None
    code: str = ""
    "The code base; rates of others count only where it has none on these devices."
    printed_days: float | None = None
    "What is printed for this very training."
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Speed:
    """FLOP/s of one device: the least and the most to be expected, what is nearest, and where that comes from."""

    low: float
    middle: float
    high: float
    sources: tuple[str, ...]
    published: bool
    "Whether the same model has been trained on these devices."

    def ends(self) -> tuple[float, float, float]:
        """Slowest first."""
        return self.low, self.middle, self.high


@dataclass(frozen=True)
class TrainingPlan:
    """What comes of an order."""

    order: TrainingOrder
    flops: TrainingFlops
    layout: DeviceLayout
    speed: Speed

    @property
    def days(self) -> Mapping[str, float]:
        """The quickest, the likeliest and the slowest."""
        seconds = [self.flops.hardware / (rate * self.order.devices) for rate in reversed(self.speed.ends())]
        return dict(zip(ENDS, (second / 86400 for second in seconds), strict=True))

    @property
    def dollars(self) -> Mapping[str, float] | None:
        """What those cost."""
        price = self.order.price
        return None if price is None else {end: self._cost(price, days) for end, days in self.days.items()}

    @property
    def printed(self) -> dict[str, float] | None:
        """The days that are printed for this very training, and what those cost."""
        days, price = self.order.printed_days, self.order.price
        if days is None:
            return None
        return {"days": days, **({} if price is None else {"dollars": self._cost(price, days)})}

    def _cost(self, price: Price, days: float) -> float:
        return days * 24 * self.order.devices * price.dollars_per_hour

    @property
    def utilization(self) -> Mapping[str, float]:
        """Hardware FLOP/s over the device's peak."""
        peak = self.order.device.peak[self.order.precision]
        return {end: rate / peak for end, rate in zip(ENDS, self.speed.ends(), strict=True)}

    @property
    def assumed(self) -> Sequence[str]:
        """All that nobody has published or said."""
        order, speed = self.order, self.speed
        used = self.utilization
        tail = "" if speed.published else ", of other models or devices"
        rate = f"utilization {used['low']:.0%} – {used['high']:.0%}, {used['middle']:.0%} likeliest{tail}"
        where = [f"rate: {source}" for source in speed.sources]
        price = order.price
        cost = [] if price is None else [price.told()]
        return [*order.assumed, rate, *where, *cost, "no failures, no validations, no network or storage costs"]

    def table(self) -> dict[str, Any]:
        """For machines."""
        order = self.order
        needed = self.layout.memory
        return {
            "model": order.name,
            "architecture": asdict(order.shape),
            "parameters": {"total": total(order.shape), **parameters(order.shape)},
            "tokens": order.tokens,
            "steps": math.ceil(order.tokens / (order.batch * order.context)),
            "batch": order.batch,
            "context": order.context,
            "precision": order.precision,
            "flops": {"model": self.flops.model, "hardware": self.flops.hardware},
            "forward_flops_per_sequence": forward_flops(order.shape, sequences=1, context=order.context),
            "devices": {"count": order.devices, "name": order.device.name, "memory": order.device.memory},
            "layout": {key: getattr(self.layout, key) for key in ("data", "tensor", "recompute", "parts", "sequences")},
            "memory_per_device": {**asdict(needed), "total": needed.total},
            "flops_per_second_and_device": dict(zip(ENDS, self.speed.ends(), strict=True)),
            "utilization": dict(self.utilization),
            "days": dict(self.days),
            "dollars": None if self.dollars is None else dict(self.dollars),
            "printed": self.printed,
            "assumed": list(self.assumed),
        }


def planned(order: TrainingOrder) -> TrainingPlan:
    """The plan of an order; what fits nowhere is refused with what would fit."""
    work = Workload(
        shape=order.shape,
        batch=order.batch,
        context=order.context,
        precision=order.precision,  # type: ignore[arg-type]
        recompute=order.recompute,
    )
    layout = cheapest(work, order.devices, order.device)
    if layout is None:
        raise UsageError(_unfit(order, work))
    flops = training_flops(order.shape, tokens=order.tokens, context=order.context, recompute=layout.recompute)
    return TrainingPlan(order, flops, layout, speed(order))


def _unfit(order: TrainingOrder, work: Workload) -> str:
    """Why nothing fits, and what would."""
    given = f"{order.devices}x{order.device.name}"
    least = smallest(work, order.devices)
    if least is None:
        return f"{given}: more devices than a batch of {order.batch} sequences has for them; raise the batch, or take fewer"
    needed = amounts.gigabytes(least.memory.total)
    got = f"the smallest ({least.told()}) takes {needed} of {amounts.gigabytes(room(order.device))} each"
    what = f"{order.name} fits no layout of {given}: {got}"
    larger = [one for one in accelerators().values() if room(one) >= least.memory.total]
    if larger:
        return f"{what}; take {order.devices}x{min(larger, key=lambda one: one.memory).name}"
    return f"{what}; no known device is large enough: take more devices, a shorter context or a smaller model"


def speed(order: TrainingOrder) -> Speed:
    """FLOP/s of a device, from what trainings on it have sustained; of an unknown one, the share of the peak elsewhere."""
    known = [rate for rate in rates() if rate.device == order.device.name and rate.precision == order.precision]
    known = [rate for rate in known if rate.code == order.code] or known
    same = [rate for rate in known if rate.model == order.name and 0.5 <= rate.devices / order.devices <= 2]
    if same:
        middle = same[0].flops
        return Speed(middle / (1 + NEAR), middle, middle * (1 + NEAR), (_source(same[0]),), True)
    if known:
        nearest = min(known, key=lambda rate: _distance(rate, order))
        slowest, quickest = min(known, key=_flops), max(known, key=_flops)
        sources = (*dict.fromkeys(map(_source, (nearest, slowest, quickest))), *_much_larger(nearest, order))
        return Speed(slowest.flops / (1 + NEAR), nearest.flops, quickest.flops * (1 + NEAR), sources, False)
    shares = [rate.flops / accelerators()[rate.device].peak[rate.precision] for rate in rates()]
    peak, middle = order.device.peak[order.precision], math.exp(sum(map(math.log, shares)) / len(shares))
    source = f"no published rate for {order.device.name} in {order.precision}: the shares of the peak of all others"
    return Speed(min(shares) * peak, middle * peak, max(shares) * peak, (source,), False)


def _much_larger(nearest: Rate, order: TrainingOrder) -> list[str]:
    """What to say where all rates are of models far larger than this one."""
    ratio = nearest.parameters / total(order.shape)
    told = f"the nearest is of a model {ratio:.0f} times as large; small ones use less of a device, and take longer"
    return [told] if ratio > LARGER else []


def _flops(rate: Rate) -> float:
    return rate.flops


def _source(rate: Rate) -> str:
    return f"{amounts.rate(rate.flops)} a device, {rate.code} on {rate.devices} ({rate.date}; {rate.source})"


def _distance(rate: Rate, order: TrainingOrder) -> float:
    """How far a training was from this one: in size and in number of devices."""
    return abs(math.log(rate.parameters / total(order.shape))) + abs(math.log(rate.devices / order.devices))
