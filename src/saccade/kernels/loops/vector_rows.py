"""Vector instructions on short rows at addresses: what loops over the edges of a graph spend their time with.

Numba does not turn loops of eight or sixteen numbers into vector instructions when it must first ask whether rows overlap,
so these few are built in LLVM's own language, as in `register_tiles`. Every sum is a chain of fused multiply-adds in an
order that no compiler may change. Addresses are in bytes, rows of float32.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from saccade.kernels.loops.register_tiles import _FLOAT, _FLOATS, _INT, LANES, _everywhere, _load, _long, _store

# Numba hands in the typing context, which its own types do not tell.
_typed: Any = intrinsic


def _fused(builder: ir.IRBuilder, kind: ir.Type) -> Any:
    """a · b + c, rounded once."""
    name = "llvm.fma.f32" if kind is _FLOAT else f"llvm.fma.v{LANES}f32"
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)


def _pieces(builder: ir.IRBuilder, count: ir.Value, step: Any) -> None:
    """Call step(kind, offset in bytes) for each whole vector of a row, then for each number that is left."""
    whole = builder.sdiv(count, _long(LANES))
    with cgutils.for_range(builder, whole, intp=count.type) as loop:
        step(_FLOATS, builder.mul(loop.index, _long(4 * LANES)))
    with cgutils.for_range(builder, count, start=builder.mul(whole, _long(LANES)), intp=count.type) as loop:
        step(_FLOAT, builder.mul(loop.index, _long(4)))


@_typed
def add_scaled(typing_context, factor, source, target, count):
    """target += factor · source."""

    def generate(context, builder, signature, arguments):
        factor, source, target, count = arguments
        factors = _everywhere(builder, factor)

        def step(kind, offset):
            place = builder.add(target, offset)
            given = _load(builder, builder.add(source, offset), kind)
            scale = factors if kind is _FLOATS else factor
            total = builder.call(_fused(builder, kind), [scale, given, _load(builder, place, kind)])
            _store(builder, total, place, 0)

        _pieces(builder, count, step)
        return context.get_dummy_value()

    return types.void(types.float32, types.intp, types.intp, types.intp), generate


@_typed
def add_scaled_rows(typing_context, factors, sources, target, count):
    """target += factor · source for each of a tuple of them, in their order: the bits of `add_scaled` one after another."""

    def generate(context, builder, signature, arguments):
        factors, sources, target, count = arguments
        factors, sources = (cgutils.unpack_tuple(builder, both) for both in (factors, sources))
        spread = [_everywhere(builder, factor) for factor in factors]

        def step(kind, offset):
            place = builder.add(target, offset)
            total = _load(builder, place, kind)
            for factor, source in zip(spread if kind is _FLOATS else factors, sources, strict=True):
                given = _load(builder, builder.add(source, offset), kind)
                total = builder.call(_fused(builder, kind), [factor, given, total])
            _store(builder, total, place, 0)

        _pieces(builder, count, step)
        return context.get_dummy_value()

    return types.void(factors, sources, types.intp, types.intp), generate


def _summed(builder: ir.IRBuilder, count: ir.Value, factors: Any) -> ir.Value:
    """The sum of products along a row; `factors(kind, offset)` gives the two that are multiplied at a place."""
    return _sums(builder, count, 1, lambda kind, offset: [factors(kind, offset)])[0]


def _sums(builder: ir.IRBuilder, count: ir.Value, rows: int, factors: Any) -> list[ir.Value]:
    """The same for several rows: of each eight chains, laid upon each other by halves, and what is left behind them."""
    places = {kind: [cgutils.alloca_once(builder, kind) for _ in range(rows)] for kind in (_FLOATS, _FLOAT)}
    for row in range(rows):
        builder.store(ir.Constant(_FLOATS, [0.0] * LANES), places[_FLOATS][row])
        builder.store(ir.Constant(_FLOAT, 0.0), places[_FLOAT][row])

    def step(kind: Any, offset: Any) -> None:
        for place, pair in zip(places[kind], factors(kind, offset), strict=True):
            builder.store(builder.call(_fused(builder, kind), [*pair, builder.load(place)]), place)

    _pieces(builder, count, step)
    return [_laid(builder, *(builder.load(places[kind][row]) for kind in (_FLOATS, _FLOAT))) for row in range(rows)]


def _laid(builder: ir.IRBuilder, sums: ir.Value, rest: ir.Value) -> ir.Value:
    half = LANES // 2
    while half:
        indices = ir.Constant(ir.VectorType(_INT, LANES), [(lane + half) % LANES for lane in range(LANES)])
        sums = builder.fadd(sums, builder.shuffle_vector(sums, sums, indices))
        half //= 2
    return builder.fadd(builder.extract_element(sums, ir.Constant(_INT, 0)), rest)


@_typed
def dot_product(typing_context, one, other, count):
    """Σ one · other."""

    def generate(context, builder, signature, arguments):
        one, other, count = arguments
        return _summed(
            builder,
            count,
            lambda kind, offset: [_load(builder, builder.add(start, offset), kind) for start in (one, other)],
        )

    return types.float32(types.intp, types.intp, types.intp), generate


@_typed
def dot_products(typing_context, one, others, count):
    """Σ one · other for each of a tuple of others: the bits of `dot_product`, sooner, for no sum waits for another."""

    def generate(context, builder, signature, arguments):
        one, others, count = arguments
        others = cgutils.unpack_tuple(builder, others)

        def factors(kind, offset):
            own = _load(builder, builder.add(one, offset), kind)
            return [(own, _load(builder, builder.add(other, offset), kind)) for other in others]

        return cgutils.pack_array(builder, _sums(builder, count, len(others), factors))

    return types.UniTuple(types.float32, len(others))(types.intp, others, types.intp), generate


def tanh_sum(limit: np.float32, above: Sequence[np.float32], below: Sequence[np.float32]) -> Any:
    """Σ vector · tanh(query + key); tanh(x) = x p(x²) / q(x²) for |x| up to the limit, coefficients from the highest."""

    def constant(kind: Any, number: np.float32) -> ir.Constant:
        return ir.Constant(kind, float(number) if kind is _FLOAT else [float(number)] * LANES)

    def tanh(builder: ir.IRBuilder, kind: Any, x: ir.Value) -> ir.Value:
        for sign, end in (("<", -limit), (">", limit)):
            x = builder.select(builder.fcmp_ordered(sign, x, constant(kind, end)), constant(kind, end), x)
        square, parts = builder.fmul(x, x), []
        for first, *rest in (above, below):
            value = constant(kind, first)
            for number in rest:
                value = builder.call(_fused(builder, kind), [value, square, constant(kind, number)])
            parts.append(value)
        return builder.fdiv(builder.fmul(x, parts[0]), parts[1])

    @_typed
    def tanh_products(typing_context, query, key, vector, count):
        def generate(context, builder, signature, arguments):
            *starts, count = arguments

            def factors(kind, offset):
                q, k, v = (_load(builder, builder.add(start, offset), kind) for start in starts)
                return v, tanh(builder, kind, builder.fadd(q, k))

            return _summed(builder, count, factors)

        return types.float32(types.intp, types.intp, types.intp, types.intp), generate

    return tanh_products


@_typed
def fetch(typing_context, address):
    """Tell the processor that this address will be read soon."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(hint, [pointer, *(ir.Constant(_INT, number) for number in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(types.intp), generate
