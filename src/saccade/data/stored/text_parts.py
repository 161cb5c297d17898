"""Texts that a tokenizer is learned from, of very many a share, and the name of what is learned from stored ones."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from saccade.data.stored.preparations import name_of
from saccade.data.stored.running_texts import Pieces
from saccade.data.stored.stored_examples import StoredTexts


class TextParts:
    """Texts of several sources, one after the other, read anew each time."""

    def __init__(self, *parts: Iterable[str]) -> None:
        self.parts = parts

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts)


def are_stored(texts: Iterable[str]) -> bool:
    """Whether some of these texts are stored."""
    return any(map(are_stored, texts.parts)) if isinstance(texts, TextParts) else isinstance(texts, StoredTexts | Pieces)


def spread(texts: Iterable[str], most: int) -> Iterable[str]:
    """These texts; of more than `most` stored ones about so many, drawn from all over them, always the same."""
    every = -(-_count(texts) // most)
    return _drawn(texts, every) if every > 1 else texts


def _count(texts: Iterable[str]) -> int:
    """How many of these texts are stored."""
    if isinstance(texts, TextParts):
        return sum(map(_count, texts.parts))
    return len(texts) if isinstance(texts, StoredTexts) else 0


def _drawn(texts: Iterable[str], every: int) -> Iterable[str]:
    """One text of each so many that follow each other: any of them, since texts may alternate."""
    if isinstance(texts, TextParts):
        return TextParts(*(_drawn(part, every) for part in texts.parts))
    if not isinstance(texts, StoredTexts):
        return texts
    starts = np.arange(0, len(texts), every)
    places = starts + np.random.default_rng(0).integers(every, size=len(starts))
    return StoredTexts(texts.examples[places[places < len(texts)]], texts.field)


def name_of_learned(texts: Iterable[str], *facts: Any) -> str:
    """The name of the tokenizer of these texts, which depends on these facts, too."""
    return name_of("tokenizer", _content(texts), *facts)


def _content(texts: Iterable[str]) -> Any:
    if isinstance(texts, TextParts):
        return [_content(part) for part in texts.parts]
    return texts.name() if isinstance(texts, StoredTexts | Pieces) else list(texts)
