"""Plans for the terminal: the table of published models, a training on other devices, steps measured on this machine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saccade.planning import amounts
from saccade.planning.architectures import Architecture, parameters, total
from saccade.planning.training_plan import TrainingPlan

COLUMNS = ("name", "layers", "width", "heads", "parameters", "printed", "data", "training")
NUMBERS = range(1, 6)  # columns that stand to the right
BUSY = 0.8  # CPU time below this share of a step's time: others had the cores
UNPRICED = "no price is known; give one with --price"
BY = "parameters: counted; printed: by a lecture of 2019 (J. Johnson, EECS 498-007, lecture 13), by these names:"


def listed(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table, each count beside the printed one, and below it why they differ."""
    cells = [list(COLUMNS), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.rjust(widths[i]) if i in NUMBERS else cell.ljust(widths[i]) for i, cell in enumerate(line)).rstrip()
        for line in cells
    ]
    return [*lines, "", BY, *(f"  {row['name']:{widths[0]}}  {row['printed_name']}: {row['difference']}" for row in rows)]


def _cells(row: Mapping[str, Any]) -> list[str]:
    heads = str(row["heads"]) + ("" if row["printed_heads"] == str(row["heads"]) else f" ({row['printed_heads']})")
    counts = [f"{row['parameters']:,}", row["printed_parameters"]]
    return [row["name"], str(row["layers"]), str(row["width"]), heads, *counts, row["data"] or "–", row["training"] or "–"]


def told(found: TrainingPlan) -> list[str]:
    """The plan for the terminal."""
    order, layout = found.order, found.layout
    memory = layout.memory
    shares = {key: getattr(memory, key) for key in ("parameters", "gradients", "optimizer", "activations")}
    parts = " + ".join(f"{amounts.gigabytes(value)} {key}" for key, value in shares.items())
    room = amounts.gigabytes(order.device.memory)
    steps = order.tokens / (order.batch * order.context)
    rows = {
        "parameters": f"{total(order.shape):,}{_largest(order.shape)}",
        "training": f"{amounts.short(order.tokens)} tokens: {steps:,.0f} steps of {order.batch:,} × {order.context:,}",
        "model FLOPs": f"{amounts.short(found.flops.model)}",
        "hardware FLOPs": f"{amounts.short(found.flops.hardware)}{_again(found)}",
        "layout": layout.told(),
        "memory": f"{amounts.gigabytes(memory.total)} of {room} a device: {parts}",
        "time": f"{_range(found.days, amounts.duration)}",
        "cost": UNPRICED if found.dollars is None else _range(found.dollars, amounts.dollars),
    }
    if found.printed:
        cost = f", {amounts.dollars(found.printed['dollars'])}" if "dollars" in found.printed else ""
        rows["as printed"] = f"{amounts.duration(found.printed['days'])}{cost}"
    lines = [f"{order.name} on {order.devices:,} × {order.device.name}, {order.precision}"]
    lines += [f"  {key:15} {value}" for key, value in rows.items()]
    return [*lines, "assumed", *(f"  {line}" for line in found.assumed)]


def _largest(shape: Architecture) -> str:
    parts = [f"{amounts.short(value)} {key}" for key, value in parameters(shape).items() if value]
    return f" ({', '.join(parts)})"


def _again(found: TrainingPlan) -> str:
    more = found.flops.hardware / found.flops.model - 1
    return f" ({more:.0%} more: activations are recomputed)" if more else " (nothing is recomputed)"


def _range(values: Mapping[str, float], told: Callable[[float], str]) -> str:
    ends = amounts.spread([told(values["low"]), told(values["high"])])
    return f"{told(values['middle'])} ({ends})"


def measured(facts: Mapping[str, Any]) -> list[str]:
    """What was measured, for the terminal."""
    threads = f"{facts['threads']} CPU thread{'s' * (facts['threads'] > 1)}" if facts["device"] == "cpu" else facts["device"]
    share = facts["flops_per_second"] / facts["peak_flops"]
    step, cpu = facts["step_seconds"], facts["step_cpu_seconds"]
    memory = {"parameters, gradients, optimizer": facts["state_bytes"], "activations": facts["kept_bytes"]}
    parts = " + ".join(f"{value / 1e6:,.0f} MB {name}" for name, value in memory.items())
    speed, peak = amounts.rate(facts["flops_per_second"]), amounts.rate(facts["peak_flops"])
    every = amounts.duration(facts["total_seconds"] / 86400)
    rows = {
        "parameters": f"{facts['parameters']:,}",
        "FLOPs of a step": f"{amounts.short(facts['flops_per_step'])} of products and convolutions, forward and backward",
        "memory": f"{parts}; the process {facts['resident_megabytes']:,.0f} MB",
        "a step": f"{step:.3g} s, the median of {facts['timed']} steps; {cpu:.3g} s of CPU time",
        "all steps": f"{facts['steps']:,} in {every}, validations and checkpoints not included",
        "speed": f"{speed}, {share:.0%} of a large product's {peak}",
    }
    lines = [f"{facts['name']} ({facts['system']}) on this machine, {threads}: measured"]
    lines += [f"  {key:15} {value}" for key, value in rows.items()]
    # Of several threads CPU time tells less: it counts those that wait, and all of them together.
    busy = facts["device"] == "cpu" and facts["threads"] == 1 and cpu < BUSY * step
    alone = f"  the machine is busy; alone, a step would take about its CPU time, and all steps {_alone(facts)}"
    return [*lines, *([alone] if busy else [])]


def _alone(facts: Mapping[str, Any]) -> str:
    return amounts.duration(facts["steps"] * facts["step_cpu_seconds"] / 86400)
