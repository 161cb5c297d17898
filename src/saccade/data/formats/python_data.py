"""Data that Python holds (a DataFrame, a `datasets.Dataset`, pairs), kept as files of the run: it resumes and evaluates."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade import config as configs
from saccade.data.examples import PARTS, Example
from saccade.data.formats import running_text, text_files
from saccade.data.formats.own_files import ALSO
from saccade.data.formats.tables import BadRow, as_text, held_table
from saccade.errors import DataError, UsageError

SCALARS = str | Path | int | float
FILES = {part: f"data.{part}.jsonl" for part in PARTS}


def kept(data: Any, own: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The keys of [data] for what a user gives, and by name the files that are to be kept in the run.

    Given are a path, a table of the keys of [data], rows, or rows by their part (train, valid, test).
    """
    if isinstance(data, str | Path):
        return {"train": str(data)}, {}
    table: Mapping[str, Any] = data if isinstance(data, Mapping) else {"train": data}
    given = {ALSO.get(str(key), str(key)): value for key, value in table.items()}
    rows = {key: value for key, value in given.items() if not isinstance(value, str | Path if key in PARTS else SCALARS)}
    for key in rows.keys() - PARTS.keys():
        raise UsageError(f"data: expected rows as train, valid or test, got them as {key!r}; fix: data={{'train': rows}}")
    if rows and own not in MAKERS:
        kind = type(next(iter(rows.values()))).__name__
        raise UsageError(f"data: expected a file, since this system reads no plain texts, got {kind}; save it first")
    columns = {key: value for key, value in given.items() if key not in rows and key not in PARTS and key != "name"}
    files = {
        FILES[part]: MAKERS[own](value, columns, "data" if given.keys() == {"train"} else part)
        for part, value in rows.items()
    }
    return {**given, **{part: FILES[part] for part in rows}}, files


def _pairs(rows: Any, given: Mapping[str, Any], name: str) -> str:
    """Texts with labels as JSON lines, under the names that the columns are given."""
    config = configs.build(text_files.Config, given, "data")
    examples = examples_of(rows, config, name)
    keys = [config.text or "text", config.label or "label", config.group or "group"]
    cells = ([one.input, one.target, *([one.group] if one.group else [])] for one in examples)
    return _lines(dict(zip(keys, own, strict=False)) for own in cells)


def _texts(rows: Any, given: Mapping[str, Any], name: str) -> str:
    """Running text as JSON lines."""
    config = configs.build(running_text.Config, given, "data")
    table = held_table([rows] if isinstance(rows, str) else rows, name)
    column = table.chosen({"text": config.text}, ("text",))["text"]
    try:
        return _lines({config.text or "text": as_text(row.cell(column), column)} for row in table.rows)
    except BadRow as error:
        raise DataError(f"{name}: {error.problem}; fix: {error.fix}") from None


def _lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def examples_of(rows: Any, config: text_files.Config, name: str = "data") -> list[Example]:
    """Rows that Python holds, of texts with labels, as examples."""
    return text_files.examples_of(held_table(rows, name), config)


MAKERS = {"text_files": _pairs, "running_text": _texts}
