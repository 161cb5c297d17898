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
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import TypeAdapter, ValidationError

from saccade import inputs
from saccade.errors import DataError, UnknownName, UsageError

Positive = Annotated[int, Gt(0)]
Count = Annotated[int, Ge(0)]
Rate = Annotated[float, Gt(0), Lt(float("inf"))]
Amount = Annotated[float, Ge(0), Lt(float("inf"))]
Share = Annotated[float, Ge(0), Lt(1)]
Portion = Annotated[float, Gt(0), Le(1)]

KINDS = {bool: "true | false", int: "whole number", float: "number", str: "text"}

Table = dict[str, Any]
C = TypeVar("C")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Empty:
    """Nothing to set."""


def build(kind: type[C], values: Mapping[str, Any], section: str) -> C:
    """A config of this class from a table, every value checked; errors name the key as it is typed."""
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    types = get_type_hints(kind)
    for key, value in values.items():
        if key not in known:
            raise UnknownName(f"key in [{section}]", key, known)
        if isinstance(value, bool) and types[key] in (int, float):  # which pydantic would take for 0 or 1
            raise UsageError(f"{section}.{key}: expected a number, got {value!r}")
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except UsageError as error:  # of a config whose keys do not go together; it knows their names, not their section
        raise UsageError(f"{section}.{error}") from None
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
            example = f"did you mean data.train={text}?" if Path(text).exists() else "for example train.steps=500"
            raise UsageError(f"expected section.key=value, got {text!r}; {example}")
        table.setdefault(section, {})[key] = _value(value.strip())
    return table


def _value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
        tomllib.loads(f"value = [{text}]")  # neither a comment nor a second line is part of a value
    except (tomllib.TOMLDecodeError, KeyError):
        return text
    return value if isinstance(value, bool | int | float | str | list) else text


def word(value: Any) -> str:
    """A value as `words` reads it."""
    return _toml(list(value) if isinstance(value, tuple) else value)


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
        return tomllib.loads(inputs.text(path, "name a TOML file"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; name a TOML file, or a recipe (see: saccade recipes)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: not TOML ({error}); mend the line") from None


def write(table: Mapping[str, Any]) -> str:
    """The table as TOML: plain keys first, then one part per section."""
    lines = [_line(key, key, value) for key, value in table.items() if not isinstance(value, Mapping)]
    for section, values in table.items():
        if isinstance(values, Mapping):
            lines += ["", f"[{section}]"] + [_line(key, f"{section}.{key}", value) for key, value in values.items()]
    return "\n".join(lines).strip() + "\n"


def _line(key: str, path: str, value: Any) -> str:
    try:
        return f"{key} = {_toml(value)}"
    except (TypeError, UnicodeEncodeError):
        raise UsageError(f"{path}: expected text, a number, true or false, or a list, got {value!r}") from None


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        value.encode()  # half a surrogate pair, from a file's name that is not UTF-8, has no place in TOML
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return json.dumps(value)
    raise TypeError


def plain(config: Any) -> Table:
    """A config as a table."""
    return dataclasses.asdict(config)


def allowed(hint: Any) -> str:
    """The values that a field takes: its choices, or its kind and limits."""
    if get_origin(hint) is Literal:
        return " | ".join(map(str, get_args(hint)))
    if get_origin(hint) is not Annotated:
        return KINDS.get(hint, "list")
    base, *limits = get_args(hint)
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    bounds = [f"{sign} {getattr(one, name)}" for one in limits for name, sign in signs.items() if hasattr(one, name)]
    return " ".join([KINDS.get(base, "list"), " and ".join(text for text in bounds if "inf" not in text)]).strip()


def described(kind: type) -> list[tuple[str, str, Any, str]]:
    """Every field of a config class: its name, the values it takes, its default (None: must be given) and its line."""
    lines: dict[str, str] = {}
    types = get_type_hints(kind, include_extras=True)
    for part in reversed(kind.__mro__[:-1]):  # a task may add to what another has
        tree = ast.parse(textwrap.dedent(inspect.getsource(part))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                lines[ast.unparse(node.target)] = " ".join(str(after.value.value).split())
    return [
        (
            field.name,
            allowed(types[field.name]),
            None if field.default is dataclasses.MISSING else field.default,
            lines[field.name],
        )
        for field in dataclasses.fields(kind)
    ]
