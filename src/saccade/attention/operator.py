"""The operator: score → mask → normalize → pool, with the fast path taken wherever there is one."""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade.attention import looks
from saccade.attention.attended import Attended
from saccade.attention.call import ALL, BLOCK_NUMBERS, AttentionCall, band_rows
from saccade.attention.dropped import Plan, dropped_pool
from saccade.attention.factorized import LEAST, factorized, factorized_pool
from saccade.attention.fused import SHORT_PAIRS, PoolInputs, drop, softmax_pool
from saccade.attention.local import Local
from saccade.attention.masks import Allow, Causal, Lengths, Mask, Others
from saccade.attention.normalizers import Normalizer, Softmax, as_normalizer
from saccade.attention.pair_positions import joint_leading, spread
from saccade.attention.quarantine import clean, either, finite, poison, still_finite
from saccade.attention.score import Fold, Prepared, Score
from saccade.attention.scores import as_score
from saccade.errors import ShapeError
from saccade.kernels.runtime import traced


def attend(
    query: Float[Tensor, "... Q _"] | Prepared,
    key: Float[Tensor, "... K _"] | Prepared,
    value: Float[Tensor, "... K _"],
    *,
    score: Score | str = "scaled_dot",
    mask: Mask | None = None,
    normalize: Normalizer | str = "softmax",
    dropout: float = 0.0,
) -> Attended:
    """For each query the sum of the values, weighted by the normalized scores of query and keys; and what the weights are.

    Leading dimensions are free and broadcast. `score` is a module, or the name of one without parameters; `key` may be
    what `score.prepare(key)` gave. In a mask True means may look; a query that may look nowhere gets zeros. `dropout`
    drops weights for the context; `Attended.weights()` shows them without dropout.
    """
    score = as_score(score)
    normalize = as_normalizer(normalize, score.logarithmic)
    check_dropout(dropout)
    call, value = _set(query, key, value, score, mask, normalize)
    if 0 in (call.keys, value.shape[-1], *call.query.shape[:-1]):
        context = _zeros(call, value)
    else:
        context = _context(call, value, dropout)
    attended = Attended(poison(context, call.spoiled), call)
    looks.record(attended)
    return attended


def _zeros(call: AttentionCall, value: Tensor) -> Tensor:
    """The context where nothing is looked at, tied to its inputs: their gradients are zeros, too."""
    tie = sum(part[..., :0].sum() for part in (call.query, call.key, value))
    return value.new_zeros(*call.query.shape[:-1], value.shape[-1]) + tie


def _context(call: AttentionCall, value: Tensor, dropout: float) -> Tensor:
    """By the score's own kernel, the fused one, or the definition."""
    pooled = _pooled(call, value) if dropout == 0 else None
    if pooled is not None:
        return pooled
    fold = _fold(call)
    return _explicit(call, value, dropout) if fold is None else _fast(call, fold, value, dropout)


def _set(
    query: Tensor | Prepared,
    key: Tensor | Prepared,
    value: Tensor,
    score: Score,
    mask: Mask | None,
    normalize: Normalizer,
) -> tuple[AttentionCall, Tensor]:
    """Check, clean, project and align the three tensors."""
    queries, query_ready, query_spoiled = _unpacked(query, score)
    keys, key_ready, key_spoiled = _unpacked(key, score)
    queries, keys, value = of_one_dtype(queries, keys, value, key_ready is not None, query_ready is not None)
    check_kinds(queries, keys, value, mask)
    _check(queries, keys, value)
    spoiled: tuple[Tensor | None, ...] = (None, None, None)
    known_bad = query_spoiled is not None or key_spoiled is not None
    if known_bad or (mask is not None and not _all_finite(queries, keys, value, mask, key_ready)):
        queries, bad_query = clean(queries)
        keys, bad_key = clean(keys)
        value, bad_value = clean(value)
        spoiled = (either(bad_query, query_spoiled), either(bad_key, key_spoiled), bad_value)
    projected = _project(queries, keys, score, query_ready, key_ready)
    leading = joint_leading(*projected, value)
    queries, keys, value = (spread(t, leading) for t in (*projected, value))
    noise = 1 - torch.rand(*queries.shape[:-1], 1, dtype=torch.float64, device=queries.device) if normalize.draws else None
    call = AttentionCall(queries, keys, score, mask, normalize, noise)
    _check_mask(call)
    saw = _saw_spoiled(call, *spoiled)
    return (call if saw is None else replace(call, spoiled=saw)), value


def _unpacked(given: Tensor | Prepared, score: Score) -> tuple[Tensor, bool, Tensor | None]:
    """The vectors, whether this score has made them ready already, and which of them are not finite."""
    if not isinstance(given, Prepared):
        return given, False, None
    if given.score is not score:
        raise ShapeError(f"these keys were prepared by another score ({type(given.score).__name__}): pass it as score=")
    return given.vectors, True, given.spoiled


def _project(query: Tensor, key: Tensor, score: Score, query_ready: bool, key_ready: bool) -> tuple[Tensor, Tensor]:
    try:
        return query if query_ready else score.queries(query), key if key_ready else score.keys(key)
    except RuntimeError as error:
        widths = f"queries of width {query.shape[-1]} and keys of width {key.shape[-1]}"
        raise ShapeError(f"score {type(score).__name__} was not made for {widths}") from error


def _check_mask(call: AttentionCall) -> None:
    """Refuse a mask with tensors of its own that do not fit the samples."""
    size = (*call.query.shape[:-2], 1, call.keys)
    for part in () if call.mask is None or call.keys == 0 else call.mask.parts():
        if isinstance(part, Lengths | Allow | Local):
            seen = part.allows(call.at(slice(0, 1))).shape
            fits = len(seen) <= len(size) and all(a in (1, b) for a, b in zip(seen[::-1], size[::-1], strict=False))
            if not fits:
                wanted = " × ".join(map(str, (*size[:-2], call.queries, call.keys)))
                raise ShapeError(f"mask {part} does not fit scores of {wanted}; one for each sample is (B, 1, Q, K)")


def _all_finite(query: Tensor, key: Tensor, value: Tensor, mask: Mask, key_ready: bool) -> bool:
    # Under a square causal mask every query sees something: one that is not finite spoils its own row, as it should.
    own_row = isinstance(mask, Causal) and query.shape[-2] <= key.shape[-2]
    return (own_row or finite(query)) and (still_finite(key, value) if key_ready else finite(key, value))


def _saw_spoiled(call: AttentionCall, query: Tensor | None, key: Tensor | None, value: Tensor | None) -> Tensor | None:
    """(…, Q): the queries that are not finite themselves, or may see a key or value that is not."""
    spoiled = either(key, value)
    if (query is None and spoiled is None) or call.keys == 0:
        return None
    saw = None if spoiled is None else call.sees(spoiled)
    if query is None:
        return saw
    return either(saw, query & call.sees(torch.ones(call.keys, dtype=torch.bool, device=query.device)))


def check_dropout(chance: float) -> None:
    """Refuse what is not a probability."""
    if isinstance(chance, bool) or not 0 <= chance <= 1:
        raise ShapeError(f"dropout must be a probability from 0 to 1, got {chance}")


def of_one_dtype(
    query: Tensor, key: Tensor, value: Tensor, key_ready: bool, query_ready: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Under autocast, where some are of 16 bits and some are not: all of the widest dtype, or of what is prepared."""
    if not all(isinstance(one, Tensor) for one in (query, key, value)) or query.dtype == key.dtype == value.dtype:
        return query, key, value
    if not torch.is_autocast_enabled(value.device.type):
        return query, key, value  # which are refused
    widest = torch.promote_types(torch.promote_types(query.dtype, key.dtype), value.dtype)
    dtype = key.dtype if key_ready else query.dtype if query_ready else widest
    return query.to(dtype), key.to(dtype), value.to(dtype)


def check_kinds(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> None:
    """Refuse what is not a tensor of real numbers of one dtype, or not a mask."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            kind = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ShapeError(f"{name} must be a tensor of floating-point numbers, got {kind}")
    if not query.dtype == key.dtype == value.dtype:
        raise ShapeError(f"query, key and value must have one dtype, got {query.dtype}, {key.dtype} and {value.dtype}")
    if mask is not None and not isinstance(mask, Mask):
        raise ShapeError(f"mask must be a mask such as causal() or allow(boolean tensor), got {type(mask).__name__}")


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    if min(query.dim(), key.dim(), value.dim()) < 2:
        shapes = ", ".join(str(tuple(t.shape)) for t in (query, key, value))
        raise ShapeError(f"query, key and value need at least two dimensions (…, length, width), got {shapes}")
    if key.shape[-2] != value.shape[-2]:
        raise ShapeError(f"as many values as keys are needed, got {key.shape[-2]} keys and {value.shape[-2]} values")


def _fold(call: AttentionCall) -> Fold | None:
    if not isinstance(call.normalize, Softmax) or (call.mask is not None and call.mask.has_factor()):
        return None
    if type(call.score).fold is Score.fold:
        return None
    leading, device = call.query.dim() - 2, call.query.device
    live = None if call.mask is None else call.mask.live(call.keys, leading, device)
    return call.score.fold(call.query, call.key, live)


def _fast(call: AttentionCall, fold: Fold, value: Tensor, dropout: float) -> Tensor:
    """The folded score on the fused kernel: in one call where the kernel knows the mask, else in blocks of rows."""
    parts = () if call.mask is None else call.mask.parts()
    query, key = fold.query, fold.key
    # Dropout needs the weights themselves, of which long sequences have too many.
    long = dropout > 0 and call.queries * call.keys > SHORT_PAIRS
    whole = fold.bias is None and not long
    exporting = torch.compiler.is_exporting()
    if whole and not exporting and all(isinstance(part, Causal) for part in parts) and call.queries in (1, call.keys):
        causal = bool(parts) and call.queries > 1
        return softmax_pool(PoolInputs(query, key, value, fold.scale, causal=causal, dropout=dropout))
    if whole and call.mask is not None and all(isinstance(part, Lengths) for part in parts):
        allowed: Tensor | None = call.mask.allows(call.at(slice(0, 1)))
        return softmax_pool(PoolInputs(query, key, value, fold.scale, allowed, dropout=dropout))
    pattern = None if fold.bias is not None or exporting else factorized(call.mask)
    if pattern is not None and call.queries == call.keys >= LEAST:
        return factorized_pool(query, key, value, fold.scale, pattern, dropout)
    if long and not traced():
        learns = fold.bias is not None and torch.is_grad_enabled() and fold.bias(call.at(slice(0, 1))).requires_grad
        return _explicit(call, value, dropout) if learns else _dropped(call, fold, value, dropout)
    contexts = []
    blocks = list(call.blocks(_fast_rows(call)))
    keys, values = ColumnRanges(key, blocks), ColumnRanges(value, blocks)
    for rows, columns in blocks:
        at = call.at(rows, columns)
        allowed = None if call.mask is None else call.mask.allows(at)
        bias = None if fold.bias is None else fold.bias(at)
        block = PoolInputs(query[..., rows, :], keys.take(columns), values.take(columns), fold.scale, allowed, bias)
        contexts.append(softmax_pool(block._replace(dropout=dropout)))
    return contexts[0] if len(contexts) == 1 else torch.cat(contexts, -2)


def _dropped(call: AttentionCall, fold: Fold, value: Tensor, dropout: float) -> Tensor:
    """The same with dropout, a bounded number of weights at a time."""

    def seen(rows: slice, columns: slice) -> tuple[Tensor | None, Tensor | None]:
        at = call.at(rows, columns)
        allowed = None if call.mask is None else call.mask.allows(at)
        return allowed, None if fold.bias is None else fold.bias(at)

    held = BLOCK_NUMBERS // (math.prod(call.query.shape[:-2]) * call.keys)
    blocks = list(call.blocks(max(1, min(_fast_rows(call), held))))
    return dropped_pool(fold.query, fold.key, value, Plan(blocks, call.query.shape[:-2], seen, fold.scale, dropout))


def _fast_rows(call: AttentionCall) -> int:
    band = None if call.mask is None else call.mask.band()
    if band is not None:
        return band_rows(band)
    triangular = call.mask is not None and any(isinstance(part, Causal) for part in call.mask.parts())
    return 256 if triangular else 512


def _explicit(call: AttentionCall, value: Tensor, dropout: float) -> Tensor:
    """The definition, in blocks of rows; with more than one block, their weights are computed again for the gradient."""
    if call.fits():
        return _pool(call, ALL, ALL, call.key, value, dropout)
    blocks = list(call.blocks())
    keys, values = ColumnRanges(call.key, blocks), ColumnRanges(value, blocks)
    contexts = []
    for rows, columns in blocks:
        inputs = (call, rows, columns, keys.take(columns), values.take(columns), dropout)
        contexts.append(checkpoint(_pool, *inputs, use_reentrant=False) if torch.is_grad_enabled() else _pool(*inputs))
    return torch.cat(contexts, -2)


def _pooled(call: AttentionCall, value: Tensor) -> Tensor | None:
    """The score's own kernel from scores to context, where it has one and the mask is but padding, or leaves one out."""
    if traced() or type(call.score).pool is Score.pool or not isinstance(call.normalize, Softmax):
        return None
    parts = () if call.mask is None else call.mask.parts()
    if not all(isinstance(part, Lengths | Others) for part in parts):
        return None
    live = None if call.mask is None else call.mask.live(call.keys, call.query.dim() - 2, call.query.device)
    others = any(isinstance(part, Others) for part in parts)
    return call.score.pool(call.query, call.key, value, live, others)


def _pool(call: AttentionCall, rows: slice, columns: slice, key: Tensor, value: Tensor, dropout: float) -> Tensor:
    weights = call.weights(rows, columns, key)
    return (drop(weights, dropout) if dropout > 0 else weights) @ value


class ColumnRanges:
    """Ranges of keys or values for the blocks. Cut from whole pieces, so that the gradient of a range costs a range.

    (The gradient of a plain slice is a tensor as long as the whole, for every block.)
    """

    def __init__(self, tensor: Tensor, blocks: list[tuple[slice, slice]]) -> None:
        self.tensor = tensor
        self.size = blocks[0][0].stop - blocks[0][0].start
        narrow = any(columns.stop - columns.start < tensor.shape[-2] for _, columns in blocks)
        cut = narrow and len(blocks) > 1 and tensor.requires_grad and torch.is_grad_enabled()
        self.pieces = tensor.split(self.size, -2) if cut else None

    def take(self, columns: slice) -> Tensor:
        """These columns."""
        if self.pieces is None:
            return self.tensor[..., columns, :]
        first, last = columns.start // self.size, -(-columns.stop // self.size)
        joined = torch.cat(self.pieces[first:last], -2)
        return joined[..., columns.start - first * self.size : columns.stop - first * self.size, :]
