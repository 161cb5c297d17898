"""How to search: the method, and what it may spend."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from saccade.config import Amount, Count, Positive, Rate
from saccade.errors import UsageError

MOST = 1000  # hypotheses of one input: wider beams were never of use (Koehn and Knowles 2017), and fill the memory
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")
METHODS = {"beam": "beam", **dict.fromkeys(SAMPLING, "sample")}  # keys of one method alone

Hypotheses = Annotated[int, Gt(0), Le(MOST)]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of search; greedy by default."""

    method: Literal["greedy", "beam", "sample"] = "greedy"
    """Take the best next token, follow several texts at once, or draw tokens at random."""
    beam: Hypotheses = 4
    """How many open hypotheses of each input beam search follows; 1 is greedy search."""
    n_best: Hypotheses = 1
    """How many hypotheses of each input are returned, best first; for `sample`, how many are drawn."""
    length_penalty: Amount = 1.0
    """Hypotheses rank by log_prob / length ** length_penalty, the end counted: 0 is the plain sum, 1 the mean per token."""
    max_length: Positive = 200
    """How many tokens are written at most, the end token counted."""
    temperature: Rate = 1.0
    """Sampling divides log-probabilities by this: below 1 is bolder, above 1 is flatter."""
    top_k: Count = 0
    """Sampling draws among this many of the likeliest tokens; 0 is all."""
    top_p: Annotated[float, Gt(0), Le(1)] = 1.0
    """Sampling draws among the likeliest tokens that together reach this probability, after temperature and top_k."""
    min_p: Annotated[float, Ge(0), Le(1)] = 0.0
    """Sampling draws no token that is less likely than this share of the likeliest, after temperature; 0 is any."""
    repetition_penalty: Rate = 1.0
    """Sampling multiplies the log-probability of tokens by this that stand in the text or its prompt already; above 1
    repeats less."""
    seed: Count = 0
    """Where the random numbers of sampling start."""

    def __post_init__(self) -> None:
        if self.method == "greedy" and self.n_best > 1:
            raise UsageError(f"n_best: greedy search writes 1 hypothesis, got {self.n_best}; choose method beam or sample")
        if self.method == "beam" and self.n_best > self.beam:
            raise UsageError(f"n_best: expected at most beam ({self.beam}), got {self.n_best}; widen beam or ask for fewer")

    def heed(self, given: Iterable[str]) -> None:
        """Refuse keys that were given and have no effect on this method."""
        for key in given:
            wanted = METHODS.get(key, self.method)
            if wanted != self.method:
                raise UsageError(f"search.{key}: says nothing to search.method={self.method}; add search.method={wanted}")
