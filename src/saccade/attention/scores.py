"""The alignment scores of the lectures, and the registry of all scores.

A new score is a class with `pairs` and a line in `SCORES`.
"""

from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention.pair_positions import Positions, joint_leading, spread
from saccade.attention.score import Fold, Score, keep_number, same_width
from saccade.attention.smoothers import Boxcar, Constant, Epanechnikov, Gaussian
from saccade.errors import ShapeError, UnknownName
from saccade.kernels import additive_pool, additive_scores, kernels_on, pooling_on
from saccade.kernels.edge_attention import pool_edges
from saccade.kernels.edge_lists import Graph


class Dot(Score):
    """s·h (Luong et al. 2015, "dot")."""

    matrix_product = True
    one_width = True

    def scale(self, query: Tensor) -> float:
        """What the product is multiplied with."""
        return 1.0

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        same_width(query, key, self)
        return (query * key).sum(-1) * self.scale(query)

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        same_width(query, key, self)
        return (query * self.scale(query)) @ key.transpose(-2, -1)

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold:
        same_width(query, key, self)
        return Fold(query, key, self.scale(query))


class ScaledDot(Dot):
    """s·h / √D (Vaswani et al. 2017, eq. 1); D is the width of one head."""

    def __init__(self, scale: float | None = None) -> None:
        super().__init__()
        self.fixed = scale

    def scale(self, query: Tensor) -> float:
        return float(query.shape[-1]) ** -0.5 if self.fixed is None else self.fixed


class General(Dot):
    """s'W h (Luong et al. 2015, "general")."""

    one_width = False

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(query_width, key_width))
        nn.init.xavier_uniform_(self.weight)

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> Score:
        return cls(query_width, key_width)

    def queries(self, query: Float[Tensor, "... Q D"]) -> Float[Tensor, "... Q _"]:
        return query @ self.weight


class Cosine(Dot):
    """β cos(s, h) (Graves et al. 2014, eq. 5–6); β sharpens. A zero vector scores 0 with everything."""

    sharpness: float | Tensor

    def __init__(self, sharpness: float | Tensor = 1.0) -> None:
        super().__init__()
        keep_number(self, "sharpness", sharpness)

    def queries(self, query: Tensor) -> Tensor:
        return _unit(query) * self.sharpness

    def keys(self, key: Tensor) -> Tensor:
        return _unit(key)


def _unit(vector: Tensor) -> Tensor:
    # The direction does not depend on the size, so dividing by the largest entry first changes nothing, not even the
    # gradient, and keeps the squares in range.
    size = vector.detach().abs().amax(-1, keepdim=True)
    vector = vector / torch.where(size > 0, size, 1)
    square = (vector * vector).sum(-1, keepdim=True)
    return torch.where(square > 0, vector * torch.where(square > 0, square, 1).rsqrt(), 0)


class Perceptron(Score):
    """v'tanh(W s + U h): a small network that reads both."""

    matrix_product = True

    def __init__(self, query_width: int, key_width: int, hidden: int | None = None) -> None:
        super().__init__()
        hidden = query_width if hidden is None else hidden
        self.query_map = nn.Linear(query_width, hidden, bias=False)
        self.key_map = nn.Linear(key_width, hidden, bias=False)
        self.vector = _vector(hidden)

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> Score:
        return cls(query_width, key_width)

    def queries(self, query: Tensor) -> Tensor:
        projected: Tensor = self.query_map(query)
        return projected

    def query_weight(self) -> Tensor:
        return self.query_map.weight

    def keys(self, key: Tensor) -> Tensor:
        projected: Tensor = self.key_map(key)
        return projected

    def key_weight(self) -> Tensor:
        return self.key_map.weight

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        return torch.tanh(query + key) @ self.vector

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        if torch.compiler.is_exporting():  # into torch's own operators
            return super().forward(query, key, at)
        if query.dim() == key.dim() == 3 and query.shape[0] == key.shape[0]:
            return additive_scores(query, key, self.vector)
        leading = joint_leading(query, key)
        flat = [spread(t, leading).reshape(-1, *t.shape[-2:]) for t in (query, key)]
        return additive_scores(flat[0], flat[1], self.vector).view(*leading, query.shape[-2], key.shape[-2])

    def pool(self, query: Tensor, key: Tensor, value: Tensor, live: Tensor | None, others: bool) -> Tensor | None:
        if others or not pooling_on(query, key, value, self.vector):
            return None
        live = torch.ones(key.shape[:2], dtype=torch.bool, device=key.device) if live is None else live.expand(key.shape[:2])
        return additive_pool(query, key, self.vector, value, live)


class Additive(Perceptron):
    """v'tanh(W[s; h]) (Bahdanau et al. 2015): one W over both, the perceptron with W and U side by side."""

    def __init__(self, query_width: int, key_width: int, hidden: int | None = None) -> None:
        Score.__init__(self)
        hidden = query_width if hidden is None else hidden
        self.query_width = query_width
        self.weight = nn.Parameter(torch.empty(hidden, query_width + key_width))
        nn.init.xavier_uniform_(self.weight)
        self.vector = _vector(hidden)

    def queries(self, query: Tensor) -> Tensor:
        return query @ self.query_weight().T

    def query_weight(self) -> Tensor:
        return self.weight[:, : self.query_width]

    def keys(self, key: Tensor) -> Tensor:
        return key @ self.key_weight().T

    def key_weight(self) -> Tensor:
        return self.weight[:, self.query_width :]


def _vector(width: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(width).uniform_(-1, 1) * (3 / width) ** 0.5)


class Concat(Score):
    """w·[s; h], no tanh: linear, so the part of s is the same for all keys and softmax cancels it."""

    matrix_product = True

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.query_vector = _vector(query_width)
        self.key_vector = _vector(key_width)

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> Score:
        return cls(query_width, key_width)

    def queries(self, query: Tensor) -> Tensor:
        return query @ self.query_vector[:, None]

    def keys(self, key: Tensor) -> Tensor:
        return key @ self.key_vector[:, None]

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        return (query + key).squeeze(-1)

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold:
        pair = (torch.cat((query, torch.ones_like(query)), -1), torch.cat((torch.ones_like(key), key), -1))
        return Fold(*pair)


class LeakyConcat(Score):
    """LeakyReLU(w·[s; h]) (Veličković et al. 2018, eq. 3), of which softmax cancels nothing; on edges, plus the edge's own.

    With `heads`, each head has a w of its own.
    """

    matrix_product = True
    reads_edges = True

    def __init__(self, query_width: int, key_width: int, heads: int | None = None, slope: float = 0.2) -> None:
        super().__init__()
        leading = () if heads is None else (heads,)
        self.slope = slope
        self.query_vector = nn.Parameter(torch.empty(*leading, query_width, 1))
        self.key_vector = nn.Parameter(torch.empty(*leading, key_width, 1))
        for vector in (self.query_vector, self.key_vector):
            bound = (6 / (vector.shape[-2] + (heads or 1))) ** 0.5  # Glorot's, of one table for all heads
            nn.init.uniform_(vector, -bound, bound)

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> Score:
        return cls(query_width, key_width)

    def queries(self, query: Tensor) -> Tensor:
        return query @ self.query_vector

    def keys(self, key: Tensor) -> Tensor:
        return key @ self.key_vector

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        total = (query + key).squeeze(-1)
        return F.leaky_relu(total if at.offset is None else total + at.offset, self.slope)

    def pool_edges(
        self, query: Tensor, key: Tensor, value: Tensor, graph: Graph, offset: Tensor | None, dropout: float
    ) -> Tensor | None:
        if not kernels_on(query, key, value, *([] if offset is None else [offset])):
            return None
        if 0 in (*query.shape, *key.shape, *value.shape, graph.edge_index.shape[1]):  # nothing for a kernel to do
            return None
        leading = joint_leading(query, key, value)
        query, key = (spread(side, leading).reshape(-1, side.shape[-2]).T for side in (query, key))
        value = spread(value, leading).reshape(-1, *value.shape[-2:]).transpose(0, 1)
        if offset is not None:
            offset = offset.expand(*leading, -1).reshape(-1, offset.shape[-1]).T
        context = pool_edges(query, key, value, graph, slope=self.slope, offset=offset, dropout=dropout)
        return context.transpose(0, 1).reshape(*leading, graph.nodes, value.shape[-1])


class Location(Score):
    """W s (Luong et al. 2015, "location"): a weight for each place, whatever key stands there."""

    positional = True
    matrix_product = True

    def __init__(self, query_width: int, places: int) -> None:
        super().__init__()
        self.map = nn.Linear(query_width, places, bias=False)

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> Score:
        return cls(query_width, keys)

    def queries(self, query: Tensor) -> Tensor:
        places: Tensor = self.map(query)
        return places

    def _check(self, at: Positions) -> None:
        if at.keys > self.map.out_features:
            raise ShapeError(f"location score knows {self.map.out_features} places, got {at.keys} keys; make it larger")

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        self._check(at)
        return query.gather(-1, at.key[:, None].expand(*query.shape[:-1], 1)).squeeze(-1)

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        self._check(at)
        leading = joint_leading(query, key)
        return query[..., at.key].expand(*leading, -1, -1)


class RelativeBias(nn.Module):
    """A learned number for each distance from query to key, clipped at `reach` (Shaw et al. 2018); one set a head."""

    def __init__(self, reach: int, heads: int | None = None) -> None:
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.zeros(2 * reach + 1) if heads is None else torch.zeros(heads, 2 * reach + 1))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, at: Positions) -> Tensor:
        """(Q, K), (H, Q, K) or, on edges, (E), (H, E)."""
        distance = (at.key - at.query).clamp(-self.reach, self.reach) + self.reach
        return at.select(self.table[..., distance])


class Biased(Score):
    """Another score plus a bias that knows positions only: `Biased(ScaledDot(), RelativeBias(16, heads=8))`."""

    positional = True
    one_width = True

    def __init__(self, score: Score, bias: nn.Module) -> None:
        super().__init__()
        self.score = score
        self.bias = bias
        self.logarithmic = score.logarithmic

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> Score:
        return cls(ScaledDot(), RelativeBias(reach=4))

    def queries(self, query: Tensor) -> Tensor:
        return self.score.queries(query)

    def keys(self, key: Tensor) -> Tensor:
        return self.score.keys(key)

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        return self.score.pairs(query, key, at) + self._bias(at)

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        scores: Tensor = self.score(query, key, at)
        return scores + self._bias(at)

    def _bias(self, at: Positions) -> Tensor:
        bias: Tensor = self.bias(at)
        return bias

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold | None:
        inner = self.score.fold(query, key, live)
        return None if inner is None else inner._replace(bias=self._bias)

    def pair_numbers(self, query: Tensor) -> int:
        return self.score.pair_numbers(query)


SCORES: dict[str, type[Score]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "additive": Additive,
    "general": General,
    "concat": Concat,
    "leaky_concat": LeakyConcat,
    "perceptron": Perceptron,
    "cosine": Cosine,
    "location": Location,
    "gaussian": Gaussian,
    "boxcar": Boxcar,
    "epanechnikov": Epanechnikov,
    "constant": Constant,
    "biased": Biased,
}


def make_score(name: str, *, query_width: int, key_width: int, keys: int) -> Score:
    """The score of this name, for these widths and at most so many keys."""
    if name not in SCORES:
        raise UnknownName("score", name, SCORES)
    return SCORES[name].sized(query_width, key_width, keys)


def as_score(score: Score | str) -> Score:
    """The score itself, or the one of this name if it has no parameters to be learned."""
    if isinstance(score, Score):
        return score
    if not isinstance(score, str):
        raise ShapeError(f"score must be a Score such as ScaledDot(), or a name, got {_described(score)}")
    kind: Any = SCORES.get(score)
    return (_made if torch.compiler.is_compiling() else _named)(score, kind)


def _described(thing: object) -> str:
    return f"the class {thing.__name__}: make one of it" if isinstance(thing, type) else type(thing).__name__


def _made(name: str, kind: Any) -> Score:
    """The score of this name; `kind` is there so that the cache notices a new entry."""
    made = make_score(name, query_width=1, key_width=1, keys=1)
    if next(made.parameters(), None) is not None:
        kind_name = type(made).__name__
        raise ShapeError(f"score {name!r} has parameters of its own: pass a module, {kind_name}(…), instead of the name")
    return made


# One object serves all calls that only name it: it has no state.
_named = cache(_made)
