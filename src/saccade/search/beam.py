"""Beam search: the W most likely open texts of each input, side by side.

Each step takes the 2W best of the W·V candidates: those that end go to the finished texts, and the best W of the others
stay open, so that a beam is never used up by endings. An input is done when no open text can still reach its n best.
"""

from torch import Tensor

from saccade.search.candidates import Candidates, Choose, best
from saccade.search.greedy import greedy


def beam(width: int) -> Choose:
    """The candidates of a beam of this width. A beam of one is greedy search: it ends where its only text ends."""

    def choose(active: Tensor, totals: Tensor, log_probs: Tensor, ids: range) -> Candidates:
        return best(totals, log_probs, ids, 2 * width)

    return greedy if width == 1 else choose
