"""Structured attention: marginals of chains and trees beside torch-struct, and a translation model's step with a chain.

python benchmarks/structured.py            two minutes
python benchmarks/structured.py --quick    at most a minute

Marginals forward and backward, with a gradient for scores and transitions, in float32: a row for each query of 64 sentences,
20 queries each. What torch-struct is given, potentials of all pairs of neighbors, is made from scores and transitions on the
way. A step is forward, gradient, clipping and Adam of `bahdanau` (embedding 128, hidden 256, vocabulary 3,000) with 64
sentences of 40 tokens on both sides: the time with a chain over that with softmax, whose ratio is below 1.
"""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from kit import InTurn, Report, Run, arguments, extra_megabytes, interleave
from torch import Tensor

from saccade.attention.trees import tree_marginals
from saccade.data.tensors import Batch, TextInput, TextTarget
from saccade.data.tokenizers import START, learned_layout
from saccade.kernels.chain import chain_marginals
from saccade.systems.bahdanau import Config, Model
from saccade.training.allocator import keep_pages
from saccade.training.train_config import Config as TrainConfig
from saccade.training.trainer import Trainer

CHAINS = {"chains, 1,280 × 40": (1280, 40), "chains, 256 × 200": (256, 200)}
TREES = {"trees, 64 × 40 words": (64, 40, 40)}
ROWS, LENGTH, VOCABULARY = 64, 40, 3000
Marginals = Callable[[Tensor, Tensor], Tensor]


def struct_chain(scores: Tensor, transitions: Tensor) -> Tensor:
    """p(z_k = 1) by torch-struct."""
    from torch_struct import LinearChainCRF

    potentials = transitions.t().expand(len(scores), scores.shape[1] - 1, 2, 2).clone()
    potentials[:, :, 1] += scores[:, 1:, None]
    potentials[:, 0, :, 1] += scores[:, :1]
    pairs = LinearChainCRF(potentials).marginals
    return torch.cat((pairs[:, :1, :, 1].sum(-1), pairs[:, :, 1].sum(-1)), 1)


def struct_tree(scores: Tensor, _: Tensor) -> Tensor:
    """Of each word its heads, by torch-struct."""
    from torch_struct import NonProjectiveDependencyCRF

    found: Tensor = NonProjectiveDependencyCRF(scores.transpose(1, 2)).marginals.transpose(1, 2)
    return found


def both_ways(marginals: Marginals, *size: int) -> Run:
    """Marginals of random scores, and the gradient."""
    torch.manual_seed(0)
    scores, transitions = torch.randn(size, requires_grad=True), torch.eye(2, requires_grad=True)
    pull = torch.randn(size)

    def run() -> None:
        scores.grad = transitions.grad = None
        (marginals(scores, transitions) * pull).sum().backward()

    return run


def steps(normalize: str) -> Iterator[object]:
    """A training step of the translation model for each item."""
    torch.manual_seed(0)
    words = learned_layout(VOCABULARY)
    tokens, lengths = torch.randint(4, VOCABULARY, (2, ROWS, LENGTH)), torch.full((ROWS,), LENGTH)
    batch = Batch(TextInput(tokens[0], lengths), TextTarget(tokens[1], lengths, torch.full_like(lengths, START)))
    model = Model(Config(embedding_size=128, hidden_size=256, normalize=normalize), words, words)
    return Trainer(model, InTurn([batch]), TrainConfig(steps=10**9, learning_rate=1e-3)).steps()


def main() -> None:
    options = arguments(__doc__ or "")
    torch.set_num_threads(options.threads)
    keep_pages()
    report, rounds = Report(), 5 if options.quick else 15
    cases: list[tuple[str, tuple[int, ...], Marginals, Marginals]]
    cases = [(case, size, chain_marginals, struct_chain) for case, size in CHAINS.items()]
    cases += [(case, size, lambda scores, _: tree_marginals(scores), struct_tree) for case, size in TREES.items()]
    for case, size, own, peer in cases:
        runs = {"torch-struct": both_ways(peer, *size), "ours": both_ways(own, *size)}
        report.case(case, interleave(runs, rounds, 0.2))
        peaks = ", ".join(f"{name} {extra_megabytes(run):.0f} MB" for name, run in runs.items())
        print(f"{'peak memory':38} {peaks}", flush=True)
    trained = {name: steps(name) for name in ("softmax", "chain", "chain_mean")}
    times = interleave({name: partial(next, own) for name, own in trained.items()}, rounds, 0.5)
    for name in ("chain", "chain_mean"):
        report.case(f"a step of length {LENGTH}, {name}", {part: times[part] for part in ("softmax", name)}, name)
    report.close(options.json)


if __name__ == "__main__":
    main()
