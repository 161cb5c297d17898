"""Vectors of words: learned from texts and written, or asked which words are near each other."""

import json
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.cli import streams
from saccade.cli.verbs import decoded
from saccade.data import tokenizers
from saccade.data.formats import vector_files
from saccade.data.tokenizers import SPECIALS
from saccade.errors import DataError, UnknownName, UsageError
from saccade.inputs import lines, opened
from saccade.layers import skip_gram
from saccade.readers.word_vectors import progress

MOST = 1_000_000  # words that are learned


def make(
    files: Sequence[Path],
    out: Path | None,
    *,
    width: int,
    window: int,
    epochs: int,
    min_count: int,
    lower: bool,
    seed: int,
    machine: bool,
) -> None:
    """Learn vectors from the lines of these files, and write them."""
    if out is None:
        raise UsageError("vectors: expected --out FILE to learn vectors, or --near WORD to ask a file of them; add one")
    texts = [line for file in files for line in _lines(file)]
    words = tokenizers.train(texts, tokenizers.Config(kind="word", size=MOST, min_count=min_count, lower=lower))
    rows = [[word for word in row if word >= len(SPECIALS)] for row in words.encode_batch(texts)]
    config = skip_gram.Config(width=width, window=window, epochs=epochs, seed=seed)
    started = time.monotonic()
    learned = skip_gram.learn(rows, words.size, config, progress(_note))
    seconds = time.monotonic() - started
    vector_files.write(out, words.tokens()[len(SPECIALS) :], learned.numpy()[len(SPECIALS) :])
    read = epochs * sum(map(len, rows))
    facts = {"file": str(out), "words": words.size - len(SPECIALS), "width": width, "read": read, "seconds": seconds}
    if machine:
        print(json.dumps(facts))
    else:
        print(f"{out}: vectors of {facts['words']:,} words; {read:,} words read in {seconds:.0f} s", file=sys.stderr)


def near(files: Sequence[Path], word: str, count: int, *, machine: bool) -> None:
    """Print the words whose vectors are nearest to that of this word, with the cosine."""
    if len(files) != 1:
        raise UsageError(f"--near: expected one file of vectors, got {len(files)}; name one")
    words, vectors = vector_files.read(files[0])
    if word not in words:
        raise UnknownName("word", word, words)
    streams.as_utf8()
    for other, cosine in vector_files.nearest(word, words, vectors, count):
        print(json.dumps({"word": other, "cosine": cosine}) if machine else f"{cosine:6.3f}  {other}")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _lines(file: Path) -> Iterator[str]:
    try:
        with opened(file, "name text files, or .gz of them") as stream:
            yield from decoded(lines(stream, str(file)), str(file))
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{file}: cannot be read ({reason}); name text files, or .gz of them") from None
