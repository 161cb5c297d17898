"""Data that Python holds (a DataFrame, a `datasets.Dataset`, pairs), kept as files of the run: it resumes and evaluates."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from saccade import config as configs
from saccade.data.examples import PARTS, Example, Pair
from saccade.data.formats import pair_files, question_files, running_text, tagged_files, text_files
from saccade.data.formats.own_files import ALSO
from saccade.data.formats.tables import held_table
from saccade.errors import DataError, UsageError

SCALARS = str | Path | int | float
FILES = {part: f"data.{part}.jsonl" for part in PARTS}

# The formats whose examples are texts, so that rows can be kept as one of their files.
FORMATS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (text_files, running_text, pair_files, tagged_files, question_files)
}


def kept(data: Any, own: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The keys of [data] for what a user gives, and by name the files that are to be kept in the run.

    Given are a path, a table of the keys of [data], rows, or rows by their part (train, valid, test).
    """
    if isinstance(data, str | Path):
        return {"train": str(data)}, {}
    table: Mapping[str, Any] = data if isinstance(data, Mapping) else {"train": data}
    given = {ALSO.get(str(key), str(key)): value for key, value in table.items()}
    # Keys of a known data set may be lists, and shares of its parts numbers.
    keys = given if "train" in given else [key for key in given if key in (*PARTS, "text", "label")]
    rows = {key: given[key] for key in keys if not isinstance(given[key], str | Path if key == "train" else SCALARS)}
    for key in rows.keys() - PARTS.keys():
        raise UsageError(f"data: expected rows as train, valid or test, got them as {key!r}; fix: data={{'train': rows}}")
    if rows and own not in FORMATS:
        kind = type(next(iter(rows.values()))).__name__
        raise UsageError(f"data: expected a file, since this system reads no plain texts, got {kind}; save it first")
    files: dict[str, str] = {}
    if rows:
        own_keys = {key: value for key, value in given.items() if key not in (*PARTS, "name")}
        config = configs.build(FORMATS[own].Config, own_keys, "data")
        for part, value in rows.items():
            lines = _rows(value, config, "data" if given.keys() == {"train"} else part)
            files[FILES[part]] = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return {**given, **{part: FILES[part] for part in rows}}, files


def _rows(rows: Any, config: Any, name: str) -> Iterator[dict[str, Any]]:
    """The rows as they are kept, under the names that the columns are given."""
    for one in examples_of(rows, config, name):
        if isinstance(config, running_text.Config):
            yield {config.text or "text": one.target}
        else:
            group = {config.group or "group": one.group} if one.group else {}
            yield {**_columns(one, config), **group}


def _columns(one: Example, config: Any) -> dict[str, Any]:
    """An input and its target by the names of their columns."""
    if isinstance(config, question_files.Config):
        return question_files.columns_of(one, config)
    pair = isinstance(one.input, Pair)
    text = {config.text or "text": one.input.first, config.pair or "pair": one.input.second} if pair else {}
    return {**(text or {config.text or "text": one.input}), config.label or "label": one.target}


def examples_of(rows: Any, config: Any, name: str = "data") -> list[Example]:
    """Rows that Python holds, of texts with labels or of running text, as examples."""
    for module in (pair_files, tagged_files, question_files, text_files):
        if isinstance(config, module.Config):
            found: list[Example] = module.examples_of(held_table(rows, name), config)
            return found
    table = held_table(rows, name)
    if not table.rows:
        raise DataError(f"{name}: expected texts, got none; add some")
    return [Example("", text) for text in text_files.texts_of(table, config.text)]
