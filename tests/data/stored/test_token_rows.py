"""Token ids of stored texts are those of the texts, made once for each tokenizer."""

from pathlib import Path
from typing import Any

import pytest

from saccade.data import tokenizers
from saccade.data.examples import Example
from saccade.data.stored import store_files
from saccade.data.stored.stored_examples import Store, StoredExamples
from saccade.data.stored.token_rows import rows_of
from saccade.data.tokenizers import Config

from .stores import everything_is_large

TEXTS = [f"<de> Ein Satz, der {'lang ' * n}ist\n{n}" for n in range(11)]
KINDS: list[Any] = ["char", "word", "bpe"]


def stored(folder: Path) -> StoredExamples:
    folder.mkdir()
    store_files.write(folder, [Example(text, "x", files=("a",), number=1) for text in TEXTS], [], [])
    return StoredExamples(Store(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_texts(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    texts = stored(tmp_path / "store").inputs
    tokenizer = tokenizers.train(texts, Config(kind=kind, size=300))
    assert tokenizer.text() == tokenizers.train(TEXTS, Config(kind=kind, size=300)).text()
    expected = tokenizer.encode_batch(TEXTS)
    assert list(rows_of(texts, tokenizer, tokenizer.encode_batch)) == expected
    assert list(rows_of(texts, tokenizer, lambda texts: pytest.fail("encoded again"))) == expected
    assert list(rows_of(texts[3:8], tokenizer, tokenizer.encode_batch)) == expected[3:8]
    other = tokenizers.train(TEXTS[:2], Config(kind=kind, size=290))
    assert list(rows_of(texts, other, other.encode_batch)) == other.encode_batch(TEXTS)
    assert list(rows_of(texts, tokenizer, lambda texts: [[1]] * len(texts), "else")) == [[1]] * len(TEXTS)
