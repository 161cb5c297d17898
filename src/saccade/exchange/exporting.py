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

# Formats that no model is published in. Each module says what settings it NEEDs, and what MODULES of which EXTRA.
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
    if settings.system != known[kind].SYSTEM:
        wanted = known[kind].SYSTEM
        raise UsageError(f"format {kind}: expected a run of the system {wanted}, got {settings.system}; train one")
    for key, needed, got in _missing(settings, known[kind]):
        others = [name for name, one in known.items() if settings.system == one.SYSTEM and not _missing(settings, one)]
        fix = f"train with that{f', or export as {others[0]}' if others else ''}"
        raise UsageError(f"format {kind} needs {key}={needed}, got {got}; {fix}")


def _missing(settings: Settings, module: Any) -> list[tuple[str, Any, Any]]:
    """Each key that the format needs to be another: its name, what it should be, and what it is."""
    found = []
    for key, needed in module.NEEDED.items():
        section, _, name = key.partition(".")
        if (got := getattr(getattr(settings, section), name)) != needed:
            found.append((key, needed, got))
    return found


def _require_module(name: str, kind: str, extra: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        raise MissingExtra(f"format {kind}", name, extra) from None
