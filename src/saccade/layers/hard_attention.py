"""A recurrent decoder that sees one place at a time, and what trains it: REINFORCE (Xu et al. 2015, section 4.1).

Where each step looks is drawn from the weights of attention. The gradient of E[log p(y)] by these weights is estimated by
Σ_t (R_t − b_t) ∇ log α_t(s_t): R_t, the log-probability of all that is written from step t on, which is all that the choice
at t can change, and b_t, as much as these tokens usually have, each by a moving average of its own. What is written in
training is given, so b_t does not depend on what is drawn, and a word that is hard to guess is no fault of a choice.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from saccade.attention import Attended, Normalizer
from saccade.attention.groups import Group
from saccade.kernels.wide_products import linear
from saccade.layers.attentive_decoder import Annotations, LastStateDecoder

MOVING = 0.1  # the share of the newest batch in the moving averages that rewards are measured from


class Likeliest(Normalizer):
    """Softmax in training; otherwise the likeliest key alone, of several the first."""

    def forward(self, scores: Tensor, group: Group, noise: Tensor | None = None) -> Tensor:
        chances = group.softmax(scores)
        if self.training:
            return chances
        best = (chances == group.peak(chances)) & (chances > 0)
        return (best & (group.running(best.to(chances.dtype)) == 1)).to(chances.dtype)


class HardDecoded(NamedTuple):
    """What T steps gave, which key each drew, and the examples that saw the expected context instead of what they drew."""

    outputs: Float[Tensor, "T B H"]
    contexts: Float[Tensor, "T B C"]
    places: Int[Tensor, "T B"]
    expected: Bool[Tensor, " B"]


class HardDecoder(LastStateDecoder):
    """As `LastStateDecoder` with `Likeliest`; `sampled` draws the place of each step.

    Shapes: words (T, B, E), start (B, S) -> the cell's outputs (T, B, H) and contexts (T, B, C)
    """

    def sampled(
        self,
        words: Float[Tensor, "T B E"],
        annotations: Annotations,
        start: Float[Tensor, "B S"],
        noise: Float[Tensor, "T B"],
        expected: Bool[Tensor, " B"],
    ) -> HardDecoded:
        """All steps; `noise` from [0, 1) decides what is drawn, and examples in `expected` see the expected context."""
        values, places = annotations.values, list[Tensor]()
        samples = torch.arange(len(values), device=values.device)

        def choose(attended: Attended) -> Tensor:
            chances = attended.weights().squeeze(1).detach()
            places.append(drawn(chances, noise[len(places)]))
            return torch.where(expected[:, None], attended.context.squeeze(1), values[samples, places[-1]])

        gates = linear(words, self.word_weight, self.word_bias)
        decoded = self._loop(gates, annotations, start, choose)
        return HardDecoded(decoded.outputs, decoded.contexts, torch.stack(places), expected)


def drawn(chances: Float[Tensor, "B K"], noise: Float[Tensor, " B"]) -> Int[Tensor, " B"]:
    """For each row the place in which a number from [0, 1) falls."""
    reached = chances.cumsum(-1)
    return (reached <= noise[:, None] * reached[:, -1:]).sum(-1).clamp(max=chances.shape[-1] - 1)


def policy_loss(
    weights: Float[Tensor, "T B K"],
    places: Int[Tensor, "T B"],
    log_probs: Float[Tensor, "T B"],
    counted: Bool[Tensor, "T B"],
    baseline: Float[Tensor, "T B"],
) -> Float[Tensor, ""]:
    """−Σ (R_t − b_t) log α_t(s_t) over what is `counted`; `log_probs` of what was written, `baseline` as usual."""
    chosen = weights.gather(-1, places[..., None]).squeeze(-1)
    live = counted.to(log_probs.dtype)
    advantage = ((log_probs.detach() - baseline) * live).flip(0).cumsum(0).flip(0)
    log_chances = torch.where(counted, chosen, 1.0).clamp(min=torch.finfo(chosen.dtype).tiny).log()
    return -(advantage * log_chances).sum()


def follow(
    baseline: Float[Tensor, " V"], tokens: Int[Tensor, "T B"], log_probs: Float[Tensor, "T B"], open_: Tensor
) -> None:
    """Move the usual log-probability of each token that was written towards its mean here."""
    places, counted = tokens.flatten(), open_.flatten().to(baseline.dtype)
    counts = torch.zeros_like(baseline).index_add(0, places, counted)
    sums = torch.zeros_like(baseline).index_add(0, places, log_probs.flatten() * counted)
    baseline.lerp_(torch.where(counts > 0, sums / counts.clamp(min=1), baseline), MOVING)
