"""Vectors that the words of a new model start from: those of a file, or learned from the run's own texts."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.data.formats import vector_files
from saccade.data.tokenizers import Tokenizer
from saccade.errors import UsageError
from saccade.layers import skip_gram

SECONDS = 10.0  # between two lines that tell how far it is

Note = Callable[[str], None]
Rows = Iterable[Sequence[int]]


def start(model: Any, tokenizer: Tokenizer, config: Any, rows: Callable[[], Rows], note: Note) -> None:
    """Put them into the model; words that have none keep what chance gave them. `rows` makes the words of each text."""
    weight: Tensor = (model if hasattr(model, "embedding") else model.encoder).embedding.weight
    if getattr(model.config, "features", "vectors") == "binary":
        raise UsageError("reader.vectors: binary features have no vectors; expected model.features=vectors, or leave it out")
    words, special = tokenizer.tokens(), set(tokenizer.vocabulary.special)
    if config.vectors == "skip_gram":
        texts = [[word for word in row if word not in special] for row in rows()]
        settings = skip_gram.Config(width=weight.shape[1], epochs=config.vector_epochs, seed=torch.initial_seed())
        learned = skip_gram.learn(texts, len(words), settings, progress(note))
        places = learned.abs().sum(1) > 0
        with torch.no_grad():
            weight[: len(words)][places] = learned[places]
        note(f"skip-gram: vectors of {int(places.sum()):,} of {len(words) - len(special):,} words")
        return
    spellings, read = vector_files.read(Path(config.vectors), _spellings(words))
    if read.shape[1] != weight.shape[1]:
        problem = f"its vectors have size {read.shape[1]}, the model's {weight.shape[1]}"
        raise UsageError(f"reader.vectors: {config.vectors}: {problem}; set model.embedding_size={read.shape[1]}")
    place = {word: number for number, word in enumerate(spellings)}
    rows_of = {number: place.get(word, place.get(word.lower(), -1)) for number, word in enumerate(words)}
    known_rows = {number: row for number, row in rows_of.items() if row >= 0 and number not in special}
    with torch.no_grad():
        weight[list(known_rows)] = torch.from_numpy(read)[list(known_rows.values())]
    note(f"{config.vectors}: vectors of {len(known_rows):,} of {len(words) - len(special):,} words")


def _spellings(words: Sequence[str]) -> set[str]:
    """The words, and how they are written small."""
    return {*words, *(word.lower() for word in words)}


def progress(note: Note) -> Callable[[int, int, float], None]:
    """Tells now and then how far the vectors are."""
    spoken = [time.monotonic()]

    def report(done: int, total: int, loss: float) -> None:
        if time.monotonic() - spoken[0] >= SECONDS:
            spoken[0] = time.monotonic()
            note(f"vectors of words: {done:,} of {total:,} words read · loss {loss:.4f}")

    return report
