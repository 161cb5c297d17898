"""Running text that is larger than memory: texts of any length in a store, in pieces that a tokenizer reads as the whole.

A piece ends only after a single newline between two characters that are not white space: no token, and no mark or word that
a tokenizer learns, lies across that place.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.batches import Integers
from saccade.data.examples import Example, digest
from saccade.data.stored.preparations import followed, name_of, prepared
from saccade.data.stored.store_files import END, TARGET
from saccade.data.stored.stored_examples import LAYOUT, StoredExamples

PIECE = 1 << 12  # bytes of a piece, or more where there is no place to cut; libraries take longer for larger ones
BLOCK = 1 << 22  # bytes that are looked at together
LONGEST = 4  # bytes of a character
FACTS = "facts.json"

Span = tuple[int, int]  # where a text begins and ends in its store


class RunningTexts(Sequence[Example]):
    """All texts of stored examples, or of each the part in its span."""

    def __init__(self, examples: StoredExamples, spans: Sequence[Span] | None = None, fingerprint: str = "") -> None:
        self.examples, self._spans = examples, spans
        self.fingerprint = fingerprint or examples.fingerprint

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: Any) -> Any:
        row = self.examples.places(np.array([range(len(self))[index]]))
        (span,) = _spans(self.examples, row) if self._spans is None else [self._spans[index]]
        files, _ = self.examples.store.origin(int(row[0]), int(self.examples.store.numbers[row[0]]))
        return Example("", self._text(*span), files=files)

    @property
    def inputs(self) -> list[str]:
        """Running text has none."""
        return [""] * len(self)

    @property
    def pieces(self) -> "Pieces":
        """All texts in pieces, one after the other."""
        return Pieces(self)

    def spans(self) -> Iterator[Span]:
        """Where each text stands."""
        if self._spans is not None:
            yield from self._spans
            return
        for rows in self.examples.windows():
            yield from _spans(self.examples, rows)

    def parts(self, *, cut: bool) -> Iterator[tuple[str, bool]]:
        """Every text in pieces, or whole, and of each whether it is its text's last."""
        for start, end in self.spans():
            places = [*(_cuts(self.examples.store.texts, start, end) if cut else ()), end]
            for place in places:
                yield self._text(start, place), place == end
                start = place

    def _text(self, start: int, end: int) -> str:
        return self.examples.store.text(start, end + len(END))


class Pieces:
    """The pieces of running text, read anew each time."""

    def __init__(self, texts: RunningTexts) -> None:
        self.texts = texts

    def __iter__(self) -> Iterator[str]:
        return (piece for piece, _ in self.texts.parts(cut=True))

    def name(self, *facts: Any) -> str:
        """The name of what is made from these texts and these facts."""
        return name_of("running-text", LAYOUT, self.texts.fingerprint, *facts)


def _spans(examples: StoredExamples, rows: Integers) -> list[Span]:
    return [(bounds[TARGET], bounds[TARGET + 1] - len(END)) for bounds in examples.store.bounds(rows)]


def _cuts(texts: memoryview, start: int, end: int) -> Iterator[int]:
    """Where pieces end, but the last."""
    place = start + PIECE
    while place < end:
        newlines = (place + found.start() for found in re.finditer(b"\n", texts[place : min(place + PIECE, end - 1)]))
        cut = next((newline + 1 for newline in newlines if _alone(texts, newline, start)), 0)
        if cut:
            yield cut
        place = (cut or place) + PIECE


def _alone(texts: memoryview, newline: int, start: int) -> bool:
    """Whether no white space stands beside a newline."""
    before = bytes(texts[max(newline - LONGEST, start) : newline]).decode(errors="ignore")[-1:]
    after = bytes(texts[newline + 1 : newline + 1 + LONGEST]).decode(errors="ignore")[:1]
    return bool(before.strip() and after.strip())


def ends_held_out(examples: StoredExamples, share: float) -> tuple[RunningTexts, RunningTexts]:
    """Of each text all but this last share of its characters, and this share; parts without text are left out."""
    name = name_of("held-out-ends", LAYOUT, examples.fingerprint, share)
    facts = json.loads((prepared(name, partial(_write_ends, examples, share)) / FACTS).read_text(encoding="utf-8"))
    return _with_spans(examples, *facts["train"]), _with_spans(examples, *facts["valid"])


def _with_spans(examples: StoredExamples, spans: Sequence[Span], fingerprint: str) -> RunningTexts:
    left = [number for number, (start, end) in enumerate(spans) if start < end]
    return RunningTexts(examples[np.array(left, dtype=np.int64)], [spans[number] for number in left], fingerprint)


def _write_ends(examples: StoredExamples, share: float, folder: Path) -> None:
    spans, texts = list(RunningTexts(examples).spans()), examples.store.texts
    what = followed(spans, "holding out the ends of texts", len(spans))
    cuts = [_after(texts, span, int(_characters(texts, span) * (1 - share))) for span in what]
    train = [(start, cut) for (start, _), cut in zip(spans, cuts, strict=True)]
    valid = [(cut, end) for (_, end), cut in zip(spans, cuts, strict=True)]
    facts = {name: (part, _fingerprint(texts, part)) for name, part in (("train", train), ("valid", valid))}
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")


def _fingerprint(texts: memoryview, spans: Sequence[Span]) -> str:
    """What `Splits.fingerprint_of` says of these texts in memory."""
    return digest(part for start, end in spans if start < end for part in (END, texts[start:end], END + END))


def _characters(texts: memoryview, span: Span) -> int:
    """How many characters stand there."""
    return sum(int(np.count_nonzero(begins)) for _, begins in _beginnings(texts, span))


def _after(texts: memoryview, span: Span, count: int) -> int:
    """The place after so many characters."""
    for place, begins in _beginnings(texts, span):
        own = np.flatnonzero(begins)
        if count < len(own):
            return place + int(own[count])
        count -= len(own)
    return span[1]


def _beginnings(texts: memoryview, span: Span) -> Iterator[tuple[int, Any]]:
    """Block by block: of each byte whether a character begins with it."""
    for start in range(span[0], span[1], BLOCK):
        yield start, np.frombuffer(texts[start : min(start + BLOCK, span[1])], np.uint8) & 0xC0 != 0x80
