"""One file per paper. A system's name is its module's name; its module holds `READS`, `WRITES`, `Config` and `Model`; and
`attends(config)`, where not every config has attention.

A system that is used for several tasks has `TASKS`: by their names the reader and writer of each, `READS` and `WRITES` among
these; and `TASK_DEFAULTS`, what `DEFAULTS` are to these, for the others.

Importing this package imports no system, and so no torch.
"""

import ast
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from saccade.errors import UnknownName, UsageError

_HERE = Path(__file__).parent


def names() -> list[str]:
    """All systems."""
    return sorted(path.stem for path in _HERE.glob("*.py") if path.stem not in ("__init__", "system"))


def load(name: str) -> ModuleType:
    """The module of this system."""
    if name not in names():
        raise UnknownName("system", name, names())
    return importlib.import_module(f"saccade.systems.{name}")


def sides(name: str, task: str = "") -> tuple[str, str]:
    """Its reader and its writer, for one of its tasks; without one those that it names itself."""
    module = load(name)
    known: dict[str, tuple[str, str]] = getattr(module, "TASKS", {})
    if not task:
        return module.READS, module.WRITES
    if not known:
        raise UsageError(f"task: {name} has one task only, got {task!r}; leave it out")
    if task not in known:
        raise UnknownName(f"task of {name}", task, known)
    return known[task]


def defaults(name: str, task: str = "") -> dict[str, Any]:
    """What settings are where nothing else is said."""
    module = load(name)
    found: dict[str, Any] = module.TASK_DEFAULTS[task] if task else getattr(module, "DEFAULTS", {})
    return found


def attends(name: str, config: Any) -> bool:
    """Whether there is attention to show: a system may pool all items alike."""
    ask = getattr(load(name), "attends", None)
    return True if ask is None else bool(ask(config))


def sentence(name: str) -> dict[str, str]:
    """The paper, what the system reads, attends to and writes, its reader and its writer: found without importing it."""
    tree = ast.parse((_HERE / f"{name}.py").read_text(encoding="utf-8"))
    lines = (ast.get_docstring(tree) or "").splitlines()
    fields = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines[1:]) if value}
    declared = next(node.value for node in tree.body if isinstance(node, ast.Assign))  # READS, WRITES = …
    reader, writer = ast.literal_eval(declared)
    return {"name": name, "paper": lines[0] if lines else "", **fields, "reader": reader, "writer": writer}
