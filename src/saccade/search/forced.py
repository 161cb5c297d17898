"""Given texts, sent through a writer: how likely each token was, and where was looked while writing it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from saccade.data.tokenizers import END, START
from saccade.search.protocol import Writer


@dataclass(frozen=True)
class Forced:
    """What a writer makes of a text that it did not choose.

    Shapes: log_probs (steps), looks (heads, steps, keys), one row per token given
    """

    log_probs: Tensor
    looks: dict[str, Tensor]


@torch.no_grad()
def forced(
    writer: Writer,
    memory: Any,
    tokens: Sequence[Sequence[int]],
    *,
    looks: bool = False,
    first: Sequence[int] | None = None,
    device: torch.device | None = None,
) -> list[Forced]:
    """One text for each input, exactly as given: without START, and with END only if END is to be counted."""
    if not tokens:
        return []
    steps = max(map(len, tokens))
    # What stands behind the shorter texts is never read; END is in every vocabulary.
    starts = [START] * len(tokens) if first is None else first
    rows = zip(starts, tokens, strict=True)
    written = torch.tensor([[start, *text, *[END] * (steps - len(text))] for start, text in rows], device=device)
    state, log_probs, weights = writer.start(memory), [torch.zeros(len(tokens), 0)], []
    for number in range(steps):
        step = writer.step(written[:, number, None], state)
        log_probs.append(step.log_probs[:, 0].gather(1, written[:, number + 1, None]).cpu().float())
        weights.append({name: value[:, 0].cpu().float() for name, value in step.glance().items()} if looks else {})
        state = step.state
    joined = torch.cat(log_probs, 1)
    return [
        Forced(joined[place, : len(text)], {name: _along(weights[: len(text)], name, place) for name in weights[0]})
        if text
        else Forced(joined[place, :0], {})
        for place, text in enumerate(tokens)
    ]


def _along(weights: list[dict[str, Tensor]], name: str, place: int) -> Tensor:
    """One input's weights, (heads, steps, keys); a step with fewer keys gets 0 for the rest."""
    rows = [step[name][place] for step in weights]
    keys = max(row.shape[-1] for row in rows)
    return torch.stack([pad(row, (0, keys - row.shape[-1])) for row in rows], 1)
