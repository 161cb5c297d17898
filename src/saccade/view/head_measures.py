"""What each head attends to, in numbers: shares of weight, entropy, distance (Clark et al. 2019; Vig & Belinkov 2019)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from saccade.view.output.scales import Floats
from saccade.view.trace import Axis, Look, Scene, Weights

SHARES = {
    "previous": "on the token before",
    "same": "on the token itself",
    "next": "on the token after",
    "first": "on the first token, from others",
    "separator": "on separators",
}
MEASURES = SHARES | {"entropy": "in nats", "distance": "in tokens"}
# What tokenizers call the token that ends a text or stands between two.
SEPARATORS = frozenset({"[SEP]", "<sep>", "</s>", "<eos>", "<end>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>"})

Measured = dict[str, tuple[Floats, int]]  # the sum over rows of each head, and the number of rows


@dataclass(frozen=True)
class HeadSums:
    """What the heads of a look were measured to do, over the rows of some texts."""

    stack: str
    "What it has in common with the other layers, such as self-attention."
    layer: int
    heads: int
    sums: Measured = field(default_factory=dict)

    def add(self, more: Measured) -> None:
        """The rows of another text."""
        for name, (total, count) in more.items():
            before, rows = self.sums.get(name, (np.zeros(self.heads), 0))
            self.sums[name] = before + total, rows + count

    def mean(self, measure: str, head: int) -> float | None:
        """Over all rows; None where no row has it."""
        total, count = self.sums.get(measure, (np.zeros(self.heads), 0))
        return float(total[head]) / count if count else None


def is_measured(look: Look) -> bool:
    """Whether a look has heads that can be measured: attention as a matrix."""
    return look.kind == "attention" and look.places is None and look.edges is None


def within(look: Look) -> bool:
    """Whether queries and keys are places of one text: what was read, or what is written and what was before it."""
    return look.queries == look.keys or look.keys == "written"


def layers_of(looks: Sequence[Look]) -> dict[str, int]:
    """The layer of each look of attention, from 1: its own number, else its place among those between the same axes."""
    counts: dict[tuple[str, str], int] = {}
    numbers = {}
    for look in looks:
        if look.kind == "attention":
            sides = (look.queries, look.keys)
            counts[sides] = counts.get(sides, 0) + 1
            numbers[look.name] = look.layer or counts[sides]
    return numbers


def measured(scene: Scene) -> Iterator[tuple[Look, int, Measured]]:
    """Each look of attention with its layer and what its heads do."""
    layers = layers_of(scene.looks)
    for look in scene.looks:
        if is_measured(look):
            separators = separators_of(scene.axes[look.keys])
            yield look, layers[look.name], measures(look.weights, separators, within=within(look))


def separators_of(axis: Axis) -> list[int]:
    """The places of an axis at which a separator stands."""
    return [place for place, label in enumerate(axis.labels) if label.strip() in SEPARATORS]


def measures(weights: Weights, separators: Sequence[int] = (), *, within: bool = True) -> Measured:
    """Sums over the rows of (heads, queries, keys), each with the number of rows that can have it.

    The last query stands where the last key stands. Between two texts (not `within` one) nothing is before or after.
    """
    heads, queries, keys = weights.shape
    found = {"entropy": (_entropies(weights), queries)}
    if separators:
        found["separator"] = weights[:, :, list(separators)].sum((1, 2), dtype=np.float64), queries
    if not within:
        return found
    ahead = keys - queries
    for name, offset in (("previous", -1), ("same", 0), ("next", 1)):
        line = weights.diagonal(ahead + offset, 1, 2)
        found[name] = line.sum(-1, dtype=np.float64), line.shape[-1]
    others = weights[:, max(0, 1 - ahead) :, 0]  # the first token itself looks at the same
    found["first"] = others.sum(-1, dtype=np.float64), others.shape[-1]
    apart = np.abs(np.arange(ahead, keys)[:, None] - np.arange(keys)).astype(np.float32)
    found["distance"] = (weights.reshape(heads, -1) @ apart.ravel()).astype(np.float64), queries
    return found


def _entropies(weights: Weights) -> Floats:
    """-Σ w log w of each head, summed over its rows, a head at a time, which stays in the cache."""
    room = np.empty(weights.shape[1:], np.float32)
    totals = np.empty(len(weights))
    for number, head in enumerate(weights):
        np.maximum(head, np.float32(1e-30), out=room)
        np.log(room, out=room)
        totals[number] = -np.vdot(head, room)
    return totals


def summed(scenes: Sequence[Scene], before: Mapping[str, HeadSums] | None = None) -> dict[str, HeadSums]:
    """What the heads of every look do, by its name, over all scenes, and those before."""
    sums = dict(before or {})
    for scene in scenes:
        for look, layer, more in measured(scene):
            stack = look.name.partition(", layer")[0]
            sums.setdefault(look.name, HeadSums(stack, layer, look.heads)).add(more)
    return sums


def rows_of(scenes: Sequence[Scene]) -> int:
    """How many rows the first measured look of each scene has: its tokens."""
    firsts = (next((look for look in scene.looks if is_measured(look)), None) for scene in scenes)
    return sum(look.weights.shape[1] for look in firsts if look is not None)
