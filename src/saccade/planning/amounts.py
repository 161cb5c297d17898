"""Numbers as people type and read them: 157e9, 157B, 300k steps, 512xV100; and back, short."""

import re
from collections.abc import Sequence

from saccade.errors import UsageError

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
_NUMBER = re.compile(r"([0-9][0-9_,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,2})?)\s*([kmgbt]?)\s*(tokens?|steps?)?", re.IGNORECASE)
_DEVICES = re.compile(r"(?:([0-9][0-9_,]*)\s*[x×*]\s*)?([A-Za-z].*)", re.IGNORECASE)
_SHORT = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def tokens(text: str, tokens_per_step: float) -> float:
    """So many tokens: 157e9, 157B, 157,000,000,000, or as steps of so many: 300k steps."""
    found = _NUMBER.fullmatch(text.strip())
    value = float(re.sub("[_,]", "", found[1])) * UNITS[found[2].lower()] if found else 0.0
    if not found or value <= 0:
        raise UsageError(f"tokens: expected a number such as 157e9, 157B or '300k steps', got {text!r}")
    return value * tokens_per_step if (found[3] or "").lower().startswith("step") else value


def devices(text: str) -> tuple[int, str]:
    """How many devices, and what they are called: 512xV100, 8xA100-80GB, V100."""
    found = _DEVICES.fullmatch(text.strip())
    count = int(re.sub("[_,]", "", found[1] or "1")) if found else 0
    if not found or count < 1:
        raise UsageError(f"devices: expected a number and a name such as 512xV100 or 8xA100-80GB, got {text!r}")
    return count, found[2].strip()


def short(value: float) -> str:
    """A number in three digits: 8.32B, 157B, 1.10e22 beyond that."""
    if value >= 10**15:
        return f"{value:.2e}".replace("e+", "e")
    size, unit = next((pair for pair in _SHORT if value >= 0.9995 * pair[0]), (1, ""))
    return f"{value / size:.3g}{unit}" if value < 999.5 * size else f"{value / size:.0f}{unit}"


def rate(value: float) -> str:
    """FLOP/s: 29.5 TFLOP/s."""
    size, unit = next((pair for pair in ((10**12, "T"), (10**9, "G")) if value >= pair[0]), (10**6, "M"))
    return f"{value / size:.3g} {unit}FLOP/s"


def gigabytes(value: float) -> str:
    """Bytes in units of 10⁹, few in units of 10⁶."""
    return f"{value / 1e9:,.1f} GB" if value >= 1e8 else f"{value / 1e6:,.1f} MB"


def duration(days: float) -> str:
    """Days, hours or minutes, whichever can be read."""
    for size, unit in ((1.0, "days"), (1 / 24, "hours"), (1 / 1440, "minutes")):
        if days >= size * (2 if unit == "days" else 1):
            return f"{days / size:.1f} {unit}"
    seconds = days * 86400
    return f"{seconds:.0f} seconds" if seconds >= 1 else f"{seconds:.1g} seconds"


def dollars(value: float) -> str:
    """Money, rounded to what can be meant."""
    return f"${value:,.0f}" if value >= 10 else f"${value:,.2f}"


def spread(values: Sequence[str]) -> str:
    """A range whose ends have one unit, which is told once."""
    low, high = values
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} – {high}" if " " in high else f"{low} – {high}"
