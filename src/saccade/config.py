"""Configs: frozen dataclasses filled from TOML and from words such as `train.rate=3e-4`, checked, and written back.

A config class stands beside what it configures. A recipe holds only departures from its defaults; the resolved
config, every key included, is written into the run.
"""

import ast
import dataclasses
import inspect
import json
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from annotated_types import Ge, Gt, Lt
from pydantic import TypeAdapter, ValidationError

from saccade.errors import DataError, UnknownName, UsageError

Positive = Annotated[int, Gt(0)]
Count = Annotated[int, Ge(0)]
Rate = Annotated[float, Gt(0)]
Amount = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Lt(1)]

Table = dict[str, Any]
C = TypeVar("C")


def build(kind: type[C], values: Mapping[str, Any], section: str) -> C:
    """A config of this class from a table, every value checked; errors name the key as it is typed."""
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise UnknownName(f"key in [{section}]", key, known)
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, (section, *first["loc"])))
        raise UsageError(f"{key}: {_plain(first['msg'])}, got {first['input']!r}") from None


def _plain(message: str) -> str:
    return message[0].lower() + message[1:]


def words(texts: Iterable[str]) -> Table:
    """`section.key=value` words as a nested table; a value is read as TOML, and as plain text where it is none."""
    table: Table = {}
    for text in texts:
        path, equals, value = text.partition("=")
        section, dot, key = path.strip().partition(".")
        if not (equals and dot and section and key):
            raise UsageError(f"expected section.key=value, got {text!r}; for example train.steps=500")
        table.setdefault(section, {})[key] = _value(value.strip())
    return table


def _value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return text
    return value if isinstance(value, bool | int | float | str | list) else text


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Table:
    """Two tables of sections as one; where both have a key, the second wins."""
    table = {key: dict(value) if isinstance(value, Mapping) else value for key, value in base.items()}
    for key, value in over.items():
        if isinstance(value, Mapping):
            inner = table.get(key, {})
            table[key] = {**(inner if isinstance(inner, Mapping) else {}), **value}
        else:
            table[key] = value
    return table


def read(path: Path) -> Table:
    """A TOML file; what is wrong with it is told with its name and line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: not TOML ({error})") from None


def write(table: Mapping[str, Any]) -> str:
    """The table as TOML: plain keys first, then one part per section."""
    lines = [f"{key} = {_toml(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for section, values in table.items():
        if isinstance(values, Mapping):
            lines += ["", f"[{section}]"] + [f"{key} = {_toml(value)}" for key, value in values.items()]
    return "\n".join(lines).strip() + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[repr(value)]
    return json.dumps(value)


def plain(config: Any) -> Table:
    """A config as a table."""
    return dataclasses.asdict(config)


def described(kind: type) -> list[tuple[str, str, Any, str]]:
    """Every field of a config class: its name, type, default (None: must be given) and the line written under it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    lines: dict[str, str] = {}
    types: dict[str, str] = {}
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            types[node.target.id] = ast.unparse(node.annotation)
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                lines[node.target.id] = " ".join(str(after.value.value).split())
    return [
        (field.name, types[field.name], None if field.default is dataclasses.MISSING else field.default, lines[field.name])
        for field in dataclasses.fields(kind)
    ]
