"""What `saccade models` and `saccade plan` do: published Transformers, and what a training takes before it is begun."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import config, recipes, systems
from saccade.cli import streams
from saccade.errors import UnknownName, UsageError
from saccade.planning import amounts, hardware
from saccade.planning.architectures import Architecture, parameters, total
from saccade.planning.models import MODELS, Training
from saccade.planning.training_plan import Order, TrainingPlan, planned
from saccade.view.output.display_text import visible

COLUMNS = ("name", "layers", "width", "heads", "parameters", "printed", "data", "training")
NUMBERS = range(1, 6)  # columns that stand to the right
RECOMPUTE = {"auto": None, "on": True, "off": False}
PRECISIONS = ("mixed", "float32")
ROUNDED = 0.01  # how far tokens may be from those that are published: 157e9 means them
LENGTH = 64  # tokens that a text of a transformer's own config is taken to have


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options of a plan for other devices; None: not given."""

    devices: str | None
    tokens: str | None
    batch: int | None
    context: int | None
    precision: str | None
    recompute: str | None
    price: float | None
    prices: Path | None

    def require_none(self) -> None:
        """Refuse what has no effect on this machine."""
        for name, value in vars(self).items():
            if value is not None:
                raise UsageError(f"--{name}: has no effect without --devices; leave it out, or name devices")


def models(*, machine: bool) -> None:
    """The table, each count beside the printed one, and below it why they differ."""
    rows = [model.row() for model in MODELS.values()]
    if machine:
        print(json.dumps(rows))
        return
    streams.as_utf8()
    cells = [list(COLUMNS), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [cell.rjust(widths[i]) if i in NUMBERS else cell.ljust(widths[i]) for i, cell in enumerate(line)]
        print("  ".join(padded).rstrip())
    print("\nparameters: counted; printed: by a lecture of 2019 (J. Johnson, EECS 498-007, lecture 13), by these names:")
    for row in rows:
        print(f"  {row['name']:{widths[0]}}  {row['printed_name']}: {row['difference']}")


def _cells(row: Mapping[str, Any]) -> list[str]:
    heads = str(row["heads"]) + ("" if row["printed_heads"] == str(row["heads"]) else f" ({row['printed_heads']})")
    counts = [f"{row['parameters']:,}", row["printed_parameters"]]
    return [row["name"], str(row["layers"]), str(row["width"]), heads, *counts, row["data"] or "–", row["training"] or "–"]


def plan(
    name: str,
    words: Sequence[str],
    devices: str | None,
    tokens: str | None,
    batch: int | None,
    context: int | None,
    precision: str | None,
    recompute: str | None,
    price: float | None,
    prices: Path | None,
    *,
    data_dir: str | None,
    machine: bool,
) -> None:
    """Print what a training takes: of a published model, or of one's own config, on other devices or measured here."""
    wishes = Wishes(
        devices=devices,
        tokens=tokens,
        batch=batch,
        context=context,
        precision=precision,
        recompute=recompute,
        price=price,
        prices=prices,
    )
    if recompute not in (None, *RECOMPUTE):
        raise UnknownName("--recompute", str(recompute), RECOMPUTE)
    if precision not in (None, *PRECISIONS):
        raise UnknownName("--precision", str(precision), PRECISIONS)
    streams.as_utf8()
    if name.lower() not in MODELS and devices is None:
        wishes.require_none()
        _here(name, words, data_dir, machine=machine)
    else:
        found = planned(_ordered(name, words, wishes))
        print(json.dumps(found.table()) if machine else "\n".join(map(visible, _told(found))))


def _ordered(name: str, words: Sequence[str], wishes: Wishes) -> Order:
    """What the options say, and for the rest what was published, or what the config says."""
    name, shape, trained = _known(name, words)
    if wishes.devices is None and trained.devices is None:
        raise UsageError(f"{name}: nobody has published its devices; name some with --devices, such as 8xA100-80GB")
    count, called = amounts.devices(wishes.devices or str(trained.devices))
    device = hardware.accelerator(called)
    batch, context = wishes.batch or trained.batch, wishes.context or trained.context
    if shape.positions and context > shape.positions:
        expected = f"expected at most {shape.positions:,}, the positions of {name}"
        raise UsageError(f"--context: {expected}, got {context:,}")
    tokens = amounts.tokens(wishes.tokens, batch * context) if wishes.tokens else trained.tokens
    if tokens is None:
        raise UsageError(f"{name}: nobody has published its tokens; say how many with --tokens, such as 40e9")
    recompute = RECOMPUTE[wishes.recompute or "auto"]
    as_printed = _same_devices(trained, count, device.name) and _same_tokens(trained, tokens)
    given = [key for key in ("batch", "context") if getattr(wishes, key) is None]
    sizes = {"batch": batch, "context": context}
    unsaid = [f"{key} {sizes[key]:,}, {trained.sizes}" for key in given]
    return Order(
        name=name,
        shape=shape,
        tokens=tokens,
        batch=batch,
        context=context,
        precision=wishes.precision or trained.precision,
        devices=count,
        device=device,
        recompute=recompute,
        price=_price(device.name, wishes),
        code=trained.code,
        printed_days=trained.days if as_printed else None,
        assumed=(*unsaid, *trained.assumed),
    )


def _same_devices(trained: Training, count: int, name: str) -> bool:
    if trained.devices is None:
        return False
    published, called = amounts.devices(trained.devices)
    return (published, hardware.accelerator(called).name) == (count, name)


def _same_tokens(trained: Training, tokens: float) -> bool:
    return trained.tokens is not None and abs(tokens / trained.tokens - 1) < ROUNDED


def _known(name: str, words: Sequence[str]) -> tuple[str, Architecture, Training]:
    """A published model by its name, or that of one's own config."""
    if name.lower() in MODELS:
        if words:
            raise UsageError(f"{words[0]}: {name} is a published model, which has no settings; leave it out")
        model = MODELS[name.lower()]
        return model.name, model.shape, model.trained
    from saccade.planning.own_models import architecture_of, context_of
    from saccade.training.settings import resolve

    settings = resolve(_table(name), words)
    context = context_of(settings)
    assumed = ["adam, whatever the config says", f"a vocabulary of {settings.tokens.size:,}"] if settings.tokens else []
    if not context:
        assumed.append(f"texts of {LENGTH} tokens on each side")
    train, length = settings.train, context or LENGTH
    sequences = train.batch_size or max(1, train.batch_tokens // (length * (1 if context else 2)))
    batch = sequences * train.accumulate
    trained = Training(
        tokens=None if train.epochs else float(train.steps * batch * length),
        batch=batch,
        context=length,
        sizes="as the config says",
        assumed=tuple(assumed),
    )
    return name, architecture_of(settings), trained


def _table(name: str) -> Mapping[str, Any]:
    """The settings of a run, a recipe, a system or a TOML file."""
    from saccade.training.settings import base

    run = Path(name) / "config.toml"
    if run.is_file():
        return config.read(run)
    known = {*MODELS, *recipes.names(), *systems.names()}
    if name not in known and not name.endswith(".toml"):
        raise UnknownName("model, recipe, system or run", name, known)
    return base(name)


def _price(device: str, wishes: Wishes) -> hardware.Price | None:
    """What was said, else the table's; None where it has none."""
    if wishes.price is not None:
        return hardware.Price(wishes.price, "now", "--price")
    return hardware.prices(wishes.prices).get(device)


def _told(found: TrainingPlan) -> list[str]:
    """The plan for the terminal."""
    order, layout = found.order, found.layout
    memory = layout.memory
    shares = {key: getattr(memory, key) for key in ("parameters", "gradients", "optimizer", "activations")}
    parts = " + ".join(f"{amounts.gigabytes(value).removesuffix(' GB')} {key}" for key, value in shares.items())
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
        "cost": "no price is known; give one with --price" if found.dollars is None else _range(found.dollars, amounts.dollars),
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


def _range(values: Mapping[str, float], told: Any) -> str:
    ends = amounts.spread([told(values["low"]), told(values["high"])])
    return f"{told(values['middle'])} ({ends})"


def _here(name: str, words: Sequence[str], data_dir: str | None, *, machine: bool) -> None:
    """Measure one's own config on this machine."""
    table = _table(name)
    from saccade.cli.verbs import use
    from saccade.data.formats.text_files import to_stderr
    from saccade.planning.trial_steps import tried
    from saccade.trained import settled
    from saccade.training.run import Run

    use(data_dir)
    run = Path(name) if (Path(name) / "config.toml").is_file() else None
    if run is None:
        settings, start = settled(table, words, Path(name), resume=False)
    elif words:
        raise UsageError(f"{words[0]}: a run is planned with its own settings; leave it out, or name its recipe")
    else:
        settings, start = Run.open(run).settings, None
    found = tried(settings, start, to_stderr, run)
    facts = {"name": name, "system": settings.system, **found.table()}
    print(json.dumps(facts) if machine else "\n".join(map(visible, _measured(facts))))


def _measured(facts: Mapping[str, Any]) -> list[str]:
    """What was measured, for the terminal."""
    threads = f"{facts['threads']} CPU thread{'s' * (facts['threads'] > 1)}" if facts["device"] == "cpu" else facts["device"]
    share = facts["flops_per_second"] / facts["peak_flops"]
    step, cpu = facts["step_seconds"], facts["step_cpu_seconds"]
    memory = [f"{facts['state_bytes'] / 1e6:,.0f} MB parameters, gradients, optimizer", f"{facts['kept_bytes'] / 1e6:,.0f} MB activations"]
    rows = {
        "parameters": f"{facts['parameters']:,}",
        "FLOPs of a step": f"{amounts.short(facts['flops_per_step'])} of matrix products and convolutions, forward and backward",
        "memory": f"{' + '.join(memory)}; the process {facts['resident_megabytes']:,.0f} MB",
        "a step": f"{step:.3g} s, the median of {facts['timed']} steps; {cpu:.3g} s of CPU time",
        "all steps": f"{facts['steps']:,} in {amounts.duration(facts['total_seconds'] / 86400)}, validations and checkpoints not included",
        "speed": f"{amounts.rate(facts['flops_per_second'])}, {share:.0%} of a large product's {amounts.rate(facts['peak_flops'])}",
    }
    lines = [f"{facts['name']} ({facts['system']}) on this machine, {threads}: measured"]
    lines += [f"  {key:15} {value}" for key, value in rows.items()]
    busy = facts["device"] == "cpu" and cpu < 0.8 * step
    return [*lines, *(["  the machine is busy: alone, a step would take less"] if busy else [])]
