"""Search: from a writer and something to look at, the texts. Greedy, beam and sampling; they know only start, step, select.

Letters: B inputs, W hypotheses of each, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch

from saccade.data.tokenizers import START
from saccade.errors import UsageError
from saccade.search.beam import beam
from saccade.search.candidates import Choose
from saccade.search.config import Config
from saccade.search.forced import Forced, forced
from saccade.search.greedy import greedy
from saccade.search.hypothesis import Hypothesis, HypothesisLook
from saccade.search.loop import walk
from saccade.search.protocol import Glance, Keys, State, Step, StepLook, Writer
from saccade.search.sampling import sampling

__all__ = [
    "Config",
    "Forced",
    "Glance",
    "Hypothesis",
    "HypothesisLook",
    "Keys",
    "State",
    "Step",
    "StepLook",
    "Writer",
    "forced",
    "search",
]


def search(
    writer: Writer,
    memory: Any,
    config: Config,
    *,
    inputs: int,
    looks: bool = False,
    positions: Sequence[int] | None = None,
    first: Sequence[int] | None = None,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The `config.n_best` texts of each input, best first; fewer, or none, where a writer leaves no more open.

    What an input gets does not depend on the inputs beside it. For sampling, its random numbers belong to `config.seed` and
    to its position: its index here, or `positions` (its line in a file, say), so that a file cut into other batches gives
    the same texts. PAD and START are never written. Texts that were stopped by the length limit rank by their score among
    the others. `looks` asks for the weights along every text. `first` is what each writer starts from, if not START; it is
    not part of a text. `device` is where the writer reads its first tokens.
    """
    positions = range(inputs) if positions is None else positions
    if len(positions) != inputs:
        raise UsageError(f"positions: expected {inputs}, one for each input, got {len(positions)}")
    if inputs == 0:
        return []
    starts = torch.tensor(_starts(first, inputs), device=device)
    choose, width = _method(config, positions)
    history, endings = walk(writer, memory, config, choose, width=width, starts=starts, looks=looks)
    return history.hypotheses(endings)


def _starts(first: Sequence[int] | None, inputs: int) -> Sequence[int]:
    """The token before the first of each input."""
    if first is not None and len(first) != inputs:
        raise UsageError(f"first: expected {inputs}, one for each input, got {len(first)}")
    return [START] * inputs if first is None else first


def _method(config: Config, positions: Sequence[int]) -> tuple[Choose, int]:
    """How hypotheses go on, and how many of each input are followed at once."""
    if config.method == "greedy":
        return greedy, 1
    if config.method == "beam":
        return beam(config.beam), config.beam
    return sampling(config, positions), config.n_best
