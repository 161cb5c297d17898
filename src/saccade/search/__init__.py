"""Search: from a writer and something to look at, the texts. Greedy, beam and sampling; they know only start, step, select.

Letters: B inputs, W hypotheses of each, V vocabulary.
"""

from collections.abc import Collection, Sequence
from typing import Any

import torch

from saccade.errors import UsageError
from saccade.search.beam import beam
from saccade.search.candidates import Choose
from saccade.search.config import Config
from saccade.search.forced import Forced, forced
from saccade.search.greedy import greedy
from saccade.search.hypothesis import Hypothesis, HypothesisLook
from saccade.search.loop import walk
from saccade.search.protocol import Glance, Keys, State, Step, StepLook, Writer, each
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
    start: int | Sequence[int],
    end: int,
    banned: Collection[int] = (),
    looks: bool = False,
    positions: Sequence[int] | None = None,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The `config.n_best` texts of each input, best first; fewer, or none, where a writer leaves no more open.

    A text begins after the token `start`, one for all or one for each input, and closes with `end`; neither is part of it.
    `banned` ids are never written. What an input gets does not depend on the inputs beside it. For sampling, its random
    numbers belong to `config.seed` and to its position: its index here, or `positions` (its line in a file, say), so that a
    file cut into other batches gives the same texts. Texts that were stopped by the length limit rank by their score among
    the others. `looks` asks for the weights along every text. `device` is where the writer reads its first tokens.
    """
    if end in banned:
        raise UsageError(f"banned: expected ids other than the end, {end}, which a text needs; got {sorted(banned)}")
    positions = range(inputs) if positions is None else positions
    if len(positions) != inputs:
        raise UsageError(f"positions: expected {inputs}, one for each input, got {len(positions)}")
    starts = torch.tensor(each(start, inputs, "start"), device=device)
    if inputs == 0:
        return []
    choose, width = _method(config, positions)
    history, endings = walk(
        writer, memory, config, choose, width=width, starts=starts, end=end, banned=frozenset(banned), looks=looks
    )
    return history.hypotheses(endings, end)


def _method(config: Config, positions: Sequence[int]) -> tuple[Choose, int]:
    """How hypotheses go on, and how many of each input are followed at once."""
    if config.method == "greedy":
        return greedy, 1
    if config.method == "beam":
        return beam(config.beam), config.beam
    return sampling(config, positions), config.n_best
