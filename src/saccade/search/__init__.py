"""Greedy search, beam search and sampling from any model that writes token by token (`saccade.search.protocol.Writer`).

Letters: B inputs, W hypotheses of each, V vocabulary.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from saccade.errors import UsageError
from saccade.search.beam import beam
from saccade.search.candidates import Choose
from saccade.search.forced import Forced, forced
from saccade.search.greedy import greedy
from saccade.search.history import Endings, History
from saccade.search.hypothesis import Hypothesis, HypothesisLook
from saccade.search.loop import Prompts, walk
from saccade.search.protocol import Glance, Joiner, Keys, Prefiller, State, Step, StepLook, Writer, each
from saccade.search.sampling import sampling
from saccade.search.search_config import Config

__all__ = [
    "Config",
    "Forced",
    "Glance",
    "Hypothesis",
    "HypothesisLook",
    "Keys",
    "Prefiller",
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
    prompts: Sequence[Sequence[int]] | None = None,
    looks: bool = False,
    positions: Sequence[int] | None = None,
    context_length: int | None = None,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """The `config.n_best` texts of each input, best first; fewer, or none, where all others have probability 0.

    A text begins after the token `start`, one for all or one for each input, and closes with `end`; neither is part of it.
    `banned` ids are never written. What an input gets does not depend on the inputs beside it. For sampling, its random
    numbers belong to `config.seed` and to its position: its index here, or `positions` (its line in a file, say), so that a
    file cut into other batches gives the same texts. Texts that were stopped by the length limit rank by their score among
    the others.

    `prompts` are what each text is to go on from, after its start; they are looked at as what was written is, but are not
    part of the text. A text ends where `context_length` tokens, its prompt's among them, are read. `looks` asks for the
    weights along every text. `device` is where the writer reads its first tokens.
    """
    hypotheses: list[list[Hypothesis]] = [[] for _ in range(inputs)]
    walks = _walks(writer, memory, config, inputs, start, end, banned, prompts, positions, context_length, device, looks)
    for members, steps in walks:
        *_, (history, endings, _) = steps
        for place, texts in zip(members, history.hypotheses(endings, end), strict=True):
            hypotheses[place] = texts
    return hypotheses


def stream(
    writer: Writer,
    memory: Any,
    config: Config,
    *,
    inputs: int,
    start: int | Sequence[int],
    end: int,
    banned: Collection[int] = (),
    prompts: Sequence[Sequence[int]] | None = None,
    positions: Sequence[int] | None = None,
    context_length: int | None = None,
    device: torch.device | None = None,
) -> Iterator[list[list[int]]]:
    """The tokens of the best text of each input as they are decided: after every step, the new ones of each input.

    Greedy search and a single sample decide a token at each step. A beam, or several samples, decide what all hypotheses
    share that may still win. Joined, they are the tokens of the first text that `search` gives for the same arguments.
    """
    walks = _walks(writer, memory, config, inputs, start, end, banned, prompts, positions, context_length, device)
    return _side_by_side([(members, _decided(steps, len(members), end)) for members, steps in walks], inputs)


Steps = Iterator[tuple[History, Endings, Tensor]]


def _walks(
    writer: Writer,
    memory: Any,
    config: Config,
    inputs: int,
    start: int | Sequence[int],
    end: int,
    banned: Collection[int],
    prompts: Sequence[Sequence[int]] | None,
    positions: Sequence[int] | None,
    context_length: int | None,
    device: torch.device | None,
    looks: bool = False,
) -> list[tuple[list[int], Steps]]:
    """Inputs, and the loop over them, about to begin: all together, or those of each length of prompts apart.

    Inputs whose prompts differ in length stand at different places of their texts, where most states keep one place for all.
    """
    if end in banned:
        raise UsageError(f"banned: expected ids other than the end, {end}, which a text needs; got {sorted(banned)}")
    positions = each(range(inputs) if positions is None else positions, inputs, "positions")
    starts, prompts = each(start, inputs, "start"), [()] * inputs if prompts is None else prompts
    if len(prompts) != inputs:
        raise UsageError(f"prompts: expected {inputs}, one for each input, got {len(prompts)}")
    rows = [[first, *prompt] for first, prompt in zip(starts, prompts, strict=True)]
    limits = torch.tensor([_most(config, context_length, len(row)) for row in rows])
    lengths = [[place for place, row in enumerate(rows) if len(row) == size] for size in sorted(set(map(len, rows)))]
    # Beyond the context texts slide each in its own time, and looks have as many keys as the longest text.
    joined = isinstance(writer, Joiner) and writer.joins and context_length is not None and not looks
    walks = []
    for together in [lengths] if joined else [[members] for members in lengths]:
        everyone = [place for members in together for place in members]
        choose, width = _method(config, [positions[place] for place in everyone], [prompts[place] for place in everyone])
        steps = walk(
            writer,
            memory,
            config,
            choose,
            prompts=[
                Prompts(
                    None if len(members) == inputs else torch.tensor(members).to(device=device),
                    torch.tensor([rows[place] for place in members]).to(device=device),
                )
                for members in together
            ],
            limits=limits[everyone],
            width=width,
            end=end,
            banned=frozenset(banned),
            looks=looks,
        )
        walks.append((everyone, steps))
    return walks


def _side_by_side(streams: list[tuple[list[int], Iterator[list[list[int]]]]], inputs: int) -> Iterator[list[list[int]]]:
    """Streams of some inputs each as one of all."""
    for parts in zip_longest(*(steps for _, steps in streams), fillvalue=[]):
        fresh: list[list[int]] = [[] for _ in range(inputs)]
        for (members, _), part in zip(streams, parts, strict=True):
            for place, tokens in zip(members, part, strict=False):
                fresh[place] = tokens
        yield fresh


def _decided(steps: Steps, inputs: int, end: int) -> Iterator[list[list[int]]]:
    """After every step, the tokens of each input that were decided by it."""
    counts, before = [0] * inputs, list(range(inputs))
    for history, endings, active in steps:
        fresh: list[list[int]] = [[] for _ in range(inputs)]
        going = active.tolist()
        for place in before:
            start = counts[place]
            fresh[place] = (
                history.decided(endings, place, start) if place in going else history.rest(endings, place, start, end)
            )
            counts[place] += len(fresh[place])
        before = going
        yield fresh


def _most(config: Config, context_length: int | None, prompt: int) -> int:
    """How many tokens may follow a prompt of so many, as far as the context reaches; the last token is not read."""
    return config.max_length if context_length is None else max(1, min(config.max_length, context_length + 1 - prompt))


def _method(config: Config, positions: Sequence[int], prompts: Sequence[Sequence[int]]) -> tuple[Choose, int]:
    """How hypotheses are extended, and how many of each input are followed at once."""
    if config.method == "greedy":
        return greedy, 1
    if config.method == "beam":
        return beam(config.beam), config.beam
    return sampling(config, positions, prompts), config.n_best
