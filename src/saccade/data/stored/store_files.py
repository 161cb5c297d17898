"""Writing examples of texts into the files of a store, which `stored_examples.py` describes and opens."""

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from saccade.data.examples import DIGITS, Example

TOGETHER = 1 << 12  # examples whose numbers are written together
FEW = 2  # groups of which it is known that there are several
TEXTS, ENDS, NUMBERS, HASHES, FACTS = "texts.bin", "ends.bin", "numbers.bin", "hashes.bin", "facts.json"
INPUT, TARGET = 0, 1
END = b"\0"


@dataclass(frozen=True)
class LongText:
    """The text of a target, block by block, which is to be stored without being in memory as a whole."""

    blocks: Iterable[bytes]
    files: tuple[str, ...]
    number = 0
    group = ""


def write(
    folder: Path, examples: Iterable[Example | LongText], told: Sequence[str], sources: Sequence[str], key: int = INPUT
) -> None:
    """Put examples into a directory. `told`: what was said while they were read, and is said again when they are opened;
    `key`: the field whose hashes are kept."""
    with ExitStack() as stack:
        files = _Files([stack.enter_context((folder / name).open("wb")) for name in (TEXTS, ENDS, NUMBERS, HASHES)], key)
        for example in examples:
            files.add(example)
        files.flush()
    facts = {
        "fingerprint": files.hashed.hexdigest()[:DIGITS],
        "files": files.origins,
        "groups": sorted(files.groups),
        "told": told,
        "sources": sources,
        "key": key,
    }
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")


class _Files:
    """Files that are being filled."""

    def __init__(self, files: Sequence[BinaryIO], key: int) -> None:
        self.texts, *self.others = files
        self.ends, self.numbers, self.hashes = array("Q"), array("q"), array("Q")
        self.hashed, self.position, self.count, self.key = hashlib.sha256(), 0, 0, key
        self.origins: list[tuple[int, tuple[str, ...]]] = []
        self.groups: set[str] = set()

    def add(self, example: Example | LongText) -> None:
        """One example more."""
        origin, number = _place(example)
        if not self.origins or self.origins[-1][1] != origin:
            self.origins.append((self.count, origin))
        self.numbers.append(number)
        for field, blocks in enumerate(_fields(example)):
            self._add(field, blocks)
        if len(self.groups) < FEW:
            self.groups.add(example.group)
        self.count += 1
        if self.count % TOGETHER == 0:
            self.flush()

    def _add(self, field: int, blocks: Iterable[bytes]) -> None:
        own = hashlib.sha256()
        for block in blocks:
            self._write(block)
            if field == self.key:
                own.update(block)
        self._write(END)
        self.ends.append(self.position)
        if field == self.key:
            self.hashes.append(int.from_bytes(own.digest()[:8], "big"))

    def _write(self, block: bytes) -> None:
        self.texts.write(block)
        self.hashed.update(block)
        self.position += len(block)

    def flush(self) -> None:
        """Write the numbers of the last examples."""
        for buffer, file in zip((self.ends, self.numbers, self.hashes), self.others, strict=True):
            file.write(buffer.tobytes())
            del buffer[:]


def _fields(example: Example | LongText) -> Iterable[Iterable[bytes]]:
    """Input, target and group in blocks, without what ends them."""
    return ((), example.blocks, ()) if isinstance(example, LongText) else ([part[:-1]] for part in example.content())


def _place(example: Example | LongText) -> tuple[tuple[str, ...], int]:
    """The files of an example and its line; below 0 the number of a row that its file is called by."""
    name, _, row = example.files[0].rpartition(" ") if len(example.files) == 1 else ("", "", "")
    if example.number == 0 and row.isascii() and row.isdecimal() and row[0] != "0":
        return (name,), -int(row)
    return example.files, example.number
