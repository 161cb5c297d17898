"""Vectors of words in files: the text form of word2vec, also gzipped.

A line is a word and its numbers, with spaces between; the first line may say how many words and how many numbers follow.
"""

import gzip
import itertools
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError, UsageError
from saccade.inputs import lines, opened

Vectors = NDArray[np.float32]
FORM = "expected a word and its numbers"
DIGITS = 10  # of a count that a first line tells, fewer than these


def read(path: Path, wanted: Collection[str] | None = None) -> tuple[list[str], Vectors]:
    """The words of a file, or those that are wanted, and their vectors (words, width); of a repeated word the first."""
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{path}: {FORM} on each line, got an empty file")
    header = first[1].split()
    headed = len(header) == 2 and all(part.isdecimal() and len(part) < DIGITS for part in header)
    width = int(header[1]) if headed else len(header) - 1
    vectors: dict[str, Vectors] = {}
    for number, line in rows if headed else itertools.chain([first], rows):
        # From the right: some files have words with spaces in them.
        word, *numbers = line.rsplit(" ", width) if width else [line]
        if width < 1 or len(numbers) != width or not word:
            got = max(len(line.split()) - 1, 0)
            raise DataError(f"{path}:{number}: {FORM}, {max(width, 1)} of them, got {got}; mend the line")
        if word not in vectors and (wanted is None or word in wanted):
            vectors[word] = _vector(numbers, path, number)
    return list(vectors), np.stack(list(vectors.values())) if vectors else np.zeros((0, width), dtype=np.float32)


def _vector(numbers: Sequence[str], path: Path, number: int) -> Vectors:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path}:{number}: {FORM}, got what is none ({error}); mend the line") from None
    if not np.isfinite(vector).all():
        raise DataError(f"{path}:{number}: expected finite numbers, got NaN or infinity; mend the line")
    return vector


def _rows(path: Path) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; empty ones are passed over."""
    try:
        with opened(path, "name a text file of vectors") as file:
            for number, line in enumerate(lines(file, str(path)), 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip(" \r\n")
                if text:
                    yield number, text
    except UnicodeDecodeError:
        raise DataError(f"{path}:{number}: not UTF-8; expected vectors as text, not in word2vec's binary form") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read ({reason}); name a text file of vectors") from None


def write(path: Path, words: Sequence[str], vectors: Vectors) -> None:
    """The file of these words, in their order."""
    try:
        with gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w", encoding="utf-8") as file:
            file.write(f"{len(words)} {vectors.shape[1]}\n")
            for word, vector in zip(words, vectors, strict=True):
                file.write(f"{word} {' '.join(f'{number:.6g}' for number in vector.tolist())}\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); choose another file") from None


def nearest(word: str, words: Sequence[str], vectors: Vectors, count: int) -> list[tuple[str, float]]:
    """The words whose vectors point where this one's does, and the cosine of the angle between."""
    lengths = np.linalg.norm(vectors, axis=1)
    unit = vectors / np.where(lengths > 0, lengths, 1)[:, None]
    own = words.index(word)
    near = unit @ unit[own]
    order = np.argsort(-near, kind="stable")
    return [(words[place], float(near[place])) for place in order.tolist() if place != own][:count]
