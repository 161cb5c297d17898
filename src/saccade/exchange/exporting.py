"""A run becomes a directory for another runtime: `marian` (Hugging Face's transformers), `ct2` (CTranslate2) or `onnx`."""

import importlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from saccade.errors import UnknownName, UsageError
from saccade.exchange import ct2, onnx
from saccade.exchange.marian_directory import export_marian
from saccade.training.run import Run, Which
from saccade.training.trained import Trained

# What writes each format, the modules that it needs, and the extra that brings them.
FORMATS: dict[str, tuple[Callable[[Trained, Path], None], tuple[str, ...], str]] = {
    "marian": (export_marian, (), ""),
    "ct2": (ct2.export, ("ctranslate2",), "ct2"),
    "onnx": (onnx.export, ("onnx", "onnxscript"), "onnx"),
}
# What a config must say for each format, beside the system; the rest may be anything.
NEEDED: Mapping[str, Any] = {"score": "scaled_dot", "normalize": "softmax", "mask": "none", "mixer": "attention"}
MARIAN: Mapping[str, Any] = {"norm": "post", "final_norm": "none", "positions": "sinusoidal_halves"}


def export(path: Path, out: Path, kind: str, which: Which | None = None) -> None:
    """Write the run in `path` as `kind` into the new directory `out`; on an error, nothing is left there."""
    if kind not in FORMATS:
        raise UnknownName("format", kind, FORMATS)
    run = Run.open(path)
    _require(run, kind)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: expected a new or empty directory to export to, got one in use; choose another")
    write, modules, extra = FORMATS[kind]
    for module in modules:
        _require_module(module, kind, extra)
    trained = Trained.open(path, which)
    try:
        out.mkdir(parents=True, exist_ok=True)
        write(trained, out)
    except BaseException as error:
        shutil.rmtree(out, ignore_errors=True)
        if isinstance(error, OSError):
            raise UsageError(f"{out}: cannot be written ({error.strerror}); choose another directory") from None
        raise


def _require(run: Run, kind: str) -> None:
    """Refuse what the format cannot say, by the word of the config that would have to be another."""
    settings = run.settings
    if settings.system != "transformer":
        raise UsageError(f"--format {kind}: expected a run of the system transformer, got {settings.system}; train one")
    for key, needed in {**NEEDED, **(MARIAN if kind == "marian" else {})}.items():
        if (got := getattr(settings.model, key)) != needed:
            other = ", or export with --format ct2" if kind == "marian" and key in MARIAN else ""
            raise UsageError(f"--format {kind} needs model.{key}={needed}, got {got}; train with that{other}")
    if settings.task.starts != "one" and kind == "marian":
        raise UsageError(f"--format {kind} needs task.starts=one, got {settings.task.starts}; export with --format ct2")


def _require_module(name: str, kind: str, extra: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        raise UsageError(f"--format {kind} needs {name}, which is not installed; pip install 'saccade[{extra}]'") from None
