"""Dropout of words: so many as asked for, in training only."""

import torch

from saccade.layers.dropout import WordDropout

WORDS = torch.arange(4, 10_004).view(100, 100)


def test_so_many_words_are_read_as_unknown() -> None:
    torch.manual_seed(0)
    read = WordDropout(0.2, 3).train()(WORDS)
    changed = read != WORDS
    assert (read[changed] == 3).all()
    assert 0.18 < changed.float().mean().item() < 0.22


def test_none_is_when_it_counts_or_none_is_asked_for() -> None:
    assert torch.equal(WordDropout(0.5, 3).eval()(WORDS), WORDS)
    assert torch.equal(WordDropout(0.0, 3).train()(WORDS), WORDS)
