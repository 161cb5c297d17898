"""Devices, what trainings have sustained on them, and prices: dated tables beside this file, which a user's may replace."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from saccade import config
from saccade.errors import DataError, UnknownName
from saccade.planning.architectures import training_flops
from saccade.planning.models import MODELS, ListedModel

_HERE = Path(__file__).parent
GIB = 2**30
# What a name without its memory stands for.
USUAL = {"p100": "P100-16GB", "v100": "V100-32GB", "a100": "A100-80GB", "h100": "H100-80GB"}


@dataclass(frozen=True)
class Accelerator:
    """A device: its memory in bytes, and the most FLOP/s by precision."""

    name: str
    memory: int
    peak: Mapping[str, float]


@dataclass(frozen=True)
class Rate:
    """Hardware FLOP/s that one device has sustained in a training, and who says so."""

    code: str
    device: str
    devices: int
    precision: str
    parameters: float
    model: str
    flops: float
    date: str
    source: str


@dataclass(frozen=True)
class Price:
    """Dollars for an hour of one device."""

    dollars_per_hour: float
    date: str
    source: str

    def told(self) -> str:
        """In words."""
        return f"price: ${self.dollars_per_hour:g} an hour and device ({self.date}; {self.source})"


def _table(name: str) -> dict[str, Any]:
    return config.read(_HERE / f"{name}.toml")


@cache
def accelerators() -> dict[str, Accelerator]:
    """All known devices."""
    return {
        name: Accelerator(name, row["memory_gib"] * GIB, {key: row[key] for key in ("mixed", "float32")})
        for name, row in _table("hardware").items()
    }


def accelerator(name: str) -> Accelerator:
    """The device of this name: A100-80GB, a100 80g; V100 is the one of 32 GB."""
    plain = re.sub(r"(\d)g$", r"\1gb", re.sub(r"[ _-]+", "-", name.strip().lower()))
    plain = USUAL.get(plain, re.sub(r"^tpu-?v", "tpu-v", plain))
    known = {key.lower(): one for key, one in accelerators().items()}
    if plain.lower() not in known:
        near = {key for key in accelerators() if key.lower().startswith(plain.split("-")[0])}
        raise UnknownName("device", name, near or accelerators())
    return known[plain.lower()]


@cache
def rates() -> tuple[Rate, ...]:
    """What trainings have sustained; where only hours are published, our FLOPs of that training over them."""
    return tuple(_rate(**row) for row in _table("rates")["rate"])


def _rate(
    *,
    code: str,
    device: str,
    devices: int,
    precision: str,
    parameters: float,
    date: str,
    source: str,
    model: str = "",
    flops: float = 0.0,
    hours: float = 0.0,
    tokens: float = 0.0,
) -> Rate:
    if hours:
        flops = _hardware_flops(MODELS[model], tokens) / (hours * 3600 * devices)
    return Rate(code, device, devices, precision, parameters, model, flops, date, source)


def _hardware_flops(model: ListedModel, tokens: float) -> float:
    trained = model.trained
    done = training_flops(
        model.shape, tokens=tokens or trained.tokens or 0.0, context=trained.context, recompute=bool(trained.recompute)
    )
    return done.hardware


def user_prices() -> Path:
    """Where a user's own prices may lie."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "saccade" / "prices.toml"


def prices(path: Path | None = None) -> dict[str, Price]:
    """Prices by device: of this file, else the user's own, else those that came with saccade."""
    own = user_prices()
    place = path or (own if own.is_file() else _HERE / "prices.toml")
    return {name: _price(place, name, row) for name, row in config.read(place).items()}


def _price(path: Path, name: str, row: Any) -> Price:
    cost = row.get("dollars_per_hour") if isinstance(row, Mapping) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float) or cost < 0:
        raise DataError(f"{path}: [{name}]: expected dollars_per_hour, a number of at least 0, got {cost!r}")
    return Price(float(cost), str(row.get("date", "no date")), str(row.get("source", path)))
