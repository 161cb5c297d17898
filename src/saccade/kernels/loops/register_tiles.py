"""The innermost loops of matrix products, as vector instructions: a tile of up to 6 rows × 16 columns stays in registers.

Numba turns loops into vector instructions by itself, but does not keep a whole tile of sums in registers, which is what a
fast product needs. So the loop over the inner dimension is built here, instruction by instruction, in LLVM's own language
(Goto and van de Geijn 2008 describe the idea). Each sum is one chain of fused multiply-adds in the order of the inner
dimension, whatever the tile: a row's result does not depend on the rows beside it, and no compiler may reorder it.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8
VECTORS = 2
COLUMNS = LANES * VECTORS

_FLOAT, _SHORT, _INT, _LONG = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
_SHORTS, _BYTES = ir.VectorType(_SHORT, 2 * LANES), ir.VectorType(ir.IntType(8), 2 * LANES)
_WIDE = ir.VectorType(_INT, 2 * LANES)


def _long(value: int) -> ir.Constant:
    return ir.Constant(_LONG, value)


def _load(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, offset: int = 0) -> ir.Value:
    place = builder.inttoptr(builder.add(address, _long(offset)), kind.as_pointer())
    loaded = builder.load(place)
    loaded.align = 1
    return loaded


def _store(builder: ir.IRBuilder, value: ir.Value, address: ir.Value, offset: int) -> None:
    place = builder.inttoptr(builder.add(address, _long(offset)), value.type.as_pointer())
    builder.store(value, place).align = 1


def _everywhere(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A vector of this one number."""
    vector = ir.VectorType(value.type, LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), ir.Constant(_INTS, [0] * LANES))


def _sums(
    builder: ir.IRBuilder, rows: int, start: ir.Constant, inner: ir.Value, step: Callable[[ir.Value, Any], Any]
) -> list[list[ir.Value]]:
    """The tile's sums after `inner` ≥ 1 steps from `start`; `step` takes its number and the sums, and gives new sums."""
    before = builder.block
    loop, after = builder.append_basic_block("inner"), builder.append_basic_block("summed")
    builder.branch(loop)
    builder.position_at_end(loop)
    number = builder.phi(_LONG)
    sums = [[builder.phi(start.type) for _ in range(VECTORS)] for _ in range(rows)]
    new = step(number, sums)
    following = builder.add(number, _long(1))
    number.add_incoming(_long(0), before)
    number.add_incoming(following, loop)
    for old_row, new_row in zip(sums, new, strict=True):
        for old, value in zip(old_row, new_row, strict=True):
            old.add_incoming(start, before)
            old.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following, inner), loop, after)
    builder.position_at_end(after)
    summed: list[list[ir.Value]] = new
    return summed


def _floor(builder: ir.IRBuilder, value: ir.Value, lowest: ir.Value) -> ir.Value:
    """The larger of the two; NaN stays NaN."""
    return builder.select(builder.fcmp_ordered("<", value, lowest), lowest, value)


def float_tile(rows: int) -> Any:
    """C[i, j] = max(bias[j] + Σ_k A[i, k] B[k, j], lowest) for `rows` rows and 16 columns.

    Addresses in bytes, strides in numbers: A[i, k] at a + 4 (i a_row + k a_step), B's 16 columns side by side.
    """

    @intrinsic
    def tile(typing_context, a, a_row, a_step, b, inner, bias, lowest, c, c_row):
        def generate(context, builder, signature, arguments):
            a, a_row, a_step, b, inner, bias, lowest, c, c_row = arguments
            fused = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_FLOATS, [_FLOATS] * 3), f"llvm.fma.v{LANES}f32"
            )
            starts = [builder.add(a, builder.mul(a_row, _long(4 * i))) for i in range(rows)]
            stride = builder.mul(a_step, _long(4))

            def step(k, sums):
                panel = builder.add(b, builder.mul(k, _long(4 * COLUMNS)))
                ahead = builder.mul(k, stride)
                columns = [_load(builder, panel, _FLOATS, 4 * LANES * v) for v in range(VECTORS)]
                new = []
                for start, row in zip(starts, sums, strict=True):
                    x = _everywhere(builder, _load(builder, builder.add(start, ahead), _FLOAT))
                    new.append([builder.call(fused, [x, w, s]) for w, s in zip(columns, row, strict=True)])
                return new

            sums = _sums(builder, rows, ir.Constant(_FLOATS, [0.0] * LANES), inner, step)
            floor = _everywhere(builder, lowest)
            biases = [_load(builder, bias, _FLOATS, 4 * LANES * v) for v in range(VECTORS)]
            for i, row in enumerate(sums):
                place = builder.add(c, builder.mul(c_row, _long(4 * i)))
                for v, (value, added) in enumerate(zip(row, biases, strict=True)):
                    _store(builder, _floor(builder, builder.fadd(value, added), floor), place, 4 * LANES * v)
            return context.get_dummy_value()

        longs = (types.intp,) * 6
        return types.void(*longs, types.float32, types.intp, types.intp), generate

    return tile


def _pairs(builder: ir.IRBuilder, x: ir.Value, w: ir.Value) -> ir.Value:
    """x[2j] w[2j] + x[2j+1] w[2j+1] of 16-bit numbers, in 32 bits: one instruction where the processor has it."""
    features = binding.get_host_cpu_features()
    if features.get("avx2"):
        kind = ir.FunctionType(_INTS, [_SHORTS, _SHORTS])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.wd"), [x, w])
    products = builder.mul(builder.sext(x, _WIDE), builder.sext(w, _WIDE))
    undefined = ir.Constant(_WIDE, ir.Undefined)
    halves = [
        builder.shuffle_vector(products, undefined, ir.Constant(_INTS, list(range(first, 2 * LANES, 2)))) for first in (0, 1)
    ]
    return builder.add(*halves)


def byte_tile(rows: int) -> Any:
    """C[i, j] = max(bias[j] + row_scale[i] scale[j] Σ_k A[i, k] B[k, j], lowest), A of 16 and B of 8 bits.

    `pairs` is half the inner dimension; B[2k, j] and B[2k + 1, j] stand side by side; A's rows are contiguous.
    """

    @intrinsic
    def tile(typing_context, a, a_row, row_scale, b, pairs, scale, bias, lowest, c, c_row):
        def generate(context, builder, signature, arguments):
            a, a_row, row_scale, b, pairs, scale, bias, lowest, c, c_row = arguments
            starts = [builder.add(a, builder.mul(a_row, _long(2 * i))) for i in range(rows)]

            def step(k, sums):
                panel = builder.add(b, builder.mul(k, _long(2 * COLUMNS)))
                ahead = builder.mul(k, _long(4))
                columns = [builder.sext(_load(builder, panel, _BYTES, 2 * LANES * v), _SHORTS) for v in range(VECTORS)]
                new = []
                for start, row in zip(starts, sums, strict=True):
                    pair = _everywhere(builder, _load(builder, builder.add(start, ahead), _INT))
                    x = builder.bitcast(pair, _SHORTS)
                    new.append([builder.add(s, _pairs(builder, x, w)) for w, s in zip(columns, row, strict=True)])
                return new

            sums = _sums(builder, rows, ir.Constant(_INTS, [0] * LANES), pairs, step)
            floor = _everywhere(builder, lowest)
            scales = [_load(builder, scale, _FLOATS, 4 * LANES * v) for v in range(VECTORS)]
            biases = [_load(builder, bias, _FLOATS, 4 * LANES * v) for v in range(VECTORS)]
            for i, row in enumerate(sums):
                place = builder.add(c, builder.mul(c_row, _long(4 * i)))
                own = _everywhere(builder, _load(builder, row_scale, _FLOAT, 4 * i))
                for v, value in enumerate(row):
                    scaled = builder.fmul(builder.fmul(builder.sitofp(value, _FLOATS), own), scales[v])
                    _store(builder, _floor(builder, builder.fadd(scaled, biases[v]), floor), place, 4 * LANES * v)
            return context.get_dummy_value()

        longs = (types.intp,) * 7
        return types.void(*longs, types.float32, types.intp, types.intp), generate

    return tile


def _copier(kind: ir.Type, count: int) -> Any:
    """Moves `count` × `kind` from one address to another."""

    @intrinsic
    def copy(typing_context, source, target):
        def generate(context, builder, signature, arguments):
            source, target = arguments
            size = 4 * (kind.count if isinstance(kind, ir.VectorType) else 1)
            for number in range(count):
                _store(builder, _load(builder, source, kind, number * size), target, number * size)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), generate

    return copy


# A row of a panel, and one number.
copy_columns, copy_number = _copier(_FLOATS, VECTORS), _copier(_FLOAT, 1)


def _reader() -> Any:
    """The float32 whose bits an int32 has."""

    @intrinsic
    def read(typing_context, bits):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], _FLOAT)

        return types.float32(types.int32), generate

    return read


as_float = _reader()
