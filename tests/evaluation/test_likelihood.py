"""Likelihood of a text, per token, word and byte."""

import math

import pytest

from saccade.evaluation.likelihood import Likelihood


def test_figures_are_per_token_word_and_byte() -> None:
    one = Likelihood(total=60.0, tokens=40, words=10, bytes=50)
    assert one.loss == 1.5
    assert one.perplexity == pytest.approx(math.exp(1.5))
    assert one.word_perplexity == pytest.approx(math.exp(6))
    assert one.bits_per_byte == pytest.approx(60 / 50 / math.log(2))
    assert one.table()["bits_per_byte"] == one.bits_per_byte
    assert str(one).splitlines() == [
        "perplexity  4.482 per token, 403.429 per word",
        "loss        1.5000 nats per token, 1.7312 bits per byte",
        "text        40 tokens, 10 words, 50 bytes",
    ]
    assert "7 tokens, so that" in str(Likelihood(60.0, 40, 10, 50, 7))
