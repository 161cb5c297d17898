"""Perplexity in windows that overlap: what a direct computation gives, and a text in parts is the whole text."""

import gzip
import io
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.data import tokenizers
from saccade.data.examples import Example, Splits
from saccade.errors import DataError, UsageError
from saccade.writers.strided_windows import chunks, likelihood, opened, windows
from tests import made_tasks

SIZES = ("model.hidden_size=16", "model.num_layers=2", "model.num_heads=2", "writer.context_length=8", "tokens.kind=char")
TEXT = "to be or not to be, that is the question: whether 't is nobler\n\n in the  mind to suffer 你好 ünd so\r\nfort"


@pytest.mark.parametrize(
    ("count", "context", "stride"), [(20, 8, 4), (20, 8, 1), (20, 8, 8), (3, 8, 4), (8, 8, 3), (9, 8, 3)]
)
def test_every_token_is_scored_once_and_late_enough(count: int, context: int, stride: int) -> None:
    scored: list[int] = []
    for held, fresh in windows(range(1, count + 1), 0, context, stride):
        assert len(held) <= context + 1
        for place in range(len(held) - fresh, len(held)):
            assert held[:place] == list(range(held[place] - place, held[place]))
            assert place >= min(held[place], context - stride)
        scored += held[-fresh:]
    assert scored == list(range(1, count + 1))


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_tokens_of_the_parts_are_those_of_the_whole(kind: Any, size: int) -> None:
    tokenizer = tokenizers.train([TEXT], tokenizers.Config(kind=kind, size=300))
    parts = list(chunks(io.StringIO(TEXT, newline=""), size))
    assert len(parts) > 2
    whole = TEXT.replace("\r\n", "\n")
    assert "".join(parts) == whole
    assert [index for part in parts for index in tokenizer.encode(part)] == tokenizer.encode(whole)
    assert sum(len(part.split()) for part in parts) == len(whole.split())


@pytest.mark.parametrize("stride", [None, 1, 3, 8])
def test_it_is_what_a_direct_computation_gives(stride: int | None) -> None:
    task = made_tasks.fitted("gpt2", Splits([Example("", TEXT)], [], []), *SIZES)
    model = made_tasks.model("gpt2", task, *SIZES, seed=3, loud=4.0)
    tokenizer, step = task.reader.tokenizer, stride or 4
    parts = list(chunks(io.StringIO(TEXT, newline=""), 30))
    whole = "".join(parts)
    row = [tokenizer.vocabulary.end, *tokenizer.encode(whole)]
    losses = []
    with torch.no_grad():
        for place in range(1, len(row)):
            first = 0 if place <= 8 else math.ceil((place - 8) / step) * step
            seen = torch.tensor([row[first:place]])
            losses.append(-float(model.prefill(seen, model.start(1)).log_probs[0, 0, row[place]]))
    told: list[int] = []
    found = likelihood(model, tokenizer, parts, 8, stride, told.append)
    assert (found.tokens, found.words, found.bytes) == (len(row) - 1, len(whole.split()), len(whole.encode()))
    assert found.loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4)
    assert len(told) == len(parts) > 2
    assert told[-1] == found.bytes


@pytest.mark.parametrize("stride", [0, 9])
def test_a_stride_beyond_the_context_is_refused(stride: int) -> None:
    task = made_tasks.fitted("gpt2", Splits([Example("", TEXT)], [], []), *SIZES)
    with pytest.raises(UsageError, match=rf"stride: expected 1 to 8 \(the context\), got {stride}"):
        likelihood(None, task.reader.tokenizer, [TEXT], 8, stride)
    with pytest.raises(DataError, match="expected a text, got an empty one"):
        likelihood(None, task.reader.tokenizer, [], 8, None)


def test_a_file_is_read_as_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    for given in (tmp_path / "a.txt", tmp_path / "a.txt.gz", TEXT):
        with opened(given) as file:
            assert file.read() == TEXT
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    for name, problem in (("bad.txt", "not UTF-8"), ("none.txt", "cannot be read")):
        with pytest.raises(DataError, match=problem), opened(tmp_path / name) as file:
            file.read()
