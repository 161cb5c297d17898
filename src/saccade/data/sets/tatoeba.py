"""Tatoeba: sentences that volunteers wrote and translated, French or German with English (manythings.org/anki).

There is no official split, and one sentence has many translations: where lines are split at random, sentences of the test
were learned. Here the split hangs on the English sentence alone, and what is judged leaves out what was learned in the
other language; sentences that differ in case, spaces and punctuation count as one.
"""

import hashlib
import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.data import known
from saccade.data.examples import Example, Splits
from saccade.errors import DataError, UnknownName, UsageError
from saccade.inputs import bounded

INPUT, TARGET = str, str


Lines = list[tuple[str, str]]  # English, the other language

LANGUAGES = ("en", "fr", "de")
EDITIONS = {"fr": ("tatoeba-fra-eng", "fra-eng.zip", "fra.txt"), "de": ("tatoeba-deu-eng", "deu-eng.zip", "deu.txt")}
HELD_OUT = 0.015  # share of the English sentences in the test set, and as many in the validation set
LETTERS = re.compile(r"\w+")
TOKENS = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which languages, and in which form."""

    source: Literal["en", "fr", "de"] = "en"
    "The language to read."
    target: str = "fr"
    "The language to write; from English several with commas between: each is then a group (see task.starts)."
    text: Literal["raw", "tok"] = "raw"
    "raw: as it was written, but for spaces, which are all made plain; tok: in lower case, punctuation marks apart."


def load(config: Config) -> Splits:
    """All three parts."""
    targets = [name.strip() for name in config.target.split(",")]
    for name in targets:
        if name not in LANGUAGES:
            raise UnknownName("language", name, LANGUAGES)
    wrong = "en" in targets if config.source == "en" else targets != ["en"]
    if wrong or len(set(targets)) < len(targets):
        expected = "fr, de or both, each once" if config.source == "en" else "en: every pair has English on one side"
        raise UsageError(f"data.target: expected {expected}, from {config.source}, got {config.target!r}")
    languages = targets if config.source == "en" else [config.source]
    parts = [_pairs(language, config, language if len(targets) > 1 else "") for language in languages]
    return Splits(*([pair for part in parts for pair in part[number]] for number in range(3)))


def part_of(english: str) -> int:
    """The part of a sentence, 0 training, 1 validation, 2 test; by its SHA-256 alone."""
    place = int.from_bytes(hashlib.sha256(same(english).encode()).digest()[:8], "big") / 2**64
    return 2 if place < HELD_OUT else 1 if place < 2 * HELD_OUT else 0


def same(text: str) -> str:
    """What sentences have in common that count as one: letters and digits, in one case."""
    return "".join(LETTERS.findall(text.casefold())) or text


def _pairs(language: str, config: Config, group: str) -> list[list[Example]]:
    """The pairs of one language with English, in three parts."""
    parts: list[Lines] = [[], [], []]
    for english, other in _lines(*EDITIONS[language]):
        parts[part_of(english)].append((english, other))
    learned = {same(other) for _, other in parts[0]}
    parts[2] = _without(parts[2], learned)
    parts[1] = _without(parts[1], learned | {same(other) for _, other in parts[2]})
    return [[_pair(english, other, config, group) for english, other in part] for part in parts]


def _without(lines: Lines, seen: Collection[str]) -> Lines:
    return [(english, other) for english, other in lines if same(other) not in seen]


def _pair(english: str, other: str, config: Config, group: str) -> Example:
    first, second = (english, other) if config.source == "en" else (other, english)
    return Example(_formed(first, config.text), _formed(second, config.text), group)


def _formed(text: str, form: str) -> str:
    return " ".join(text.split() if form == "raw" else TOKENS.findall(text.lower()))


def _lines(name: str, archive: str, member: str) -> Lines:
    """English and its translation, as the edition has them; what follows them in a line is passed over."""
    path = known.find(name, archive)
    pairs = []
    for number, line in enumerate(_text(path, member).rstrip("\n").split("\n"), 1):
        columns = line.split("\t")
        if len(columns) < 2 or not columns[0].strip() or not columns[1].strip():
            raise DataError(f"{path}: {member}:{number}: expected English TAB translation, got {line[:40]!r}")
        pairs.append((columns[0], columns[1]))
    return pairs


def _text(path: Path, member: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive, bounded(archive.open(member), path) as file:
            return file.read().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, zipfile.BadZipFile, KeyError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: expected a zip with {member} in UTF-8 ({error}); download it again") from None
