"""Recurrent decoders with attention: all steps, one step, the kernel and plain autograd are the same equations."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import Attended, Perceptron, Softmax, local_m, looking, make_score
from saccade.kernels.recurrent_cells import CELLS
from saccade.layers.attentive_decoder import (
    Annotations,
    AttentiveDecoder,
    DecodedStep,
    LastStateDecoder,
    NewStateDecoder,
    query_map_for,
)
from saccade.layers.recurrent import Stack

B, T, K, E, H, C = 3, 4, 5, 6, 7, 8
LENGTHS = torch.tensor([5, 1, 3])


def close(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float) -> None:
    assert one.keys() == other.keys()
    for name, tensor in other.items():
        torch.testing.assert_close(one[name].to(tensor), tensor, atol=tolerance, rtol=tolerance, msg=name)


def last_state(
    score: str = "additive", normalize: str = "softmax", cell: str = "gru", gated: bool = False
) -> LastStateDecoder:
    torch.manual_seed(0)
    scorer = make_score(score, query_width=H, key_width=C, keys=K)
    query_map = query_map_for(scorer, H, C)
    return LastStateDecoder(E, H, C, score=scorer, normalize=Softmax(), query_map=query_map, cell=cell, gated=gated)


def new_state(score: str = "general", cell: str = "lstm", layers: int = 2, feeding: bool = True) -> NewStateDecoder:
    torch.manual_seed(0)
    stack = Stack(E + feeding * H, H, cell=cell, layers=layers)
    scorer = make_score(score, query_width=H, key_width=H, keys=K)
    return NewStateDecoder(stack, score=scorer, normalize=Softmax(), feeding=feeding)


def given(decoder: Any, lengths: Tensor | None = LENGTHS) -> tuple[Tensor, Annotations, Tensor]:
    """Words, something to attend to, and first states."""
    generator, like = torch.Generator().manual_seed(1), next(decoder.parameters())
    deep = isinstance(decoder, NewStateDecoder)
    parts = decoder.layers.cell.parts if deep else decoder.cell.parts
    sizes = [(T, B, E), (B, K, H if deep else C), (B, 2, parts * H) if deep else (B, parts * H)]
    words, values, start = (torch.randn(size, generator=generator).to(like) for size in sizes)
    start = start[:, : len(decoder.layers.layers)] if deep else start
    return words, Annotations(decoder.score.prepare(values), values, lengths), start


def stepped(decoder: Any, words: Tensor, annotations: Annotations, start: Tensor, *window: Any) -> list[DecodedStep]:
    state, found = decoder.start(annotations, start), []
    for word in words:
        found.append(decoder.step(word[:, None], state, *window))
        state = found[-1].state
    return found


def outcome(decoder: AttentiveDecoder, outputs: Tensor, contexts: Tensor) -> dict[str, Tensor]:
    """What came out, and the gradient of all parameters."""
    names = dict(decoder.named_parameters())
    total = outputs.square().sum() + contexts.sin().sum()
    grads = torch.autograd.grad(total, list(names.values()), allow_unused=True, materialize_grads=True)
    return {"outputs": outputs.detach(), "contexts": contexts.detach(), **dict(zip(names, grads, strict=True))}


def by_steps(decoder: AttentiveDecoder, *inputs: Any) -> dict[str, Tensor]:
    steps = stepped(decoder, *inputs)
    outputs, contexts = (
        torch.cat(parts, 1) for parts in zip(*((step.outputs, step.contexts) for step in steps), strict=True)
    )
    return outcome(decoder, outputs.transpose(0, 1), contexts.transpose(0, 1))


@pytest.mark.parametrize("lengths", [LENGTHS, None], ids=["padded", "a whole grid"])
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("cell", sorted(CELLS))
@pytest.mark.parametrize("score", ["additive", "perceptron", "dot", "location"])
def test_all_steps_are_plain_autograd_over_single_ones(score: str, cell: str, gated: bool, lengths: Tensor | None) -> None:
    decoder = last_state(score, cell=cell, gated=gated).double()
    close(outcome(decoder, *decoder(*given(decoder, lengths))), by_steps(decoder, *given(decoder, lengths)), 1e-9)


@pytest.mark.parametrize("feeding", [False, True])
@pytest.mark.parametrize(("cell", "layers"), [("gru", 1), ("lstm", 2)])
@pytest.mark.parametrize("score", ["additive", "dot"])
def test_so_are_those_of_the_new_state(score: str, cell: str, layers: int, feeding: bool) -> None:
    decoder = new_state(score, cell, layers, feeding).double()
    for window in (None, lambda hidden, lengths, steps: local_m(steps, 1)):
        ours = outcome(decoder, *decoder(*given(decoder), window))
        close(ours, by_steps(decoder, *given(decoder), window), 1e-9)


@pytest.mark.parametrize("lengths", [LENGTHS, None], ids=["padded", "a whole grid"])
@pytest.mark.parametrize("cell", sorted(CELLS))
def test_the_kernel_is_the_loop(cell: str, lengths: Tensor | None, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, calls = last_state(cell=cell), list[str]()
    for name in ("_all_steps", "_loop"):
        monkeypatch.setattr(LastStateDecoder, name, noted(calls, name))
    fast = outcome(decoder, *decoder(*given(decoder, lengths)))
    monkeypatch.setattr(LastStateDecoder, "_has_kernel", lambda self, *inputs: False)
    close(fast, outcome(decoder, *decoder(*given(decoder, lengths))), 1e-5)
    assert calls == ["_all_steps", "_loop"]


def noted(calls: list[str], name: str) -> object:
    """A method that notes its name and does what it did."""
    method = getattr(LastStateDecoder, name)

    def call(self: LastStateDecoder, *inputs: object) -> object:
        calls.append(name)
        return method(self, *inputs)

    return call


@pytest.mark.parametrize("cell", sorted(CELLS))
def test_looking_sees_all_steps_as_one_look_and_changes_no_bit(cell: str) -> None:
    decoder = last_state(cell=cell)
    words, annotations, start = given(decoder)
    alone = decoder(words, annotations, start)
    with looking(decoder) as looks:
        watched = decoder(words, annotations, start)
    assert all(torch.equal(one, other) for one, other in zip(alone, watched, strict=True))
    (look,) = looks[""]
    assert isinstance(look, Attended)
    weights = look.weights()
    assert weights.shape == (B, T, K)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, T))
    assert weights[torch.arange(K).expand(B, T, K) >= LENGTHS[:, None, None]].eq(0).all()
    torch.testing.assert_close(weights @ annotations.values, watched.contexts.transpose(0, 1), atol=1e-5, rtol=1e-5)
    steps = [step.weights()[:, :, 0] for step in stepped(decoder, words, annotations, start)]
    torch.testing.assert_close(weights, torch.cat(steps, 1), atol=1e-5, rtol=1e-5)


def test_a_gate_scales_the_context_by_the_last_state() -> None:
    """Show, attend and tell (Xu et al. 2015), section 4.2.1, with torch's own cell."""
    decoder = last_state(cell="lstm", gated=True)
    assert decoder.gate is not None
    assert isinstance(decoder.score, Perceptron)
    words, annotations, start = given(decoder, None)
    cell = nn.LSTMCell(E + C, H)
    cell.weight_ih.data = torch.cat((decoder.word_weight, decoder.context_weight), 1).detach()
    cell.weight_hh.data = decoder.state_weight.detach()
    cell.bias_ih.data, cell.bias_hh.data = decoder.word_bias.detach(), decoder.state_bias.detach()
    hidden, memory = start.split(H, 1)
    outputs, contexts = decoder(words, annotations, start)
    for t in range(T):
        scores = decoder.score(decoder.score.queries(hidden[:, None]), annotations.keys.vectors, None)
        context = (scores.softmax(-1) @ annotations.values).squeeze(1) * torch.sigmoid(decoder.gate(hidden))
        hidden, memory = cell(torch.cat((words[t], context), 1), (hidden, memory))
        torch.testing.assert_close(contexts[t], context, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(outputs[t], hidden, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("make", [last_state, new_state])
def test_hypotheses_of_one_input_share_what_they_attend_to(make: Any) -> None:
    decoder = make()
    words, annotations, start = given(decoder)
    with torch.no_grad():
        first = decoder.step(words[0][:, None], decoder.start(annotations, start)).state
        pair = first.select(torch.arange(B), torch.zeros(B, 2, dtype=torch.long))
        assert pair.annotations is annotations
        both = decoder.step(torch.stack((words[1], words[2]), 1), pair).outputs
        for w in range(2):
            alone = decoder.step(words[1 + w][:, None], first).outputs[:, 0]
            torch.testing.assert_close(both[:, w], alone, atol=1e-6, rtol=1e-5)
        some = first.select(torch.tensor([2, 0]), torch.zeros(2, 1, dtype=torch.long))
        dropped = decoder.step(words[1][[2, 0]][:, None], some).outputs
        torch.testing.assert_close(dropped, decoder.step(words[1][:, None], first).outputs[[2, 0]], atol=1e-6, rtol=1e-5)
