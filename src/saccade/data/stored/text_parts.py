"""Texts that a tokenizer is learned from, one source after the other, and the name of what is learned from stored ones."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

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


def name_of_learned(texts: Iterable[str], *facts: Any) -> str:
    """The name of the tokenizer of these texts, which depends on these facts, too."""
    return name_of("tokenizer", _content(texts), *facts)


def _content(texts: Iterable[str]) -> Any:
    if isinstance(texts, TextParts):
        return [_content(part) for part in texts.parts]
    return texts.name() if isinstance(texts, StoredTexts | Pieces) else list(texts)
