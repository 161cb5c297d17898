"""Greedy search: the most likely next token, every time."""

from torch import Tensor

from saccade.search.candidates import Candidates, best


def greedy(active: Tensor, totals: Tensor, log_probs: Tensor, ids: range) -> Candidates:
    """The best candidate of each input."""
    return best(totals, log_probs, ids, 1)
