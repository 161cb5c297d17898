"""JSON to be trusted: shallow, finite, no key twice; and, when sealed, checked against its own SHA-256 before it is read."""

import hashlib
import json
import math
import re
from typing import Any

from saccade.errors import SaccadeError

DEPTH = 32
DIGITS = 1000
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
OPENING, MIDDLE, CLOSING = b'{"sha256": "', b'",\n"content": ', b"}\n"


def encode(value: object, name: str) -> bytes:
    """The JSON text of a value that `decode` gives back; whatever JSON would lose is refused by its place."""
    _check(value, name, DEPTH)
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode()


def decode(data: bytes) -> Any:
    """The value of a JSON text; ValueError with a short reason if it is not one of ours."""
    text = data.decode("utf-8", errors="strict")
    if _depth(text) > DEPTH:
        raise ValueError(f"nested more than {DEPTH} deep")
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)


def seal(body: bytes) -> bytes:
    """A JSON document around another one, which carries the checksum of its bytes."""
    return OPENING + hashlib.sha256(body).hexdigest().encode() + MIDDLE + body + CLOSING


def unseal(data: bytes) -> bytes:
    """The document inside, exactly as it was sealed."""
    body = data[len(OPENING) + 64 + len(MIDDLE) : -len(CLOSING)]
    if seal(body) != data:
        raise ValueError("does not match its own checksum")
    return body


def _check(value: object, place: str, depth: int) -> None:
    if isinstance(value, dict | list | tuple) and depth == 0:
        raise SaccadeError(f"{place} is nested more than {DEPTH} deep; flatten it")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise SaccadeError(f"{place} has the key {key!r}; JSON keeps only text as a key, write {str(key)!r}")
            _check(inner, f"{place}.{key}", depth - 1)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _check(inner, f"{place}[{index}]", depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise SaccadeError(f"{place} is {value}, which JSON cannot hold; write None instead")
    elif isinstance(value, int) and value.bit_length() > 3 * DIGITS:
        raise SaccadeError(f"{place} has more than {DIGITS} digits; store it as text")
    elif value is not None and not isinstance(value, str | int | float):
        raise SaccadeError(f"{place} is a {type(value).__name__}, which JSON cannot hold; store tensors among the tensors")


def _depth(text: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a key stands twice")
    return table


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return value
