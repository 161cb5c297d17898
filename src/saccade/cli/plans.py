"""What `saccade models` and `saccade plan` do: published Transformers, and what a training takes before it is begun."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import config, recipes, systems
from saccade.cli import plan_tables, streams
from saccade.errors import UnknownName, UsageError
from saccade.planning import amounts, hardware
from saccade.planning.architectures import Architecture
from saccade.planning.models import MODELS, Training
from saccade.planning.training_plan import TrainingOrder, planned
from saccade.view.output.display_text import visible

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
    """The table of published models."""
    streams.as_utf8()
    rows = [model.row() for model in MODELS.values()]
    print(json.dumps(rows) if machine else "\n".join(plan_tables.listed(rows)))


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
        print(json.dumps(found.table()) if machine else "\n".join(map(visible, plan_tables.told(found))))


def _ordered(name: str, words: Sequence[str], wishes: Wishes) -> TrainingOrder:
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
    there = _same_devices(trained, count, device.name)
    recompute = RECOMPUTE[wishes.recompute] if wishes.recompute else trained.recompute if there else None
    given = [key for key in ("batch", "context") if getattr(wishes, key) is None]
    sizes = {"batch": batch, "context": context}
    unsaid = [f"{key} {sizes[key]:,}, {trained.sizes}" for key in given]
    return TrainingOrder(
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
        printed_days=trained.days if there and _same_tokens(trained, tokens) else None,
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


def _here(name: str, words: Sequence[str], data_dir: str | None, *, machine: bool) -> None:
    """Measure one's own config on this machine."""
    table = _table(name)
    from saccade.cli.verbs import use
    from saccade.data.formats.text_files import to_stderr
    from saccade.new_run import settled
    from saccade.planning.trial_steps import tried
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
    print(json.dumps(facts) if machine else "\n".join(map(visible, plan_tables.measured(facts))))
