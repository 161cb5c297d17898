"""Search: from a writer and something to look at, the texts. Greedy, beam and sampling; they know only start, step, select.

Letters: B inputs, W hypotheses of each, V vocabulary.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.errors import UsageError
from saccade.search.beam import beam
from saccade.search.candidates import Choose
from saccade.search.config import Config
from saccade.search.forced import Forced, forced
from saccade.search.greedy import greedy
from saccade.search.history import Endings, History
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
    "stream",
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
    steps = _walk(writer, memory, config, inputs, start, end, banned, positions, device, looks)
    if inputs == 0:
        return []
    *_, (history, endings, _) = steps
    return history.hypotheses(endings, end)


def stream(
    writer: Writer,
    memory: Any,
    config: Config,
    *,
    inputs: int,
    start: int | Sequence[int],
    end: int,
    banned: Collection[int] = (),
    positions: Sequence[int] | None = None,
    device: torch.device | None = None,
) -> Iterator[list[list[int]]]:
    """The tokens of the best text of each input as they are decided: after every step, the new ones of each input.

    Greedy search and a single sample decide a token at each step. A beam, or several samples, decide what all hypotheses
    share that may still win. Joined, they are the tokens of the first text that `search` gives for the same arguments.
    """
    steps = _walk(writer, memory, config, inputs, start, end, banned, positions, device)
    return _decided(steps, inputs, end) if inputs else iter(())


Steps = Iterator[tuple[History, Endings, Tensor]]


def _walk(
    writer: Writer,
    memory: Any,
    config: Config,
    inputs: int,
    start: int | Sequence[int],
    end: int,
    banned: Collection[int],
    positions: Sequence[int] | None,
    device: torch.device | None,
    looks: bool = False,
) -> Steps:
    """The loop over these inputs, about to begin."""
    if end in banned:
        raise UsageError(f"banned: expected ids other than the end, {end}, which a text needs; got {sorted(banned)}")
    choose, width = _method(config, each(range(inputs) if positions is None else positions, inputs, "positions"))
    tokens = torch.tensor(each(start, inputs, "start"), device=device)[:, None]
    return walk(writer, memory, config, choose, tokens=tokens, width=width, end=end, banned=frozenset(banned), looks=looks)


def _decided(steps: Steps, inputs: int, end: int) -> Iterator[list[list[int]]]:
    """After every step, the tokens of each input that were decided by it."""
    counts, before = [0] * inputs, list(range(inputs))
    for history, endings, active in steps:
        fresh: list[list[int]] = [[] for _ in range(inputs)]
        going = active.tolist()
        for place in before:
            fresh[place] = history.decided(endings, place, counts[place], end, place in going)
            counts[place] += len(fresh[place])
        before = going
        yield fresh


def _method(config: Config, positions: Sequence[int]) -> tuple[Choose, int]:
    """How hypotheses go on, and how many of each input are followed at once."""
    if config.method == "greedy":
        return greedy, 1
    if config.method == "beam":
        return beam(config.beam), config.beam
    return sampling(config, positions), config.n_best
