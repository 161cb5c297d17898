"""A long short-term memory-network (Cheng et al. 2016, section 3.1): an LSTM that attends to all it has been.

An LSTM goes on from its last state. Here every state so far stays on two tapes, hidden and memory, and a step goes on from
their mean under attention: [h̃; c̃] = Σ α_i [h_i; c_i], α by the input, the last h̃ and each h_i (equations 4 to 7). Where
attention stays on the step before, it is the LSTM.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Additive, Attended, Score, attend
from saccade.attention.score import Prepared
from saccade.kernels import recurrent_cells
from saccade.kernels.wide_products import linear
from saccade.layers.recurrent import Recurrent, cell_named, reset
from saccade.layers.repeated_linear import RepeatedLinear

Ask = Callable[[int, Tensor], Tensor | Prepared]
Key = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Tapes:
    """What an LSTM has been: keys as the score takes them, states h ‖ c, and what the last step went on from.

    Shapes: keys (B, T, _), states (B, T, 2H), context (B, 2H)
    """

    keys: Float[Tensor, "B T _"]
    states: Float[Tensor, "B T _"]
    context: Float[Tensor, "B _"]

    def select(self, rows: Tensor) -> "Tapes":
        """Those of some rows."""
        return Tapes(self.keys[rows], self.states[rows], self.context[rows])

    def last(self, most: int) -> "Tapes":
        """The latest so many states."""
        return replace(self, keys=self.keys[:, -most:], states=self.states[:, -most:])


class TapeLSTM(nn.Module):
    """Shapes: x (T, B, width) -> h (T, B, hidden)"""

    def __init__(self, width: int, hidden: int, score: Score | None = None) -> None:
        super().__init__()
        self.cell, self.hidden = cell_named("lstm"), hidden
        self.score = Additive(width + hidden, hidden, hidden) if score is None else score
        self.input_weight = nn.Parameter(torch.empty(4 * hidden, width))
        self.state_weight = nn.Parameter(torch.empty(4 * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(4 * hidden))
        reset(self.input_weight, self.state_weight, hidden)

    def forward(self, x: Float[Tensor, "T B _"]) -> Float[Tensor, "T B H"]:
        if not len(x):
            return x.new_zeros(0, x.shape[1], self.hidden)
        state_map = RepeatedLinear(self.state_weight)
        context = state_map.begin(x.new_zeros(x.shape[1], 2 * self.hidden))
        gates = linear(x, self.input_weight, self.bias)
        context, ask, key = self._projections(x, context)
        keys: list[Tensor] = []
        states: list[Tensor] = []
        for step, gate in enumerate(gates.unbind()):
            if states:
                query = ask(step, context[:, : self.hidden])
                context = self._attended(query, torch.stack(keys, 1), torch.stack(states, 1)).context[:, 0]
            a = state_map.map(context[:, : self.hidden])
            states.append(recurrent_cells.step(self.cell, gate, a, context))
            keys.append(key(states[-1][:, : self.hidden]))
        return torch.stack(states)[..., : self.hidden]

    def _projections(self, x: Tensor, context: Tensor) -> tuple[Tensor, Ask, Key]:
        """The first context, and what makes a step's query from a context's h, and a key from a state's.

        Where the score only multiplies with a matrix, inputs are multiplied all at once, and states in a way whose
        gradient is one product at the end.
        """
        ask_weight, key_weight = self.score.query_weight(), self.score.key_weight()
        if ask_weight is None or key_weight is None:
            inputs = x.unbind()
            return context, lambda step, h: torch.cat((inputs[step], h), -1)[:, None], self.score.keys
        own, carried = ask_weight.split((x.shape[-1], self.hidden), 1)
        asked, ask, key = linear(x, own, None).unbind(), RepeatedLinear(carried), RepeatedLinear(key_weight)
        context = key.begin(ask.begin(context))
        return context, lambda step, h: Prepared(ask.map(h, asked[step])[:, None], None, self.score), key.map

    def begin(self, rows: int) -> Tapes:
        """Nothing read yet."""
        context = self.bias.new_zeros(rows, 2 * self.hidden)
        return Tapes(self._key(context)[:, None][:, :0], context[:, None][:, :0], context)

    def step(self, x: Float[Tensor, "B _"], tapes: Tapes) -> tuple[Float[Tensor, "B H"], Tapes, Attended]:
        """The next h, the tapes with one state more, and where it came from."""
        query = torch.cat((x, tapes.context[:, : self.hidden]), -1)[:, None]
        attended = self._attended(query, tapes.keys, tapes.states)
        context = attended.context[:, 0]
        a = linear(context[:, : self.hidden], self.state_weight, None)
        state = recurrent_cells.step(self.cell, linear(x, self.input_weight, self.bias), a, context)
        keys = torch.cat((tapes.keys, self._key(state)[:, None]), 1)
        following = Tapes(keys, torch.cat((tapes.states, state[:, None]), 1), context)
        return state[:, : self.hidden], following, attended

    def _key(self, state: Float[Tensor, "B _"]) -> Float[Tensor, "B _"]:
        return self.score.keys(state[:, : self.hidden])

    def _attended(self, query: Tensor | Prepared, keys: Tensor, states: Tensor) -> Attended:
        return attend(query, Prepared(keys, None, self.score), states, score=self.score)


class PlainLSTM(Recurrent):
    """The same without attention, the control: a step goes on from the state before, the only one on the tapes.

    Shapes: x (T, B, width) -> h (T, B, hidden)
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(width, hidden, "lstm")

    def forward(self, x: Float[Tensor, "T B _"], live: Bool[Tensor, "T B"] | None = None) -> Float[Tensor, "T B H"]:
        everywhere = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if live is None else live
        return super().forward(x, everywhere)[..., : self.hidden]

    def begin(self, rows: int) -> Tapes:
        """Nothing read yet."""
        context = self.state_bias.new_zeros(rows, 2 * self.hidden)
        return Tapes(context[:, None, :0], context[:, None], context)

    def step(self, x: Float[Tensor, "B _"], tapes: Tapes) -> tuple[Float[Tensor, "B H"], Tapes, None]:
        """The next h, and the state after it."""
        before = tapes.states[:, -1]
        a = linear(before[:, : self.hidden], self.state_weight, self.state_bias)
        state = recurrent_cells.step(self.cell, linear(x, self.input_weight, self.input_bias), a, before)
        return state[:, : self.hidden], Tapes(tapes.keys, state[:, None], before), None


def tape_weights(seen: Sequence[Any], steps: int) -> Float[Tensor, "B 1 T T"]:
    """The weights of all steps of a `TapeLSTM`: nobody looks at itself or further, and the first at nothing."""
    rows = [F.pad(attended.weights(), (0, steps - attended.call.keys)) for attended in seen]
    return torch.cat((torch.zeros_like(rows[0]), *rows), 1)[:, None]
