"""A text as it is decided, piece by piece: never a part of a character, nothing of a stop string, and why it ended."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import torch

from saccade.data.tokenizers import Tokenizer

Ended = Literal["", "end", "stop", "length", "context"]
TORN = "\N{REPLACEMENT CHARACTER}"


class TextStream:
    """Pieces of a text. After the last, `ended` says why: the end token, a stop string, or a limit of so many tokens, that
    of the search (length) or of the context.

    A piece that may be the beginning of a stop string waits for the next; the stop string itself is never given.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        tokens: Iterable[Sequence[int]],
        *,
        limit: int,
        at_limit: Ended = "length",
        stop: Sequence[str] = (),
    ) -> None:
        self.ended: Ended = ""
        self._count, self._limit, self._at_limit, self._stop = 0, limit, at_limit, stop
        self._pieces = self._stopped(decoded(tokenizer, self._counted(tokens)))

    def __iter__(self) -> "TextStream":
        return self

    def __next__(self) -> str:
        with torch.inference_mode():  # whoever reads them is not in it in between
            return next(self._pieces)

    def _counted(self, tokens: Iterable[Sequence[int]]) -> Iterator[Sequence[int]]:
        for new in tokens:
            self._count += len(new)
            yield new
        self.ended = self._at_limit if self._count >= self._limit else "end"

    def _stopped(self, pieces: Iterable[str]) -> Iterator[str]:
        held = ""
        for piece in pieces:
            held += piece
            place = stop_place(held, self._stop)
            size = len(held) - _begun(held, self._stop) if place is None else place
            if size:
                yield held[:size]
            held = held[size:]
            if place is not None:
                self.ended = "stop"
                return
        if held:
            yield held


def stop_place(text: str, stop: Sequence[str]) -> int | None:
    """Where the stop string begins that is the first to be complete; None where none is."""
    found = [(place + len(one), place) for one in stop if (place := text.find(one)) >= 0]
    return min(found)[1] if found else None


def _begun(text: str, stop: Sequence[str]) -> int:
    """How many letters at the end may be the beginning of a stop string."""
    most = min(len(text), max((len(one) - 1 for one in stop), default=0))
    sizes = (size for size in range(most, 0, -1) if any(one.startswith(text[-size:]) for one in stop))
    return next(sizes, 0)


def stopped_tokens(tokenizer: Tokenizer, ids: Sequence[int], stop: Sequence[str]) -> int | None:
    """How many tokens there are when a stop string is complete; None where none is."""
    if stop_place(tokenizer.decode(ids), stop) is None:
        return None
    sizes = range(len(ids) + 1)
    return bisect_left(sizes, True, key=lambda size: stop_place(tokenizer.decode(ids[:size]), stop) is not None)


def decoded(tokenizer: Tokenizer, pieces: Iterable[Sequence[int]]) -> Iterator[str]:
    """Text piece by piece; a character whose bytes have not all come waits for them."""
    ids: list[int] = []
    text = sent = ""
    for new in pieces:
        ids += new
        text = tokenizer.decode(ids)
        if len(text) > len(sent) and not text.endswith(TORN):
            yield text[len(sent) :]
            sent = text
    if len(text) > len(sent):  # bytes that never became a character
        yield text[len(sent) :]
