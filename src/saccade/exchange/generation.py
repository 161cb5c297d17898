"""How a published model is meant to write: its generation_config.json, or in older ones config.json, and our search."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic import Strict

from saccade.data.tokenizers import Vocabulary
from saccade.errors import DataError
from saccade.exchange import published
from saccade.search.search_config import MOST
from saccade.search.search_config import Config as SearchConfig

FILE = "generation_config.json"


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What is read; None: nothing is said."""

    num_beams: Annotated[int, Strict(), Gt(0), Le(MOST)] | None = None
    max_length: Annotated[int, Strict(), Gt(0), Le(1_000_000)] | None = None
    max_new_tokens: Annotated[int, Strict(), Gt(0), Le(1_000_000)] | None = None
    length_penalty: Annotated[float, Strict(), Gt(float("-inf")), Lt(float("inf"))] | None = None
    do_sample: Annotated[bool, Strict()] | None = None
    temperature: Annotated[float, Strict(), Gt(0), Lt(float("inf"))] | None = None
    top_k: Annotated[int, Strict(), Ge(0), Le(MOST)] | None = None
    top_p: Annotated[float, Strict(), Gt(0), Le(1)] | None = None
    bad_words_ids: tuple[tuple[Annotated[int, Strict(), Ge(0)], ...], ...] | None = None


def read(path: Path, config: Mapping[str, Any]) -> Generation:
    """What the directory says, its own file before its config."""
    file = path / FILE
    older = published.fields(Generation, config, path / published.CONFIG)
    newer = published.fields(Generation, published.json_table(file), file) if file.exists() else older
    return Generation(**{field.name: _or(getattr(newer, field.name), getattr(older, field.name)) for field in fields(newer)})


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def search_keys(given: Generation, places: int) -> dict[str, Any]:
    """The keys of our search; a text has at most so many places."""
    beam = _or(given.num_beams, 1)
    most = max(1, min(_or(given.max_length, places), places) - 1)  # theirs counts the start, too
    keys: dict[str, Any] = {"max_length": _or(given.max_new_tokens, most)}
    if beam > 1:
        return {**keys, "method": "beam", "beam": beam, "length_penalty": max(0.0, _or(given.length_penalty, 1.0))}
    if given.do_sample:
        defaults = {"temperature": 1.0, "top_k": 50, "top_p": 1.0}  # the library's
        return {**keys, "method": "sample", **{key: _or(getattr(given, key), value) for key, value in defaults.items()}}
    return {**keys, "method": "greedy"}


def banned(path: Path, given: Generation, size: int) -> tuple[int, ...]:
    """Ids that the model must never write; a ban of several tokens in a row has no counterpart here."""
    fix = f"leave it out of {path / FILE}"
    for row in given.bad_words_ids or ():
        if len(row) != 1:
            raise DataError(f"{path}: bad_words_ids: expected single tokens, got {list(row)}; fix: {fix}")
        if row[0] >= size:
            raise DataError(f"{path}: bad_words_ids: expected ids below {size}, got {row[0]}; fix: {fix}")
    return tuple(sorted({row[0] for row in given.bad_words_ids or ()}))


def special_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """The special tokens under the names that all files of a directory use."""
    return {
        "pad_token_id": vocabulary.pad,
        "bos_token_id": vocabulary.start,
        "decoder_start_token_id": vocabulary.start,
        "eos_token_id": vocabulary.end,
    }


def table(search: SearchConfig, vocabulary: Vocabulary) -> dict[str, Any]:
    """The file for a search of ours; transformers does not save one with a key of another method."""
    keys: dict[str, Any] = {
        **special_ids(vocabulary),
        "bad_words_ids": [[token] for token in vocabulary.banned] or None,
        "max_length": search.max_length + 1,
        "num_beams": search.beam if search.method == "beam" else 1,
        "do_sample": search.method == "sample",
    }
    if keys["num_beams"] > 1:
        keys |= {"length_penalty": search.length_penalty, "early_stopping": "never"}
    if keys["do_sample"]:
        keys |= {"temperature": search.temperature, "top_k": search.top_k, "top_p": search.top_p}
    return keys
