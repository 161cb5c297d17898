"""Given texts, sent through a writer: how likely each token was, and where was looked while writing it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from saccade.search.hypothesis import HypothesisLook
from saccade.search.protocol import StepLook, Writer, each


@dataclass(frozen=True)
class Forced:
    """What a writer makes of a text that it did not choose.

    Shapes: log_probs (steps), one per token given
    """

    log_probs: Tensor
    looks: list[HypothesisLook]


@torch.no_grad()
def forced(
    writer: Writer,
    memory: Any,
    tokens: Sequence[Sequence[int]],
    *,
    start: int | Sequence[int],
    looks: bool = False,
    device: torch.device | None = None,
) -> list[Forced]:
    """One text for each input, exactly as given: after its start token, and with the end only if that is to be counted.

    `start` is one token for all or one for each input; `device` is where the writer reads tokens.
    """
    if not tokens:
        return []
    steps = max(map(len, tokens))
    # What stands behind the shorter texts is never read; 0 is in every vocabulary.
    rows = zip(each(start, len(tokens), "start"), tokens, strict=True)
    written = torch.tensor([[first, *text, *[0] * (steps - len(text))] for first, text in rows]).to(device=device)
    state, log_probs = writer.start(memory), [torch.zeros(len(tokens), 0)]
    kept: list[list[StepLook]] = []
    for number in range(steps):
        step = writer.step(written[:, number, None], state)
        following = written[:, number + 1, None].to(step.log_probs.device)
        log_probs.append(step.log_probs[:, 0].gather(1, following).cpu().float())
        seen = step.glance() if looks else []
        kept.append([replace(look, weights=look.weights[:, 0].to("cpu", torch.float32, copy=True)) for look in seen])
        state = step.state
    joined = torch.cat(log_probs, 1)
    return [
        Forced(joined[place, : len(text)], [_along(look, place) for look in zip(*kept[: len(text)], strict=True)])
        for place, text in enumerate(tokens)
    ]


def _along(looks: Sequence[StepLook], place: int) -> HypothesisLook:
    """One input's look at every step."""
    rows = [look.weights[place] for look in looks]
    keys = max(row.shape[-1] for row in rows)
    weights = torch.stack([pad(row, (0, keys - row.shape[-1])) for row in rows], 1)
    return HypothesisLook(looks[0].name, looks[0].keys, weights)
