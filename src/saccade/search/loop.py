"""The one loop of all searches, a generator: step, choose, put what ended aside, let finished inputs go."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from saccade.errors import SaccadeError, ShapeError
from saccade.search.candidates import Candidates, Choose, writable
from saccade.search.history import Endings, History
from saccade.search.hypothesis import divisor
from saccade.search.protocol import NEVER, Joiner, State, Step, Writer, read
from saccade.search.search_config import Config


@dataclass(frozen=True)
class Prompts:
    """What inputs of a memory go on from, of one length; inputs None is all of them.

    Shapes: inputs (B), tokens (B, T)
    """

    inputs: Tensor | None
    tokens: Tensor

    def of(self, state: State) -> Any:
        """The state of these inputs."""
        return state if self.inputs is None else state.select(self.inputs, torch.zeros_like(self.inputs)[:, None])


@torch.inference_mode()
def walk(
    writer: Writer,
    memory: Any,
    config: Config,
    choose: Choose,
    *,
    prompts: Sequence[Prompts],
    limits: Tensor,
    width: int,
    end: int,
    banned: Collection[int],
    looks: bool,
) -> Iterator[tuple[History, Endings, Tensor]]:
    """Follow up to `width` open hypotheses after each of B prompts, up to `limits` (B,) tokens; `choose` says how.

    After every step: all steps so far, the texts that ended, and the prompts that go on, by their index. Prompts of several
    lengths are for a writer that joins them.
    """
    B = len(limits)
    history, endings = History(B), Endings(B, config.n_best, config.length_penalty)
    longest = divisor(limits, config.length_penalty)
    active, totals = torch.arange(B), torch.zeros(B, 1, dtype=torch.float64)
    tokens, state = _begun(writer, memory, prompts)
    for number in range(int(limits.max())):
        step = _stepped(writer, tokens, state, max(end, *banned, 0))
        # A penalty on repetition is on log-probabilities; all else is the same for logits that were not normalized.
        own = step.logits if config.repetition_penalty == 1 else step.log_probs
        before = totals if own is not step.logits else step.before(totals)
        candidates = choose(active, before, *writable(own, banned))
        _refuse_nan(active, before, candidates, own, banned, number)
        ended = candidates.tokens == end
        endings.add(active, candidates.only(ended), number)
        going = candidates.only(~ended).first(width)
        history.add(active, going, step.glance() if looks else [])
        if (full := limits[active] == number + 1).any():
            endings.add(active, going.only(full[:, None]), number)
            going = going.only(~full[:, None])
        # More tokens can only lower a log-probability, and no text is longer than the limit: a hypothesis whose total,
        # spread over the longest text, does not reach the last place cannot reach it later.
        stay = (going.totals.amax(1) / longest[active] > endings.worst(active)).nonzero().squeeze(1)
        yield history, endings, active[stay]
        if len(stay) == 0:
            return
        going = going.of(stay)
        state = _selected(step.state, stay, going.parents, step.logits)
        active, totals, tokens = active[stay], going.totals, going.tokens.to(step.logits.device)


def _begun(writer: Writer, memory: Any, prompts: Sequence[Prompts]) -> tuple[Tensor, Any]:
    """The last token of each prompt (B, 1), and the state after the others."""
    state = writer.start(memory)
    states = [read(writer, own.tokens[:, :-1], own.of(state)) for own in prompts]
    tokens = torch.cat([own.tokens[:, -1:] for own in prompts])
    return tokens, cast(Joiner, writer).join(states) if len(states) > 1 else states[0]


def _stepped(writer: Writer, tokens: Tensor, state: Any, largest: int) -> Step:
    step = writer.step(tokens, state)
    shape = tuple(step.logits.shape)
    if len(shape) != 3 or shape[:2] != tuple(tokens.shape) or shape[2] <= largest:
        expected = f"({tokens.shape[0]}, {tokens.shape[1]}, vocabulary of {largest + 1} or more)"
        raise ShapeError(f"log_probs of a step: expected {expected}, got {shape}")
    return step


def _refuse_nan(
    active: Tensor, totals: Tensor, candidates: Candidates, log_probs: Tensor, banned: Collection[int], number: int
) -> None:
    """NaN ranks above every number, so one look at the best is enough; what may not be written is looked at by itself."""
    wrong = ~(candidates.totals.amax(1) < float("inf"))
    if banned:
        unwritten = log_probs.index_select(-1, torch.tensor(sorted(banned)).to(log_probs.device)).amax(-1)
        wrong |= ~(unwritten.cpu().double().masked_fill(totals == NEVER, NEVER).amax(1) < float("inf"))
    if wrong.any():
        place = int(active[wrong][0])
        raise SaccadeError(
            f"log_probs of step {number}, input {place}: expected numbers or -inf, got NaN or inf from the writer"
        )


def _selected(state: State, rows: Tensor, parents: Tensor, log_probs: Tensor) -> State:
    """The state in its new order; left alone where nothing changes."""
    B, W = log_probs.shape[:2]
    if len(rows) == B and parents.shape[1] == W and torch.equal(parents, torch.arange(W).expand_as(parents)):
        return state
    return state.select(rows.to(log_probs.device), parents.to(log_probs.device))
