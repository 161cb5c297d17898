"""Token ids of texts: in memory, or of stored texts in mapped files, made once for each tokenizer."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from saccade.data.batches import Integers
from saccade.data.examples import digest
from saccade.data.stored.preparations import followed, prepared
from saccade.data.stored.ragged import Ragged, flat, write
from saccade.data.stored.stored_examples import FIELDS, StoredTexts
from saccade.data.tokenizers import TOGETHER, Tokenizer

FEW = 10_000  # texts up to which ids stay in memory

Encode = Callable[[Sequence[str]], Sequence[Sequence[int]]]


def rows_of(texts: Sequence[str], tokenizer: Tokenizer, encode: Encode, *facts: Any, limit: int = 0) -> Ragged:
    """The ids that `encode` gives of texts, one row of each or several, which depend on the tokenizer and on these facts;
    `limit`: below what all numbers are, if not all of them are ids."""
    if not isinstance(texts, StoredTexts) or len(texts) <= FEW:
        return Ragged.of(encode(list(texts)))
    stored = texts

    def make(folder: Path) -> None:
        write(folder, _windows(stored, encode), max(limit, tokenizer.size))

    return Ragged.opened(prepared(texts.name("ids", digest([tokenizer.text().encode()]), *facts), make))


def _windows(texts: StoredTexts, encode: Encode) -> Iterator[tuple[Integers, Integers]]:
    """Ids and lengths, some texts at a time."""
    starts = range(0, len(texts), TOGETHER)
    for start in followed(starts, f"tokenizing {FIELDS[texts.field]}s", len(texts), lambda start: TOGETHER):
        yield flat(encode(list(texts[start : start + TOGETHER])))
