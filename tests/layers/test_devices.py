"""Layers on a device that is not the CPU, without a host read, and as one graph for torch.compile: the same numbers."""

import copy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import Softmax, causal, lengths, local_m, make_score
from saccade.layers.attentive_decoder import Annotations, LastStateDecoder, NewStateDecoder, query_map_for
from saccade.layers.cache import Past
from saccade.layers.convolution import Convolution
from saccade.layers.cross_entropy import linear_cross_entropy, live_rows
from saccade.layers.feed_forward import FeedForward
from saccade.layers.gat_conv import GATConv
from saccade.layers.image_encoders import lenet
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.pooling import AttentionPool, GatedBagAttention
from saccade.layers.position_embeddings import make_positions
from saccade.layers.recurrent import RecurrentReader, Stack
from saccade.layers.squeeze_excitation import SqueezeExcitation
from saccade.layers.transformer_blocks import DecoderLayer, EncoderLayer, SelfAttention
from tests.second_device import on_cpu, on_device, second_device

B, K, T, D = 3, 5, 4, 8
LENGTHS, STEPS = torch.tensor([5, 1, 3]), torch.tensor([[1, 1, 1], [1, 0, 1], [1, 0, 1], [1, 0, 0]]).bool()


@dataclass
class Case:
    """A layer, a number that it computes, and the tensors that it is computed from."""

    make: Callable[[], nn.Module]
    run: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]


def drawn(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(len(size)))


def last_state(gated: bool) -> nn.Module:
    score = make_score("additive", query_width=D, key_width=D, keys=K)
    query_map = query_map_for(score, D, D)
    return LastStateDecoder(D, D, D, score=score, normalize=Softmax(), query_map=query_map, cell="lstm", gated=gated)


def new_state(feeding: bool) -> nn.Module:
    score = make_score("general", query_width=D, key_width=D, keys=K)
    stack = Stack(D + feeding * D, D, cell="gru", layers=2)
    return NewStateDecoder(stack, score=score, normalize=Softmax(), feeding=feeding)


def decoded(layer: Any, words: Tensor, values: Tensor, start: Tensor, counts: Tensor) -> Tensor:
    """All steps, and one."""
    window = (lambda hidden, counts, steps: local_m(steps, 2),) if isinstance(layer, NewStateDecoder) else ()
    annotations = Annotations(layer.score.prepare(values), values, counts)
    outputs, contexts = layer(words, annotations, start, *window)
    step = layer.step(words[0][:, None], layer.start(annotations, start), *window)
    total: Tensor = (outputs + contexts).square().sum() + step.outputs.square().sum()
    return total


def block() -> EncoderLayer:
    attention = SelfAttention(MultiHeadAttention(D, 2), lambda counts: causal())
    return EncoderLayer(attention, FeedForward(D, 16), D, 0.0, "pre")


def decoder_layer() -> DecoderLayer:
    attention = SelfAttention(MultiHeadAttention(D, 2), lambda counts: causal())
    return DecoderLayer(attention, MultiHeadAttention(D, 2), FeedForward(D, 16), D, 0.0, "post")


def cross_entropy(layer: Any, x: Tensor, target: Tensor, live: Tensor) -> Tensor:
    rows, targets = live_rows(x, target, live)
    return linear_cross_entropy(rows, layer.weight, layer.bias, targets, 0.1)


DECODER = (drawn(T, B, D), drawn(B, K, D), drawn(B, 2 * D), LENGTHS)
STACKED = (drawn(T, B, D), drawn(B, K, D), drawn(B, 2, D), LENGTHS)
X = drawn(B, K, D)
CASES = {
    "last state": Case(lambda: last_state(False), decoded, DECODER),
    "last state, gated": Case(lambda: last_state(True), decoded, DECODER),
    "new state": Case(lambda: new_state(True), decoded, STACKED),
    "new state, not fed": Case(lambda: new_state(False), decoded, STACKED),
    "reader": Case(lambda: RecurrentReader(D, D, layers=2), lambda m, x, live: m(x, live)[0].sum(), (drawn(T, B, D), STEPS)),
    "attention": Case(lambda: MultiHeadAttention(D, 2), lambda m, x, n: m(x, mask=lengths(n)).sum(), (X, LENGTHS)),
    "convolution": Case(lambda: Convolution(D, 2, 3, kind="dynamic"), lambda m, x, n: m(x, n).square().sum(), (X, LENGTHS)),
    "block": Case(block, lambda m, x: m(x, None).square().sum(), (X,)),
    "decoder layer": Case(decoder_layer, lambda m, x, n: m(x, x, lengths(n)).square().sum(), (X, LENGTHS)),
    "cross-entropy": Case(lambda: nn.Linear(D, 4), cross_entropy, (drawn(T, B, D), torch.randint(4, (T, B)), STEPS)),
    "pool": Case(lambda: AttentionPool(D, 6), lambda m, x, n: m(x, lengths(n)).sum(), (X, LENGTHS)),
    "squeeze": Case(lambda: SqueezeExcitation(D), lambda m, x: m(x).sum(), (drawn(2, D, 3, 3),)),
    "pictures": Case(lambda: lenet((28, 28), 5), lambda m, x: m(x).sum(), (drawn(2, 28, 28),)),
    "sinusoids": Case(
        lambda: nn.Sequential(make_positions("sinusoidal", D, 9), nn.Linear(D, D)),
        lambda m, x: m[1](m[0](0, K) * x + m[0](1100, 1105)).sum(),
        (X,),
    ),
}
RAGGED = {  # shapes that depend on numbers
    "bags": Case(lambda: GatedBagAttention(D, 6), lambda m, x, n: m(x, n).sum(), (drawn(9, D), LENGTHS)),
    "graph": Case(
        lambda: GATConv(D, 4, 2), lambda m, x, e: m(x, e).sum(), (drawn(3, D), torch.tensor([[0, 1, 2], [1, 2, 0]]))
    ),
}


def made(case: Case) -> nn.Module:
    torch.manual_seed(0)
    return case.make()


@pytest.mark.parametrize("name", [*CASES, *RAGGED])
def test_the_numbers_of_another_device_are_those_of_the_cpu(name: str) -> None:
    case = (CASES | RAGGED)[name]
    layer = made(case)
    moved = copy.deepcopy(layer)
    wanted = case.run(layer, *case.inputs)
    wanted.backward()
    with second_device(synchronize=name in RAGGED):
        moved = on_device(moved)
        found = case.run(moved, *on_device(case.inputs))
        found.backward()
    torch.testing.assert_close(on_cpu(found), wanted.detach(), atol=1e-3, rtol=1e-4)
    for ours, theirs in zip(moved.parameters(), layer.parameters(), strict=True):
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None:
            torch.testing.assert_close(on_cpu(ours.grad), theirs.grad, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", ["block", "convolution"])
@torch.no_grad()
def test_a_prompt_and_steps_run_there_too(name: str) -> None:
    layer: Any = block().mixer if name == "block" else Convolution(D, 2, 3, kind="dynamic", causal=True)
    wanted = layer(X, None)
    with second_device(synchronize=False):
        moved, x = on_device(layer), on_device(X)
        state = moved.start()
        past = Past.none(B, x.device).with_steps(0, K - 1)
        prompt = moved.step(x[:, : K - 1], past, state)
        last = moved.step(x[:, K - 1 :], past.with_steps(state.used), state)
        found = torch.cat((prompt.output, last.output), 1)
        assert last.weights().device == x.device
    torch.testing.assert_close(on_cpu(found), wanted, atol=1e-5, rtol=1e-4)


def compiled(case: Case) -> str:
    """Whether one graph gives what eager calls give."""
    layer = made(case)
    torch.compiler.reset()
    graph = torch.compile(lambda *inputs: case.run(layer, *inputs), fullgraph=True, backend="eager")
    found, wanted = graph(*case.inputs), case.run(layer, *case.inputs)
    return "equal" if torch.allclose(found, wanted, atol=1e-3, rtol=1e-4) else f"{found} instead of {wanted}"


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """In a process of its own: dynamo does not take what checks shapes in signatures here."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.layers.test_devices"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.split("\t", 1) for line in lines)


@pytest.mark.parametrize("name", list(CASES))
def test_torch_compiles_it_as_one_graph(answers: dict[str, str], name: str) -> None:
    assert answers[name] == "equal"


if __name__ == "__main__":
    for name, case in CASES.items():
        print(name, compiled(case), sep="\t")
