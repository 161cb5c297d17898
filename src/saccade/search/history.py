"""The steps behind a search, kept as they happened, and the way back through them from every text that was returned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from saccade.search.candidates import Candidates
from saccade.search.hypothesis import Hypothesis, HypothesisLook, divisor
from saccade.search.protocol import NEVER, StepLook


@dataclass(frozen=True)
class Moment:
    """One step: who was there, how the hypotheses went on, and where they looked.

    Shapes: places (inputs), the row of each input in this step
    """

    places: Tensor
    going: Candidates
    looks: Sequence[StepLook]


class Endings:
    """The best texts of each input so far, best first, as the steps and hypotheses they ended in.

    Shapes: all (inputs, count); a score of -inf marks a free place.
    """

    def __init__(self, inputs: int, count: int, penalty: float) -> None:
        self.penalty = penalty
        self.scores = torch.full((inputs, count), NEVER, dtype=torch.float64)
        self.totals = self.scores.clone()
        self.steps, self.parents, self.tokens = (torch.zeros(inputs, count, dtype=torch.long) for _ in range(3))

    def add(self, active: Tensor, candidates: Candidates, step: int) -> None:
        """Let these compete for a place; of equals, who came first stays."""
        if not (candidates.totals > NEVER).any():
            return
        scores = candidates.totals / divisor(step + 1, self.penalty)
        steps = torch.full_like(candidates.tokens, step)
        joined = torch.cat((self.scores[active], scores), 1)
        order = joined.sort(dim=1, descending=True, stable=True).indices[:, : self.scores.shape[1]]
        fresh = (scores, candidates.totals, steps, candidates.parents, candidates.tokens)
        for kept, new in zip((self.scores, self.totals, self.steps, self.parents, self.tokens), fresh, strict=True):
            kept[active] = torch.cat((kept[active], new), 1).gather(1, order)

    def worst(self, active: Tensor) -> Tensor:
        """The score to beat for a place among those of each input, (B,)."""
        return self.scores[active, -1]


class History:
    """All moments of a search."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.moments: list[Moment] = []
        self._active: Tensor | None = None

    def add(self, active: Tensor, going: Candidates, looks: Sequence[StepLook]) -> None:
        """Keep a step; weights are copied, since a writer may use their room again."""
        if self._active is not None and len(active) == len(self._active):
            places = self.moments[-1].places
        else:
            places = torch.zeros(self.inputs, dtype=torch.long)
            places[active] = torch.arange(len(active))
        self._active = active
        kept = [replace(look, weights=look.weights.to("cpu", torch.float32, copy=True)) for look in looks]
        self.moments.append(Moment(places, going, kept))

    def decided(self, endings: Endings, place: int, start: int) -> list[int]:
        """The tokens, from number `start` on, that all texts of an input share which may still be returned."""
        count = int((endings.scores[place] > NEVER).sum())
        ended = list(zip(endings.steps[place, :count].tolist(), endings.parents[place, :count].tolist(), strict=True))
        shortest = min((step for step, _ in ended), default=len(self.moments))
        latest = self.moments[-1]
        rows = set((latest.going.totals[latest.places[place]] > NEVER).nonzero().flatten().tolist())
        for step in range(len(self.moments) - 1, start - 1, -1):
            rows |= {parent for number, parent in ended if number == step + 1}
            if len(rows) == 1 and step < shortest:
                return self._tokens(place, step, rows.pop(), start)
            parents = self.moments[step].going.parents[self.moments[step].places[place]].tolist()
            rows = {parents[row] for row in rows}
        return []

    def rest(self, endings: Endings, place: int, start: int, end: int) -> list[int]:
        """The tokens of the best text of an input, from number `start` on."""
        if endings.scores[place, 0] == NEVER:
            return []
        step, last = int(endings.steps[place, 0]), int(endings.tokens[place, 0])
        before = self._tokens(place, step - 1, int(endings.parents[place, 0]), start)
        return before if last == end else [*before, last]

    def _tokens(self, place: int, step: int, row: int, start: int) -> list[int]:
        """The tokens of an input that a hypothesis has after a step, from number `start` on."""
        tokens = []
        for moment in self.moments[start : step + 1][::-1]:
            own = moment.places[place]
            tokens.append(int(moment.going.tokens[own, row]))
            row = int(moment.going.parents[own, row])
        return tokens[::-1]

    def hypotheses(self, endings: Endings, end: int) -> list[list[Hypothesis]]:
        """The texts that these endings close, best first for each input."""
        inputs, ranks = (endings.scores > NEVER).nonzero(as_tuple=True)
        steps, parents, last = (kept[inputs, ranks] for kept in (endings.steps, endings.parents, endings.tokens))
        tokens, rows, totals = self._back(inputs, steps, parents, last, endings.totals[inputs, ranks])
        log_probs = totals.diff(dim=1, prepend=torch.zeros(len(totals), 1, dtype=totals.dtype))
        looks = self._looks(inputs, steps, rows)
        hypotheses: list[list[Hypothesis]] = [[] for _ in range(self.inputs)]
        numbers = zip(
            inputs.tolist(), ranks.tolist(), steps.tolist(), tokens.tolist(), log_probs.tolist(), looks, strict=True
        )
        for place, rank, step, written, own, look in numbers:
            finished = written[step] == end
            log_prob, score = float(endings.totals[place, rank]), float(endings.scores[place, rank])
            text = written[: step + (not finished)]
            hypotheses[place].append(Hypothesis(text, log_prob, score, finished, look, own[: step + 1]))
        return hypotheses

    def _back(
        self, inputs: Tensor, steps: Tensor, parents: Tensor, last: Tensor, sums: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The tokens of N texts, the hypotheses that wrote them and the log-probability so far, step by step, all (N, T)."""
        tokens = torch.zeros(len(inputs), len(self.moments), dtype=torch.long)
        rows = tokens.clone()
        totals, everyone = torch.zeros_like(tokens, dtype=torch.float64), torch.arange(len(inputs))
        tokens[everyone, steps], rows[everyone, steps], totals[everyone, steps] = last, parents, sums
        for step in range(len(self.moments) - 2, -1, -1):
            moment = self.moments[step]
            texts = (steps > step).nonzero().squeeze(1)
            place, row = moment.places[inputs[texts]], rows[texts, step + 1]
            tokens[texts, step] = moment.going.tokens[place, row]
            rows[texts, step] = moment.going.parents[place, row]
            totals[texts, step] = moment.going.totals[place, row]
        return tokens, rows, totals

    def _looks(self, inputs: Tensor, steps: Tensor, rows: Tensor) -> Iterator[list[HypothesisLook]]:
        """The weights along each text."""
        looks = self.moments[0].looks if self.moments else []
        joined = [self._joined(number, inputs, steps, rows) for number in range(len(looks))]
        for text, step in enumerate(steps.tolist()):
            ways = zip(*(moment.looks for moment in self.moments[: step + 1]), strict=True)
            widths = [max(look.weights.shape[-1] for look in way) for way in ways]
            yield [
                HypothesisLook(look.name, look.keys, weights[text, :, : step + 1, :width].clone())
                for look, weights, width in zip(looks, joined, widths, strict=True)
            ]

    def _joined(self, number: int, inputs: Tensor, steps: Tensor, rows: Tensor) -> Tensor:
        """The weights of one look of N texts, (N, heads, T, keys). Keys that are not there at a step get 0."""
        all_weights = [moment.looks[number].weights for moment in self.moments]
        widest = max(weights.shape[-1] for weights in all_weights)
        joined = torch.zeros(len(inputs), all_weights[0].shape[2], len(all_weights), widest)
        for step, (moment, weights) in enumerate(zip(self.moments, all_weights, strict=True)):
            texts = (steps >= step).nonzero().squeeze(1)
            joined[texts, :, step, : weights.shape[-1]] = weights[moment.places[inputs[texts]], rows[texts, step]]
        return joined
