"""The innermost loops of matrix products, as vector instructions: a tile of up to 6 rows × 16 columns stays in registers.

Numba turns loops into vector instructions by itself, but does not keep a whole tile of sums in registers, which is what a
fast product needs. So the loop over the inner dimension is built here, instruction by instruction, in LLVM's own language
(Goto and van de Geijn 2008 describe the idea). Each sum is one chain of fused multiply-adds in the order of the inner
dimension, whatever the tile: a row's result does not depend on the rows beside it, and no compiler may reorder it.
"""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_config: Any = numba.config


def compiled_for(*features: str) -> bool:
    """Whether code is made for a processor with all of these: this one, or the one that NUMBA_CPU_FEATURES describes."""
    given: str | None = _config.CPU_FEATURES
    known = (
        binding.get_host_cpu_features() if given is None else {name[1:]: name[0] == "+" for name in given.split(",") if name}
    )
    return all(known.get(feature, False) for feature in features)


LANES = 8
COLUMNS = 16
VECTORS = COLUMNS // LANES
WIDE = 16 if compiled_for("avx512f", "avx512bw") else LANES
LINE, AHEAD = 64, 1536  # bytes that come from memory at once, and how far ahead they are asked for

_FLOAT, _SHORT, _INT, _LONG = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)


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
    builder: ir.IRBuilder, starts: list[ir.Value], count: ir.Value, step: Callable[[ir.Value, list[Any]], list[Any]]
) -> list[ir.Value]:
    """What `count` ≥ 1 steps make of the starts; `step` takes its number and the sums, and gives new sums."""
    before = builder.block
    loop, after = builder.append_basic_block("inner"), builder.append_basic_block("summed")
    builder.branch(loop)
    builder.position_at_end(loop)
    number = builder.phi(_LONG)
    sums = [builder.phi(start.type) for start in starts]
    new = step(number, sums)
    following, last = builder.add(number, _long(1)), builder.block
    number.add_incoming(_long(0), before)
    number.add_incoming(following, last)
    for start, old, value in zip(starts, sums, new, strict=True):
        old.add_incoming(start, before)
        old.add_incoming(value, last)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    builder.position_at_end(after)
    return new


def _floor(builder: ir.IRBuilder, value: ir.Value, lowest: ir.Value) -> ir.Value:
    """The larger of the two; NaN stays NaN."""
    return builder.select(builder.fcmp_ordered("<", value, lowest), lowest, value)


def _wide(kind: ir.Type, length: int) -> ir.VectorType:
    return ir.VectorType(kind, length)


def _spread(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """This one number in every lane of a vector of a tile."""
    vector = _wide(value.type, WIDE)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), ir.Constant(_wide(_INT, WIDE), [0] * WIDE))


def _fused(builder: ir.IRBuilder) -> ir.Function:
    kind = _wide(_FLOAT, WIDE)
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.v{WIDE}f32")


def _ask_ahead(builder: ir.IRBuilder, address: ir.Value, size: int) -> None:
    """Tell the processor that what stands a little later, so many bytes of it, is wanted soon."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()] + [_INT] * 3)
    ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    flags = [ir.Constant(_INT, value) for value in (0, 3, 1)]  # to read, again and again, data
    for line in range(0, size, LINE):
        place = builder.add(address, _long(AHEAD + line))
        builder.call(ask, [builder.inttoptr(place, ir.IntType(8).as_pointer()), *flags])


def _finish(
    builder: ir.IRBuilder, rows: list[list[ir.Value]], bias: ir.Value, lowest: ir.Value, c: ir.Value, c_row: ir.Value
) -> None:
    """Store the rows of a tile, a bias added, none below the lowest."""
    kind, floor = _wide(_FLOAT, WIDE), _spread(builder, lowest)
    biases = [_load(builder, bias, kind, 4 * WIDE * v) for v in range(len(rows[0]))]
    for i, row in enumerate(rows):
        place = builder.add(c, builder.mul(c_row, _long(4 * i)))
        for v, (value, added) in enumerate(zip(row, biases, strict=True)):
            _store(builder, _floor(builder, builder.fadd(value, added), floor), place, 4 * WIDE * v)


def _in_rows(flat: list[Any], rows: int) -> list[list[Any]]:
    size = len(flat) // rows
    return [flat[i * size : (i + 1) * size] for i in range(rows)]


def float_tile(rows: int, columns: int) -> Any:
    """C[i, j] = max(bias[j] + Σ_k A[i, k] B[k, j], lowest) for so many rows and columns.

    Addresses in bytes, strides in numbers: A[i, k] at a + 4 (i a_row + k a_step), B's columns side by side.
    """

    @intrinsic
    def tile(typing_context, a, a_row, a_step, b, inner, bias, lowest, c, c_row):
        def generate(context, builder, signature, arguments):
            a, a_row, a_step, b, inner, bias, lowest, c, c_row = arguments
            starts = [builder.add(a, builder.mul(a_row, _long(4 * i))) for i in range(rows)]
            stride = builder.mul(a_step, _long(4))

            def step(k, sums):
                place, ahead = builder.add(b, builder.mul(k, _long(4 * columns))), builder.mul(k, stride)
                _ask_ahead(builder, place, 4 * columns)
                across = [_load(builder, place, _wide(_FLOAT, WIDE), shift) for shift in range(0, 4 * columns, 4 * WIDE)]
                new = []
                for start, row in zip(starts, _in_rows(sums, rows), strict=True):
                    x = _spread(builder, _load(builder, builder.add(start, ahead), _FLOAT))
                    new += [builder.call(_fused(builder), [x, w, s]) for w, s in zip(across, row, strict=True)]
                return new

            zero = ir.Constant(_wide(_FLOAT, WIDE), [0.0] * WIDE)
            sums = _sums(builder, [zero] * (rows * columns // WIDE), inner, step)
            _finish(builder, _in_rows(sums, rows), bias, lowest, c, c_row)
            return context.get_dummy_value()

        longs = (types.intp,) * 6
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


def _pointer(kind: Any) -> Any:
    """An address as a pointer to numbers of this type, for `numba.carray`."""

    @intrinsic
    def point(typing_context, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.intp), generate

    return point


to_floats, to_shorts = _pointer(types.float32), _pointer(types.int16)
