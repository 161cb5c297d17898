"""A text of any length through a language model: windows overlap, so that every token is scored once and late enough."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch

from saccade import inputs
from saccade.data.tokenizers import Tokenizer
from saccade.errors import DataError, UsageError
from saccade.evaluation.likelihood import Likelihood

CHUNK = 1 << 16  # letters that are read at once
BUDGET = 8192  # tokens of a batch

Window = tuple[list[int], int]  # tokens, of which the last so many are scored


@contextmanager
def opened(text: str | Path) -> Iterator[IO[str]]:
    """A text, or that of a file, to be read in parts."""
    if isinstance(text, str):
        yield io.StringIO(text, newline="")
        return
    try:
        with inputs.opened(text) as file:
            yield io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    except OSError as error:
        raise DataError(f"{text}: cannot be read ({error.strerror}); name a text") from None
    except UnicodeDecodeError:
        raise DataError(f"{text}: not UTF-8; convert it first, with iconv for example") from None


def chunks(file: IO[str], size: int = CHUNK) -> Iterator[str]:
    """A text in parts whose tokens, one part after the other, are those of the whole: cut between a word and white space."""
    rest = ""
    while part := file.read(size):
        before, rest = len(rest), rest + part
        ends = (place for place in range(len(rest) - 1, max(before, 1) - 1, -1) if rest[place] in " \n")
        if place := next((place for place in ends if rest[place - 1].isalnum()), 0):
            yield rest[:place].replace("\r\n", "\n")
            rest = rest[place:]
    if rest:
        yield rest.replace("\r\n", "\n")


def windows(tokens: Iterable[int], first: int, context_length: int, stride: int) -> Iterator[Window]:
    """Each token once among the last of a window, after all that the context holds, at least its length − stride."""
    held, fresh = [first], 0
    for token in tokens:
        held.append(token)
        fresh += 1
        if len(held) > context_length:
            yield held, fresh
            held, fresh = held[stride:], 0
    if fresh:
        yield held, fresh


def likelihood(
    model: Any,
    tokenizer: Tokenizer,
    texts: Iterable[str],
    context_length: int,
    stride: int | None,
    tick: Callable[[int], None] = lambda done: None,
) -> Likelihood:
    """The loss of a text that comes in parts, after the end token of another; `tick` hears of the bytes read so far."""
    step = max(1, context_length // 2) if stride is None else stride
    if not 1 <= step <= context_length:
        raise UsageError(f"stride: expected 1 to {context_length} (the context), got {step}")
    sizes = {"tokens": 0, "words": 0, "bytes": 0, "unknown": 0}

    def tokens() -> Iterator[int]:
        for text in texts:
            ids = tokenizer.encode(text)
            sizes["tokens"] += len(ids)
            sizes["words"] += len(text.split())
            sizes["bytes"] += len(text.encode())
            sizes["unknown"] += sum(index == tokenizer.vocabulary.unknown for index in ids)
            yield from ids
            tick(sizes["bytes"])

    total, most, batch = 0.0, max(1, BUDGET // context_length), list[Window]()
    for window in windows(tokens(), tokenizer.vocabulary.end, context_length, step):
        if batch and (len(batch) == most or _size(batch[0]) != _size(window)):
            total += _loss(model, batch)
            batch = []
        batch.append(window)
    if not batch:
        raise DataError("expected a text, got an empty one")
    return Likelihood(total + _loss(model, batch), **sizes)


def _size(window: Window) -> tuple[int, int]:
    return len(window[0]), window[1]


@torch.inference_mode()
def _loss(model: Any, batch: Sequence[Window]) -> float:
    """Summed over the last tokens of windows of one length."""
    device = next(model.parameters()).device
    rows = torch.tensor([row for row, _ in batch], device=device)
    return float(model.eval().loss_of_last(rows, batch[0][1]))
