"""How likely a text is to a language model: per token, and per word and byte, which can be compared between tokenizers."""

import math
from dataclasses import dataclass
from typing import Any

from saccade.evaluation.text_scores import perplexity


@dataclass(frozen=True)
class Likelihood:
    """The summed loss of a text, in nats, and how much text it is."""

    total: float
    tokens: int
    words: int
    "Runs of letters between white space."
    bytes: int
    "In UTF-8."
    unknown: int = 0
    "Tokens that the model does not know; with them, figures per word and byte are too good."

    @property
    def loss(self) -> float:
        """Nats per token."""
        return self.total / self.tokens

    @property
    def perplexity(self) -> float:
        """Per token."""
        return perplexity(self.loss)

    @property
    def word_perplexity(self) -> float:
        """Per word, whatever the tokens are."""
        return perplexity(self.total / max(1, self.words))

    @property
    def bits_per_byte(self) -> float:
        """Bits that the text would take per byte of it."""
        return self.total / max(1, self.bytes) / math.log(2)

    def table(self) -> dict[str, Any]:
        """All figures by name."""
        sizes = {"tokens": self.tokens, "words": self.words, "bytes": self.bytes, "unknown": self.unknown}
        scores = {"loss": self.loss, "perplexity": self.perplexity, "word_perplexity": self.word_perplexity}
        return {**sizes, **scores, "bits_per_byte": self.bits_per_byte}

    def __str__(self) -> str:
        rows = {
            "perplexity": f"{self.perplexity:.3f} per token, {self.word_perplexity:.3f} per word",
            "loss": f"{self.loss:.4f} nats per token, {self.bits_per_byte:.4f} bits per byte",
            "text": f"{self.tokens:,} tokens, {self.words:,} words, {self.bytes:,} bytes",
        }
        unknown = {"unknown": f"{self.unknown:,} tokens, so that figures per word and byte are too good"}
        return "\n".join(f"{name:10}  {row}" for name, row in (rows | (unknown if self.unknown else {})).items())
