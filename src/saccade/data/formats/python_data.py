"""Data that Python holds (a DataFrame, a `datasets.Dataset`, pairs), kept as files of the run: it resumes and evaluates."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saccade import config as configs
from saccade.data.examples import PARTS, Example
from saccade.data.formats import running_text, text_files
from saccade.data.formats.own_files import ALSO
from saccade.data.formats.tables import held_table
from saccade.errors import DataError, UsageError

SCALARS = str | Path | int | float
FILES = {part: f"data.{part}.jsonl" for part in PARTS}

CONFIGS: dict[str, type[text_files.Config] | type[running_text.Config]] = {
    "text_files": text_files.Config,
    "running_text": running_text.Config,
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
    if rows and own not in CONFIGS:
        kind = type(next(iter(rows.values()))).__name__
        raise UsageError(f"data: expected a file, since this system reads no plain texts, got {kind}; save it first")
    files: dict[str, str] = {}
    if rows:
        own_keys = {key: value for key, value in given.items() if key not in (*PARTS, "name")}
        config = configs.build(CONFIGS[own], own_keys, "data")
        for part, value in rows.items():
            lines = _rows(value, config, "data" if given.keys() == {"train"} else part)
            files[FILES[part]] = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return {**given, **{part: FILES[part] for part in rows}}, files


def _rows(rows: Any, config: text_files.Config | running_text.Config, name: str) -> Iterator[dict[str, str]]:
    """The rows as they are kept, under the names that the columns are given."""
    for one in examples_of(rows, config, name):
        if isinstance(config, running_text.Config):
            yield {config.text or "text": one.target}
        else:
            group = {config.group or "group": one.group} if one.group else {}
            yield {config.text or "text": one.input, config.label or "label": one.target, **group}


def examples_of(rows: Any, config: text_files.Config | running_text.Config, name: str = "data") -> list[Example]:
    """Rows that Python holds, of texts with labels or of running text, as examples."""
    if isinstance(config, text_files.Config):
        return text_files.examples_of(held_table(rows, name), config)
    table = held_table(rows, name)
    if not table.rows:
        raise DataError(f"{name}: expected texts, got none; add some")
    return [Example("", text) for text in text_files.texts_of(table, config.text)]
