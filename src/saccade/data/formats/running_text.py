"""Running text of your own, for language models.

    data.train=my.txt              a text, as it stands; several with commas between; or a folder, with all texts in it
    data.train=my.jsonl            a text in each row: also .csv, .json, .parquet; data.text=body names another column

Files are UTF-8; each may end in .gz. Without data.valid the end of each text is held out; of 20 texts and more, whole texts.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from saccade.data.examples import Example, Splits
from saccade.data.formats import own_files, tables
from saccade.data.formats.own_files import OwnFiles, suffix
from saccade.data.formats.text_files import PLAIN, texts_of
from saccade.data.stored.preparations import followed
from saccade.data.stored.running_texts import RunningTexts, ends_held_out
from saccade.data.stored.store_files import TARGET as TEXT
from saccade.data.stored.store_files import LongText
from saccade.data.stored.stored_examples import StoredExamples, large, stored
from saccade.errors import DataError, UsageError

INPUT, TARGET = str, str
OWN = "data.train=my.txt"
FORMATS = (
    "my.txt, several with commas between, a folder of them, or a table (.csv, .json, .jsonl, .parquet) with a column text"
)
MANY = 20  # texts of which some are held out whole


@dataclass(frozen=True, kw_only=True)
class Config(OwnFiles):
    """Where the texts are."""

    train: str = ""
    """Training texts: my.txt, several with commas between, a folder of them, or a table with a text in each row."""
    text: str = ""
    """Column of the text, where train is a table; empty: text, sentence, document or the like."""


def load(config: Config) -> Splits:
    """The texts of all files."""
    if not config.train:
        raise UsageError(f"data.train: expected a text, got nothing; fix: data.train={FORMATS}")
    splits = config.splits(lambda spec: _examples(spec, config), lambda one: one.target.encode())
    if config.by_part().valid or not config.held_out or len(splits.train) + len(splits.valid) >= MANY:
        return Splits(*(_running(part) for _, part in splits.parts()))
    if isinstance(splits.train, StoredExamples) and isinstance(splits.valid, StoredExamples):
        rows = np.concatenate([part.places(np.arange(len(part))) for part in (splits.train, splits.valid)])
        stored = StoredExamples(splits.train.store, rows)
        return Splits(*ends_held_out(stored, config.held_out), _running(splits.test))
    whole = [*splits.train, *splits.valid]
    cuts = [(one, int(len(one.target) * (1 - config.held_out))) for one in whole]
    train = [replace(one, target=one.target[:cut]) for one, cut in cuts]
    valid = [replace(one, target=one.target[cut:]) for one, cut in cuts]
    train, valid = ([one for one in part if one.target] for part in (train, valid))
    return Splits(train, valid, _running(splits.test))


def read(spec: str, config: Config) -> Sequence[Example]:
    """The texts of files or of a folder; of much text as a view of files that are prepared from it once."""
    return _running(_examples(spec, config))


def _running(examples: Sequence[Example]) -> Sequence[Example]:
    return RunningTexts(examples) if isinstance(examples, StoredExamples) else examples


def _examples(spec: str, config: Config) -> Sequence[Example]:
    files = _files(spec)
    if not large(files):
        return [example for path in files for example in _texts(path, config.text)]
    return stored(files, {"running text": config.text}, lambda told: _long_texts(files, config.text), _silent, TEXT)


def _texts(path: Path, column: str) -> Iterator[Example]:
    """The text of a file, or those of a table."""
    if suffix(path) in tables.SUFFIXES:
        texts: Iterable[str] = texts_of(tables.read_table(path, FORMATS), column)
    else:
        texts = [own_files.text(path, FORMATS).replace("\r\n", "\n")]
    any_text = False
    for text in texts:
        if text.strip():
            any_text = True
            yield Example("", text, files=(str(path),))
    if not any_text:
        raise _empty(path)


def _long_texts(files: Sequence[Path], column: str) -> Iterator[Example | LongText]:
    """The same of several files, none of which is in memory as a whole."""
    for path in files:
        if suffix(path) in tables.SUFFIXES:
            yield from _texts(path, column)
        else:
            yield LongText(_blocks(path), (str(path),))


def _blocks(path: Path) -> Iterator[bytes]:
    """Those of a file that has text."""
    size = 0 if path.suffix.lower() == ".gz" else path.stat().st_size
    any_text = False
    for block in followed(own_files.blocks(path, FORMATS), f"reading {path}", size, len):
        any_text = any_text or bool(block.decode(errors="ignore").strip())
        yield block
    if not any_text:
        raise _empty(path)


def _empty(path: Path) -> DataError:
    return DataError(f"{path}: expected text, got an empty file; name another, or leave it out")


def _silent(text: str) -> None:
    """Nothing is said while texts are read."""


def _files(spec: str) -> list[Path]:
    """The files that are meant, those of a folder in the order of their names."""
    names = [spec] if os.path.exists(os.path.expanduser(spec)) else [name.strip() for name in spec.split(",")]
    files: list[Path] = []
    for path in (Path(os.path.expanduser(name)) for name in names):
        inside = sorted(one for one in path.rglob("*") if suffix(one) in PLAIN) if os.path.isdir(path) else [path]
        if not inside:
            raise DataError(f"{path}: expected texts ({', '.join(PLAIN)}) in the folder, got none; known: {FORMATS}")
        files += inside
    return files
