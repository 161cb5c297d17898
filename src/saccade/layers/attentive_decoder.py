"""Recurrent decoders with attention: all steps at once for training, one step at a time for search, one set of equations.

`LastStateDecoder` attends by the state before the step and feeds the context to the cell (Bahdanau et al. 2015; with a gate
on the context, Xu et al. 2015). `NewStateDecoder` attends by the state after the step (Luong et al. 2015). A loop over all
steps multiplies weights in a way whose gradient is one product at the end; where a kernel takes all steps at once, it does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Attended, Mask, Normalizer, Perceptron, Score, Softmax, attend, lengths, looks
from saccade.attention.call import AttentionCall
from saccade.attention.live import live
from saccade.attention.score import Prepared
from saccade.kernels import pooling_on, recurrent_cells
from saccade.kernels.decoder_steps import DecoderWeights, decode
from saccade.kernels.wide_products import linear
from saccade.layers.recurrent import Stack, cell_named, reset
from saccade.layers.repeated_linear import RepeatedLinear

# What queries (B, Q, D) at the steps (Q) may see of sources of these lengths (B), beside their padding.
Window = Callable[[Tensor, Tensor, Tensor], Mask]
# x W' + add, for x (N, in) and what broadcasts to (N, out).
Map = Callable[[Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Annotations:
    """What a decoder attends to: keys as the score takes them, values, and how many count (None: all).

    Shapes: keys (B, K, _), values (B, K, C), lengths (B)
    """

    keys: Prepared
    values: Float[Tensor, "B K C"]
    lengths: Int[Tensor, " B"] | None

    @property
    def mask(self) -> Mask | None:
        """Closes the padding."""
        return None if self.lengths is None else lengths(self.lengths)

    def select(self, inputs: Tensor) -> "Annotations":
        """Those of some inputs."""
        spoiled = self.keys.spoiled
        keys = self.keys._replace(vectors=self.keys.vectors[inputs], spoiled=None if spoiled is None else spoiled[inputs])
        return Annotations(keys, self.values[inputs], None if self.lengths is None else self.lengths[inputs])


@dataclass(frozen=True)
class DecoderState:
    """A decoder between two steps: the states of its layers, what is fed to the next step, and how many were taken.

    Shapes: states (B, W, L, S), fed (B, W, _), None where nothing is
    """

    annotations: Annotations
    states: Float[Tensor, "B W L S"]
    fed: Float[Tensor, "B W _"] | None = None
    steps: int = 0

    def select(self, inputs: Tensor, hypotheses: Tensor) -> "DecoderState":
        """These inputs, and of each these hypotheses; what is attended to is copied only where inputs are dropped."""
        everything = torch.equal(inputs, torch.arange(len(self.states), device=inputs.device))
        annotations = self.annotations if everything else self.annotations.select(inputs)
        kept = inputs[:, None], hypotheses
        fed = None if self.fed is None else self.fed[kept]
        return replace(self, annotations=annotations, states=self.states[kept], fed=fed)


class Decoded(NamedTuple):
    """What T steps gave: outputs (T, B, H), and the contexts that went into them (T, B, C)."""

    outputs: Float[Tensor, "T B H"]
    contexts: Float[Tensor, "T B C"]


# The contexts (N, C) that states go on with, where these are not those that were attended to.
Choose = Callable[[Attended], Tensor]


class DecodedStep(NamedTuple):
    """What one step gave: outputs (B, W, H), contexts (B, W, C), where it attended, and the state after it."""

    outputs: Float[Tensor, "B W H"]
    contexts: Float[Tensor, "B W C"]
    attended: Attended
    state: DecoderState

    def weights(self) -> Float[Tensor, "B W 1 K"]:
        """Where every hypothesis looked."""
        return self.attended.weights()[:, :, None]


def query_map_for(score: Score, query_width: int, key_width: int) -> nn.Module:
    """What brings queries to the width of keys, for a score that compares them number by number."""
    same = query_width == key_width or not score.one_width
    return nn.Identity() if same else nn.Linear(query_width, key_width, bias=False)


def once(weight: Tensor) -> Map:
    """A plain product; `RepeatedLinear.map` is the same for the steps of a loop."""

    def product(x: Tensor, add: Tensor | None = None) -> Tensor:
        return F.linear(x, weight, add) if add is None or add.dim() == 1 else F.linear(x, weight) + add

    return product


class AttentiveDecoder(nn.Module):
    """What both decoders share: how states attend, by any score, normalizer and window."""

    def __init__(self, hidden: int, score: Score, normalize: Normalizer, query_map: nn.Module) -> None:
        super().__init__()
        self.hidden_size = hidden
        self.score, self.normalize = score, normalize
        self.query_map = query_map

    def hidden(self, states: Float[Tensor, "... S"]) -> Float[Tensor, "... H"]:
        """The part of a state that is seen outside the cell; all of it, for a GRU."""
        return states if states.shape[-1] == self.hidden_size else states[..., : self.hidden_size]

    def _attend(
        self,
        hidden: Float[Tensor, "B Q H"],
        annotations: Annotations,
        projected: Float[Tensor, "N _"] | None = None,
        window: Mask | None = None,
    ) -> Attended:
        """Where these states attend; `projected` are they times the score's query weight, where a loop does that itself."""
        query = self.query_map(hidden)
        if projected is not None:
            query = Prepared(projected.unflatten(0, hidden.shape[:2]), None, self.score)
        mask, keys, values = annotations.mask, annotations.keys, annotations.values
        if window is not None:
            mask = window if mask is None else mask & window
        return attend(query, keys, values, score=self.score, mask=mask, normalize=self.normalize)


class LastStateDecoder(AttentiveDecoder):
    """c = attend(h_{t-1}), h_t = cell(W_w word + W_c c + b, h_{t-1}); `gated`: c times σ(w'h_{t-1} + b) (Xu et al. 2015).

    Shapes: words (T, B, E), start (B, S) -> the cell's outputs (T, B, H) and contexts (T, B, C)
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        context: int,
        *,
        score: Score,
        normalize: Normalizer,
        query_map: nn.Module,
        cell: str = "gru",
        gated: bool = False,
    ) -> None:
        """For words, states and contexts of these widths."""
        super().__init__(hidden, score, normalize, query_map)
        self.cell = cell_named(cell)
        gates = self.cell.gates * hidden
        self.word_weight = nn.Parameter(torch.empty(gates, width))
        self.context_weight = nn.Parameter(torch.empty(gates, context))
        self.state_weight = nn.Parameter(torch.empty(gates, hidden))
        self.word_bias = nn.Parameter(torch.zeros(gates))
        self.state_bias = nn.Parameter(torch.zeros(gates))
        self.gate = nn.Linear(hidden, 1) if gated else None
        reset(self.word_weight, self.state_weight, hidden)
        reset(self.context_weight, self.state_weight, hidden)

    def start(self, annotations: Annotations, start: Float[Tensor, "B S"]) -> DecoderState:
        """Before the first step of a search."""
        return DecoderState(annotations, start[:, None, None])

    def forward(self, words: Float[Tensor, "T B E"], annotations: Annotations, start: Float[Tensor, "B S"]) -> Decoded:
        gates = linear(words, self.word_weight, self.word_bias)
        if self._has_kernel(annotations, start):
            return self._all_steps(gates, annotations, start)
        return self._loop(gates, annotations, start)

    def step(self, words: Float[Tensor, "B W E"], state: DecoderState) -> DecodedStep:
        """One step of every hypothesis."""
        shape = words.shape[:2]
        gates = F.linear(words, self.word_weight, self.word_bias).flatten(0, 1)
        maps = [None if weight is None else once(weight) for weight in self._weights()]
        last = state.states.flatten(0, 2)
        following, context, attended = self._advance(gates, last, state.annotations, None, *maps)
        after = replace(state, states=following.view(*shape, 1, -1), steps=state.steps + 1)
        outputs = self.hidden(following).unflatten(0, shape)
        return DecodedStep(outputs, context.unflatten(0, shape), attended, after)

    def _weights(self) -> tuple[Tensor | None, ...]:
        """What states and contexts are multiplied with at each step, in the order in which `_advance` takes their maps."""
        gate = None if self.gate is None else self.gate.weight
        return self.context_weight, self.state_weight, self.score.query_weight(), gate

    def _advance(
        self,
        gates: Float[Tensor, "N G"],
        state: Float[Tensor, "N S"],
        annotations: Annotations,
        choose: Choose | None,
        tell: Map | None,
        carry: Map | None,
        ask: Map | None,
        gate: Map | None,
    ) -> tuple[Tensor, Tensor, Attended]:
        """The next states, the contexts and where they came from: the equations."""
        assert tell is not None
        assert carry is not None
        hidden = self.hidden(state)
        projected = None if ask is None else ask(hidden, None)
        attended = self._attend(hidden.unflatten(0, (annotations.values.shape[0], -1)), annotations, projected)
        context = attended.context.flatten(0, 1) if choose is None else choose(attended)
        if gate is not None and self.gate is not None:
            context = torch.sigmoid(gate(hidden, self.gate.bias)) * context
        following = recurrent_cells.step(self.cell, tell(context, gates), carry(hidden, self.state_bias), state)
        return following, context, attended

    def _loop(
        self,
        gates: Float[Tensor, "T B G"],
        annotations: Annotations,
        start: Float[Tensor, "B S"],
        choose: Choose | None = None,
    ) -> Decoded:
        """All steps, for any score and normalizer."""
        repeated = [None if weight is None else RepeatedLinear(weight) for weight in self._weights()]
        state, states, contexts = start, [], []
        for each in repeated:
            state = state if each is None else each.begin(state)
        maps = [None if each is None else each.map for each in repeated]
        for x in gates.unbind():
            state, context, _ = self._advance(x, state, annotations, choose, *maps)
            states.append(self.hidden(state))
            contexts.append(context)
        return Decoded(torch.stack(states), torch.stack(contexts))

    def _has_kernel(self, annotations: Annotations, start: Tensor) -> bool:
        """Whether all steps can be taken in one call: additive scores, softmax, no gate, nothing that is not finite."""
        plain = isinstance(self.normalize, Softmax) and annotations.keys.spoiled is None and self.gate is None
        if not plain or not isinstance(self.score, Perceptron):
            return False
        return pooling_on(start[:, None], annotations.keys.vectors, annotations.values, self.score.vector)

    def _all_steps(self, gates: Float[Tensor, "T B G"], annotations: Annotations, start: Float[Tensor, "B S"]) -> Decoded:
        """All steps in one call; where they attended is recorded as one look of T queries."""
        assert isinstance(self.score, Perceptron)
        keys, values = annotations.keys.vectors, annotations.values
        seen = annotations.lengths
        open_ = torch.ones(keys.shape[:2], dtype=torch.bool) if seen is None else live(seen, keys.shape[1])
        query = self.score.query_weight()
        weights = DecoderWeights(query, self.score.vector, self.context_weight, self.state_weight, self.state_bias)
        states, contexts, queries = decode(self.cell, gates, start, keys, values, open_, weights)
        call = AttentionCall(queries.squeeze(2).transpose(0, 1), keys, self.score, annotations.mask, self.normalize)
        looks.record(Attended(contexts.transpose(0, 1), call))
        return Decoded(self.hidden(states), contexts)


class NewStateDecoder(AttentiveDecoder):
    """h_t = layers([word; fed], h_{t-1}), c = attend(h_t), output h̃_t = tanh(W_c [c; h_t]), fed to the next step or not.

    Shapes: words (T, B, E), start (B, L, S) -> outputs (T, B, H) and contexts (T, B, H)
    """

    def __init__(self, layers: Stack, *, score: Score, normalize: Normalizer, feeding: bool) -> None:
        """`layers` read [word; fed] if there is `feeding`, else words."""
        super().__init__(layers.hidden, score, normalize, nn.Identity())
        self.layers, self.feeding = layers, feeding
        self.combine = nn.Linear(2 * layers.hidden, layers.hidden, bias=False)

    def start(self, annotations: Annotations, start: Float[Tensor, "B L S"]) -> DecoderState:
        """Before the first step of a search: nothing is fed."""
        return DecoderState(annotations, start[:, None], start.new_zeros(start.shape[0], 1, self.hidden_size))

    def forward(
        self,
        words: Float[Tensor, "T B E"],
        annotations: Annotations,
        start: Float[Tensor, "B L S"],
        window: Window | None = None,
    ) -> Decoded:
        return (self._loop if self.feeding else self._unfed)(words, annotations, start, window)

    def step(self, words: Float[Tensor, "B W E"], state: DecoderState, window: Window | None = None) -> DecodedStep:
        """One step of every hypothesis."""
        shape, layers = words.shape[:2], self.layers.recurrent()
        assert state.fed is not None
        x = torch.cat((words, state.fed), -1) if self.feeding else words
        maps = _Maps(
            [once(layer.input_weight) for layer in layers],
            [once(layer.state_weight) for layer in layers],
            None,
            once(self.combine.weight),
        )
        states = list(state.states.flatten(0, 1).unbind(1))
        looked_at = (state.annotations, state.steps, window)
        output, attended = self._advance(x.flatten(0, 1), layers[0].input_bias, states, maps, *looked_at)
        outputs = output.unflatten(0, shape)
        after = DecoderState(state.annotations, torch.stack(states, 1).view(state.states.shape), outputs, state.steps + 1)
        return DecodedStep(outputs, attended.context, attended, after)

    def _advance(
        self,
        x: Float[Tensor, "N _"],
        add: Tensor,
        states: list[Tensor],
        maps: "_Maps",
        annotations: Annotations,
        number: int,
        window: Window | None,
    ) -> tuple[Tensor, Attended]:
        """The outputs of step `number` and where they attended: the equations. `states` become the next ones."""
        hidden = x
        for index, layer in enumerate(self.layers.recurrent()):
            x = maps.inputs[index](x, layer.input_bias if index else add)
            a = maps.states[index](states[index][:, : self.hidden_size], layer.state_bias)
            states[index] = recurrent_cells.step(self.layers.cell, x, a, states[index])
            hidden = states[index][:, : self.hidden_size]
            x = self.layers.dropout(hidden)
        projected = None if maps.ask is None else maps.ask(hidden, None)
        rows = hidden.unflatten(0, (annotations.values.shape[0], -1))
        steps = torch.full(rows.shape[1:2], number, device=x.device)
        attended = self._attend(rows, annotations, projected, _opened(window, rows, annotations, steps))
        return torch.tanh(maps.combine(torch.cat((attended.context.flatten(0, 1), hidden), -1), None)), attended

    def _loop(
        self, words: Float[Tensor, "T B E"], annotations: Annotations, start: Float[Tensor, "B L S"], window: Window | None
    ) -> Decoded:
        """All steps, one after the other, each fed with the output of the one before."""
        layers, weight = self.layers.recurrent(), self.score.query_weight()
        word_weight, fed_weight = layers[0].input_weight.split((words.shape[-1], self.hidden_size), 1)
        inputs = [RepeatedLinear(fed_weight), *(RepeatedLinear(layer.input_weight) for layer in layers[1:])]
        carries = [RepeatedLinear(layer.state_weight) for layer in layers]
        ask, combine = None if weight is None else RepeatedLinear(weight), RepeatedLinear(self.combine.weight)
        # Each map begins at a state that all its inputs depend on: what is above the bottom layer, at that layer's.
        states = [repeated.begin(first) for repeated, first in zip(carries, start.unbind(1), strict=True)]
        for repeated in (*inputs[1:], combine, ask):
            states[0] = states[0] if repeated is None else repeated.begin(states[0])
        output = inputs[0].begin(words.new_zeros(words.shape[1], self.hidden_size))
        maps = _Maps(
            [each.map for each in inputs], [each.map for each in carries], None if ask is None else ask.map, combine.map
        )
        outputs, contexts = [], []
        for number, gates in enumerate(linear(words, word_weight, layers[0].input_bias).unbind()):
            output, attended = self._advance(output, gates, states, maps, annotations, number, window)
            outputs.append(output)
            contexts.append(attended.context.squeeze(1))
        return Decoded(torch.stack(outputs), torch.stack(contexts))

    def _unfed(
        self, words: Float[Tensor, "T B E"], annotations: Annotations, start: Float[Tensor, "B L S"], window: Window | None
    ) -> Decoded:
        """All steps at once where nothing is fed: the layers first, then one look of T queries."""
        everywhere = torch.ones(words.shape[:2], dtype=torch.bool, device=words.device)
        hidden = self.layers(words, everywhere, start)[0].transpose(0, 1)
        steps = torch.arange(len(words), device=words.device)
        context = self._attend(hidden, annotations, window=_opened(window, hidden, annotations, steps)).context
        outputs = torch.tanh(self.combine(torch.cat((context, hidden), -1)))
        return Decoded(outputs.transpose(0, 1), context.transpose(0, 1))


class _Maps(NamedTuple):
    """What a step multiplies with: the layers' inputs and states, the query, context and state joined."""

    inputs: list[Map]
    states: list[Map]
    ask: Map | None
    combine: Map


def _opened(window: Window | None, hidden: Tensor, annotations: Annotations, steps: Tensor) -> Mask | None:
    """The window of these states at these steps."""
    if window is None:
        return None
    counts = annotations.lengths
    counts = hidden.new_full((len(hidden),), annotations.values.shape[1], dtype=torch.long) if counts is None else counts
    return window(hidden, counts, steps)
