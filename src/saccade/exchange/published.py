"""The files of a published model, read strictly: what is wrong is told with the file and the field, before any work."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import models
from torch import Tensor

from saccade import inputs
from saccade.data.formats.tables import SURROGATE
from saccade.data.tokenizers import Backend
from saccade.errors import DataError

CONFIG, PARAMETERS, BIN = "config.json", "model.safetensors", "pytorch_model.bin"
INDEX, BIN_INDEX = f"{PARAMETERS}.index.json", f"{BIN}.index.json"
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


def parameters(path: Path, architecture: str, *, unsafe_bin: bool = False) -> dict[str, Tensor]:
    """The tensors of model.safetensors, or of the files that its index names; `unsafe_bin` takes pytorch_model.bin, and only
    that. `architecture` is the class of transformers that converts older files."""
    name, index = (BIN, BIN_INDEX) if unsafe_bin else (PARAMETERS, INDEX)
    if (path / name).exists():
        return _opened(path / name)
    if (path / index).exists():
        return _joined(path / index, Path(name).suffix)
    if unsafe_bin:
        raise DataError(f"{path}: expected {BIN}, got none; leave --unsafe-bin out")
    got = "pytorch_model.bin, which may run code" if any((path / old).exists() for old in (BIN, BIN_INDEX)) else "none"
    fix = f'python -c "{CONVERT.format(path, architecture)}"'
    raise DataError(f"{path}: expected {PARAMETERS}, got {got}; convert it: {fix}")


def _opened(file: Path) -> dict[str, Tensor]:
    """The tensors of one file. Of a pickle, torch reads tensors and nothing else."""
    try:
        inputs.require_regular(file, AGAIN)
        if file.suffix != ".bin":
            return load_file(file)
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{file}: cannot be read ({error}); fix: {AGAIN}") from None
    except DataError:
        raise
    except Exception as error:  # whatever a pickle may raise
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise DataError(f"{file}: not a file of tensors alone ({reason}); do not open it otherwise") from None
    if not isinstance(tensors, dict) or not all(isinstance(one, Tensor) for one in tensors.values()):
        raise DataError(f"{file}: expected names and tensors, got something else; fix: {AGAIN}")
    return {str(name): tensor for name, tensor in tensors.items()}


def _joined(index: Path, suffix: str) -> dict[str, Tensor]:
    """The tensors of several files, each with those that the index says."""
    places = json_table(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise DataError(f"{index}: expected weight_map with the file of each tensor, got none; fix: {AGAIN}")
    for name, file in places.items():
        if not isinstance(file, str) or Path(file).name != file or Path(file).suffix != suffix:
            raise DataError(f"{index}: expected a file *{suffix} beside it for {name}, got {short(file)}; fix: {AGAIN}")
    tensors: dict[str, Tensor] = {}
    for file in sorted({*places.values()}):
        if not (index.parent / file).exists():
            raise DataError(f"{index.parent}: expected {file}, which {index.name} names, got none; fix: download it, too")
        found, wanted = _opened(index.parent / file), {name for name, place in places.items() if place == file}
        for name in sorted(wanted ^ {*found}):
            problem = f"expected {name} by {index.name}, got none" if name in wanted else f"got {name}, of another file"
            raise DataError(f"{index.parent / file}: {problem}; fix: {AGAIN}")
        tensors |= found
    return tensors


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


def byte_pairs(ids: dict[str, int], merges: Path) -> Backend:
    """A tokenizer of these tokens and a file with the pairs that are merged, one a line, in their order."""
    try:
        lines = inputs.text(merges, AGAIN).split("\n")
    except OSError as error:
        raise DataError(f"{merges}: cannot be read ({error.strerror}); fix: {AGAIN}") from None
    first = 1 if lines[0].startswith("#version") else 0
    pairs = []
    for number, line in enumerate(lines[first:], first + 1):
        if not line.strip():
            continue
        pair = line.rstrip("\r").split(" ")
        if len(pair) != 2 or not all(part in ids for part in (*pair, "".join(pair))):
            expected = "two tokens of the vocabulary whose joint is one, too"
            raise DataError(f"{merges}:{number}: expected {expected}, got {short(line)}; fix: {AGAIN}")
        pairs.append((pair[0], pair[1]))
    return Backend(models.BPE(vocab=ids, merges=pairs))


def write_json(path: Path, table: Mapping[str, Any]) -> None:
    """Write such a file."""
    path.write_text(json.dumps(table, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")
