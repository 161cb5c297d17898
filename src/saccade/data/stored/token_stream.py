"""The tokens of running text as one row of numbers in a mapped file, made once for each tokenizer."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from saccade.data.examples import digest
from saccade.data.stored.preparations import followed, prepared
from saccade.data.stored.ragged import flat, mapped, smallest
from saccade.data.stored.running_texts import RunningTexts
from saccade.data.tokenizers import Tokenizer

TOKENS = "tokens.bin"
TOGETHER = 1 << 19  # characters that are encoded at once

Part = tuple[str, bool]


def token_stream(texts: RunningTexts, tokenizer: Tokenizer) -> NDArray[Any]:
    """All texts one after the other, with the end token behind each."""
    name = texts.pieces.name("tokens", digest([tokenizer.text().encode()]))
    return mapped(prepared(name, partial(_write, texts, tokenizer)) / TOKENS, smallest(tokenizer.size))


def _write(texts: RunningTexts, tokenizer: Tokenizer, folder: Path) -> None:
    end, total = [tokenizer.vocabulary.end], sum(stop - start for start, stop in texts.spans())
    with (folder / TOKENS).open("wb") as file:
        for window in followed(_windows(texts, tokenizer.cuttable), "tokenizing text", total, _size):
            rows = tokenizer.encode_batch([part for part, _ in window])
            ended = [[*row, *end] if last else row for row, (_, last) in zip(rows, window, strict=True)]
            file.write(flat(ended)[0].astype(smallest(tokenizer.size)).tobytes())


def _windows(texts: RunningTexts, cut: bool) -> Iterator[list[Part]]:
    """The parts of texts, some at a time."""
    window: list[Part] = []
    size = 0
    for part in texts.parts(cut=cut):
        window.append(part)
        size += len(part[0])
        if size >= TOGETHER:
            yield window
            window, size = [], 0
    if window:
        yield window


def _size(window: list[Part]) -> int:
    return sum(len(part.encode("utf-8", "surrogatepass")) for part, _ in window)
