"""Running text of your own, for language models.

    data.train=my.txt              a text, as it stands; several with commas between; or a folder, with all texts in it
    data.train=my.jsonl            a text in each row: also .csv, .json, .parquet; data.text=body names another column

Files are UTF-8; each may end in .gz. Without data.valid the end of each text is held out; of 20 texts and more, whole texts.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from saccade.data.examples import Example, Splits
from saccade.data.formats import own_files, tables
from saccade.data.formats.own_files import OwnFiles, suffix
from saccade.data.formats.text_files import PLAIN, texts_of
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
    splits = config.splits(lambda spec: read(spec, config), lambda one: one.target.encode())
    whole = [*splits.train, *splits.valid]
    if config.by_part().valid or not config.held_out or len(whole) >= MANY:
        return splits
    cuts = [(one, int(len(one.target) * (1 - config.held_out))) for one in whole]
    train = [replace(one, target=one.target[:cut]) for one, cut in cuts]
    valid = [replace(one, target=one.target[cut:]) for one, cut in cuts]
    train, valid = ([one for one in part if one.target] for part in (train, valid))
    return Splits(train, valid, splits.test)


def read(spec: str, config: Config) -> list[Example]:
    """The texts of files or of a folder."""
    return [example for path in _files(spec) for example in _texts(path, config.text)]


def _texts(path: Path, column: str = "") -> Iterator[Example]:
    """The text of a file, or those of a table."""
    if suffix(path) in tables.SUFFIXES:
        texts = texts_of(tables.read_table(path, FORMATS), column)
    else:
        texts = [own_files.text(path, FORMATS).replace("\r\n", "\n")]
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise DataError(f"{path}: expected text, got an empty file; name another, or leave it out")
    yield from (Example("", text, files=(str(path),)) for text in texts)


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
