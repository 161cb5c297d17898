"""What a score is: a number for each pair of a query and a key, and the shortcuts it may know."""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from saccade.attention.pair_positions import Positions
from saccade.errors import ShapeError
from saccade.kernels.edge_lists import Graph


class Fold(NamedTuple):
    """A score written as a scaled dot product: scale · query·key + bias, up to a constant a row (softmax removes it)."""

    query: Tensor
    key: Tensor
    scale: float = 1.0
    bias: Callable[[Positions], Tensor] | None = None


class Prepared(NamedTuple):
    """Keys as a score wants them, made once by `Score.prepare` for many calls of `attend` with other queries.

    Queries may come so, too: a loop that multiplies them with `Score.query_weight` itself.
    """

    vectors: Tensor
    spoiled: Tensor | None
    score: "Score"


class Score(nn.Module):
    """Base of all scores. A new one writes `pairs`, and takes a line in `SCORES`; the rest is there to be faster.

    Shapes: `pairs` takes (…, D) queries and (…, D) keys that broadcast against each other, and gives (…).
    """

    # Depends on where a key stands, not only on what it is: permuting the keys changes the result.
    positional: bool = False
    # Gives the logarithm of a kernel, so that softmax is the kernel's own normalization.
    logarithmic: bool = False
    # Numbers held for each pair while scoring: 1 for a matrix product, the width where pairs are compared one by one.
    matrix_product: ClassVar[bool] = False
    # Compares queries and keys number by number: both must have one width.
    one_width: ClassVar[bool] = False
    # Adds what an edge itself says (`at.offset`) to what it scores.
    reads_edges: ClassVar[bool] = False

    @classmethod
    def sized(cls, query_width: int, key_width: int, keys: int) -> "Score":
        """One of this kind for these widths and at most so many keys."""
        return cls()

    def queries(self, query: Tensor) -> Tensor:
        """What is done to each query alone."""
        return query

    def keys(self, key: Tensor) -> Tensor:
        """What is done to each key alone; once for many queries, with `prepare`."""
        return key

    def query_weight(self) -> Tensor | None:
        """The matrix (D, query width) that is all that `queries` does, if it is."""
        return None

    def key_weight(self) -> Tensor | None:
        """The matrix (D, key width) that is all that `keys` does, if it is."""
        return None

    def pairs(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        """The score of each pair: the definition."""
        raise NotImplementedError(f"{type(self).__name__} must define pairs(query, key, at)")

    def forward(self, query: Tensor, key: Tensor, at: Positions) -> Tensor:
        """All pairs of (…, Q, D) and (…, K, D): (…, Q, K)."""
        return self.pairs(query.unsqueeze(-2), key.unsqueeze(-3), at)

    def fold(self, query: Tensor, key: Tensor, live: Tensor | None) -> Fold | None:
        """The same score as a scaled dot product, if it is one; `live` marks the keys that some query may see."""
        return None

    def pool(self, query: Tensor, key: Tensor, value: Tensor, live: Tensor | None, others: bool) -> Tensor | None:
        """The context under softmax over the `live` keys (B, K) in one call, where this score has a kernel for it.

        `others` leaves out the key at the query's own position.
        """
        return None

    def pool_edges(
        self, query: Tensor, key: Tensor, value: Tensor, graph: Graph, offset: Tensor | None, dropout: float
    ) -> Tensor | None:
        """The context under softmax along the edges of a graph in one call, where this score has a kernel for it."""
        return None

    def prepare(self, key: Tensor) -> Prepared:
        """Project the keys once; pass the result as the `key` of `attend` together with this score."""
        from saccade.attention.quarantine import clean

        key, spoiled = clean(key)
        return Prepared(self.keys(key), spoiled, self)

    def pair_numbers(self, query: Tensor) -> int:
        """How many numbers a pair takes while it is scored."""
        return 1 if self.matrix_product else max(1, query.shape[-1])


def keep_number(module: nn.Module, name: str, number: float | Tensor) -> None:
    """Set a number that may be a tensor: a parameter, or a buffer that moves with the module but is not saved."""
    if isinstance(number, Tensor) and not isinstance(number, nn.Parameter):
        module.register_buffer(name, number, persistent=False)
    else:
        setattr(module, name, number)


def same_width(query: Tensor, key: Tensor, score: Score) -> None:
    """Refuse a query and a key that cannot be compared number by number."""
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"score {type(score).__name__} compares queries and keys of one width, got {query.shape[-1]} and "
            f"{key.shape[-1]}; project them first, or use General, Additive or Perceptron made for both widths"
        )
