"""The files of a published model, read strictly: what is wrong is told with the file and the field, before any work."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from saccade import inputs
from saccade.data.formats.tables import SURROGATE
from saccade.data.tokenizers import Backend
from saccade.errors import DataError

CONFIG, PARAMETERS = "config.json", "model.safetensors"
AGAIN = "download it again"
CONVERT = "from transformers import {1} as M; M.from_pretrained('{0}').save_pretrained('{0}')"
F = TypeVar("F")


def json_table(path: Path) -> dict[str, Any]:
    """A file with a JSON object."""
    try:
        table = json.loads(inputs.text(path, AGAIN))
    except OSError as error:
        what = "name the directory of a published model"
        raise DataError(f"{path}: cannot be read ({error.strerror}); {what}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); fix: {AGAIN}") from None
    if not isinstance(table, dict):
        raise DataError(f"{path}: expected a JSON object, got {type(table).__name__}; fix: {AGAIN}")
    return table


def fields(kind: type[F], table: Mapping[str, Any], path: Path) -> F:
    """The fields of a file that are read, each checked; the others may be anything."""
    try:
        return TypeAdapter(kind).validate_python(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{first['msg'][0].lower()}{first['msg'][1:]}".replace("input should", "it should")
        raise DataError(f"{path}: {first['loc'][0]}: {problem}, got {short(first['input'])}; fix: {AGAIN}") from None


def short(value: Any) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def parameters(path: Path, architecture: str) -> dict[str, Tensor]:
    """The tensors of model.safetensors; `architecture` is the class of transformers that converts older files."""
    file = path / PARAMETERS
    if not file.exists():
        got = "pytorch_model.bin, which may run code" if (path / "pytorch_model.bin").exists() else "none"
        fix = f'python -c "{CONVERT.format(path, architecture)}"'
        raise DataError(f"{path}: expected {PARAMETERS}, got {got}; convert it: {fix}")
    try:
        inputs.require_regular(file, AGAIN)
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{file}: cannot be read ({error}); fix: {AGAIN}") from None


def token_ids(path: Path) -> dict[str, int]:
    """A file with the tokens of a vocabulary and their ids."""
    table = json_table(path)
    for token, index in table.items():
        if type(index) is not int or index < 0 or SURROGATE.search(token):
            got = f"{index!r:.40} for {token[:40]!r}"
            raise DataError(f"{path}: expected whole numbers from 0 on as ids of texts, got {got}; fix: {AGAIN}")
    return table


def backend(path: Path) -> Backend:
    """A file of the tokenizers library."""
    try:
        inputs.require_regular(path, AGAIN)
        return Backend.from_file(str(path))
    except DataError:
        raise
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        raise DataError(f"{path}: not a tokenizer ({' '.join(str(error).split())[:200]}); fix: {AGAIN}") from None


def write_json(path: Path, table: Mapping[str, Any]) -> None:
    """Write such a file."""
    path.write_text(json.dumps(table, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")
