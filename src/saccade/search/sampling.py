"""Sampling: the next token drawn by its probability, after a penalty on repetition, temperature, top-k, top-p and min-p.

Each draw depends on the seed, the position of its input and the number of its sample, and on nothing else: not on the other
inputs of the batch, nor on how many samples are drawn, nor on torch's generator. Drawing is done on the CPU.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from saccade.kernels.nucleus import least_of_nucleus
from saccade.search.candidates import Candidates, Choose, best
from saccade.search.protocol import NEVER
from saccade.search.search_config import Config

LARGEST = 2**64
BLOCK = 128  # numbers summed at once, which is faster than a running sum of all
BELOW_ONE = 1 - 2**-53
HOTTEST = 1e30  # beyond it, and below its inverse, float32 knows no difference


def sampling(config: Config, positions: Sequence[int], prompts: Sequence[Sequence[int]]) -> Choose:
    """Candidates drawn at random, `config.n_best` for each input; `positions` names the random numbers of each."""
    sources = [[_source(config.seed, position, sample) for sample in range(config.n_best)] for position in positions]
    seen = torch.zeros(len(positions), config.n_best, 0, dtype=torch.bool)  # which tokens each text has, (inputs, n_best, V)

    def choose(active: Tensor, totals: Tensor, log_probs: Tensor, ids: range) -> Candidates:
        uniform = [[source.random() for source in sources[place]] for place in active.tolist()]
        numbers = torch.tensor(uniform, dtype=torch.float64)
        if config.repetition_penalty == 1:
            return _drawn(totals, log_probs, log_probs, ids, numbers, config)
        nonlocal seen
        if not seen.shape[-1]:
            seen = _occurring(prompts, log_probs.shape[-1])[:, None].repeat(1, config.n_best, 1)
        values = _floats(log_probs)
        penalized = torch.where(seen[active, : totals.shape[1]], values * config.repetition_penalty, values)
        drawn = _drawn(totals, log_probs, penalized, ids, numbers, config)
        seen[active] = seen[active].scatter(-1, drawn.tokens[..., None], True)
        return drawn

    return choose


def _occurring(prompts: Sequence[Sequence[int]], V: int) -> Tensor:
    """Which tokens each prompt has, (inputs, V)."""
    occurring = torch.zeros(len(prompts), V, dtype=torch.bool)
    for row, prompt in zip(occurring, prompts, strict=True):
        row[list(prompt)] = True
    return occurring


def _floats(values: Tensor) -> Tensor:
    """Numbers on the CPU, in single precision at least."""
    return values.cpu().to(torch.promote_types(values.dtype, torch.float32))


def _source(seed: int, position: int, sample: int) -> np.random.Generator:
    """Philox counts through 2**256 numbers under a key: the key is the seed and the input, the highest digit the sample."""
    key = np.array([seed % LARGEST, position % LARGEST], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, 0, sample], dtype=np.uint64)))


def _drawn(totals: Tensor, log_probs: Tensor, penalized: Tensor, ids: range, uniform: Tensor, config: Config) -> Candidates:
    """One candidate for each number of `uniform` (B, N): all N from one hypothesis at the first step, one from each later.

    It is drawn by the `penalized` log-probabilities; its total is that of `log_probs`, as the writer gave them.
    """
    B, W = totals.shape
    values, tokens = _kept(penalized, ids, config)
    peak = values.amax(-1, keepdim=True)
    gone = (totals[..., None] == NEVER) | (peak == NEVER)
    temperature = min(max(config.temperature, 1 / HOTTEST), HOTTEST)
    likely = (values - peak.masked_fill(gone, 0.0)).div_(temperature).exp_()
    kept = _nucleus(likely, config.top_p).masked_fill(likely < config.min_p, 0.0)
    picked = tokens.gather(-1, _picked(kept, uniform.reshape(B, W, -1)))
    # A row with NaN or inf in it has no distribution to draw from; it is passed on as NaN, for the loop to refuse.
    own = log_probs.gather(-1, picked.to(log_probs.device)).cpu()
    own = torch.where(peak < float("inf"), own, float("nan"))
    sums = (totals[..., None] + own.double()).masked_fill(gone, NEVER)
    parents = torch.arange(W)[:, None].expand_as(picked)
    return Candidates(parents.flatten(1), picked.flatten(1), sums.flatten(1))


def _kept(log_probs: Tensor, ids: range, config: Config) -> tuple[Tensor, Tensor]:
    """What may be drawn and its tokens, (B, W, M)."""
    B, W, V = log_probs.shape
    if config.top_k:
        top = best(torch.zeros(B * W, 1, dtype=torch.float64), log_probs.reshape(B * W, 1, V), ids, config.top_k)
        return top.totals.unflatten(0, (B, W)), top.tokens.unflatten(0, (B, W))
    return _floats(log_probs[..., ids.start : ids.stop]), torch.arange(ids.start, ids.stop).expand(B, W, -1)


def _nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """The fewest of the likeliest that together reach `top_p` of the whole, and their equals; the others become 0."""
    if top_p == 1:
        return probabilities
    least = least_of_nucleus(probabilities.flatten(0, -2), top_p).unflatten(0, probabilities.shape[:-1])
    return probabilities.masked_fill(probabilities < least, 0.0)


def _picked(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Where each number (…, N) falls in a row (…, M) of probabilities: first its block, then its place in the block."""
    blocks = pad(probabilities, (0, -probabilities.shape[-1] % BLOCK)).unflatten(-1, (-1, BLOCK))
    block, rest = _inverse(blocks.sum(-1), uniform)
    inside, _ = _inverse(blocks.gather(2, block[..., None].expand(*block.shape, BLOCK)), rest[..., None])
    return (block * BLOCK + inside.squeeze(-1)).clamp(max=probabilities.shape[-1] - 1)


def _inverse(weights: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """The first place where the running sum exceeds each number's share of the whole, and how far into it the number is.

    It is never a place of weight 0; only rows of NaN, or of nothing but 0, would lead past the end.
    """
    sums = weights.cumsum(-1, dtype=torch.float64)
    target = uniform * sums[..., -1:]
    place = torch.searchsorted(sums, target, right=True).clamp(max=sums.shape[-1] - 1)
    weight = weights.double().gather(-1, place)
    rest = (target - sums.gather(-1, place) + weight) / weight
    return place, rest.clamp(0.0, BELOW_ONE)
