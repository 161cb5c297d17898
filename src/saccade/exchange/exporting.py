"""A run becomes a directory for another runtime: in the layout of a family, or as CTranslate2 or ONNX read it."""

import importlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from saccade.errors import MissingExtra, UnknownName, UsageError
from saccade.exchange import ct2, families, onnx
from saccade.trained import TrainedModel
from saccade.training.settings import Settings

# Formats that no model is published in. Each module says what it NEEDS of a run, and what MODULES of which EXTRA.
RUNTIMES: Mapping[str, ModuleType] = {"ct2": ct2, "onnx": onnx}


def formats() -> dict[str, Any]:
    """The module that writes each format."""
    return {**{name: families.load(name) for name in families.names()}, **RUNTIMES}


def export(model: TrainedModel, out: Path, kind: str) -> None:
    """Write the model as `kind` into the new directory `out`; on an error, nothing is left there."""
    known = formats()
    if kind not in known:
        raise UnknownName("format", kind, known)
    _require(model.run.settings, kind, known)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: expected a new or empty directory to export to, got one in use; choose another")
    for module in getattr(known[kind], "MODULES", ()):
        _require_module(module, kind, known[kind].EXTRA)
    try:
        out.mkdir(parents=True, exist_ok=True)
        known[kind].write(model, out)
    except BaseException as error:
        shutil.rmtree(out, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(f"{out}: cannot be written ({error.strerror}); choose another directory") from None
        raise


def _require(settings: Settings, kind: str, known: Mapping[str, Any]) -> None:
    """Refuse what the format cannot say, by the key that would have to be another."""
    if settings.system not in known[kind].NEEDS:
        wanted = ", ".join(known[kind].NEEDS)
        raise UsageError(f"format {kind}: expected a run of a system among {wanted}, got {settings.system}; train one")
    for key, needed, got in obstacles(settings, known[kind]) or ():
        others = [name for name, one in known.items() if obstacles(settings, one) == []]
        fix = f"train with that{f', or export as {others[0]}' if others else ''}"
        raise UsageError(f"format {kind} needs {key}={needed}, got {got}; {fix}")


def obstacles(settings: Settings, module: Any) -> list[tuple[str, Any, Any]] | None:
    """Each key that a format needs to be another: its name, what it should be, and what it is; None: not this system."""
    if settings.system not in module.NEEDS:
        return None
    rows = []
    for key, needed in module.NEEDS[settings.system].items():
        section, _, name = key.partition(".")
        if (got := getattr(getattr(settings, section), name)) not in needed:
            rows.append((key, needed[0], got))
    return rows


def report(settings: Settings) -> list[str]:
    """Which exports these settings allow, and what stands in the way of the others, a line each."""
    rows = {name: obstacles(settings, module) for name, module in formats().items()}
    others = [name for name, row in rows.items() if row is None]
    needs = {name: [f"{key}={needed}" for key, needed, _ in row] for name, row in rows.items() if row}
    lines = [", ".join(name for name, row in rows.items() if row == []) or "none"]
    lines += [f"{name} needs {' and '.join(keys)}" for name, keys in needs.items()]
    return [*lines, *([f"{', '.join(others)}: not for {settings.system}"] if others else [])]


def _require_module(name: str, kind: str, extra: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        raise MissingExtra(f"format {kind}", name, extra) from None
