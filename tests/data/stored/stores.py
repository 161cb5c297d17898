"""Stored examples of small files: what is large is only a matter of a number."""

from pathlib import Path

import pytest

from saccade.data.stored import running_texts, store_files, stored_examples, token_rows, token_stream


def everything_is_large(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """From now on all files are prepared, in this cache."""
    monkeypatch.setenv("SACCADE_CACHE", str(cache))
    monkeypatch.setattr(stored_examples, "LARGE", 0)
    monkeypatch.setattr(stored_examples, "TOGETHER", 3)
    monkeypatch.setattr(store_files, "TOGETHER", 3)
    monkeypatch.setattr(token_rows, "FEW", 0)
    monkeypatch.setattr(token_rows, "TOGETHER", 4)
    monkeypatch.setattr(running_texts, "PIECE", 7)
    monkeypatch.setattr(running_texts, "BLOCK", 5)
    monkeypatch.setattr(token_stream, "TOGETHER", 20)
