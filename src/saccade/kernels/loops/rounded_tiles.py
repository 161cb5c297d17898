"""The innermost loops of products with weights of 8 and of 4 bits, as vector instructions; as in `register_tiles`.

Rows are whole numbers of 16 bits, so that a product of two is exact in 32 bits, whatever the order.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from saccade.kernels.loops.register_tiles import (
    _FLOAT,
    _INT,
    _SHORT,
    WIDE,
    _ask_ahead,
    _finish,
    _fused,
    _in_rows,
    _load,
    _long,
    _spread,
    _sums,
    _wide,
    compiled_for,
)

GROUP = 32  # numbers of 4 bits that share a scale


def _pairs(builder: ir.IRBuilder, x: ir.Value, w: ir.Value) -> ir.Value:
    """x[2j] w[2j] + x[2j+1] w[2j+1] of 16-bit numbers, in 32 bits: one instruction where the processor has it."""
    out = _wide(_INT, WIDE)
    name = "llvm.x86.avx512.pmaddw.d.512" if WIDE == 16 else "llvm.x86.avx2.pmadd.wd" if compiled_for("avx2") else ""
    if name:
        return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(out, [x.type] * 2), name), [x, w])
    longer = _wide(_INT, 2 * WIDE)
    products = builder.mul(builder.sext(x, longer), builder.sext(w, longer))
    undefined = ir.Constant(longer, ir.Undefined)
    halves = [
        builder.shuffle_vector(products, undefined, ir.Constant(out, list(range(first, 2 * WIDE, 2)))) for first in (0, 1)
    ]
    return builder.add(*halves)


def _shorts_at(builder: ir.IRBuilder, address: ir.Value, offset: int = 0) -> ir.Value:
    """As many bytes as a vector of 16-bit numbers has, widened to these."""
    return builder.sext(_load(builder, address, _wide(ir.IntType(8), 2 * WIDE), offset), _wide(_SHORT, 2 * WIDE))


def _pair_at(builder: ir.IRBuilder, address: ir.Value, offset: int = 0) -> ir.Value:
    """Two 16-bit numbers of a row, again and again."""
    return builder.bitcast(_spread(builder, _load(builder, address, _INT, offset)), _wide(_SHORT, 2 * WIDE))


def _scaled(builder: ir.IRBuilder, sums: list[ir.Value], row_scale: ir.Value, rows: int) -> list[list[ir.Value]]:
    """The rows of a tile, each times its own scale."""
    own = [_spread(builder, _load(builder, row_scale, _FLOAT, 4 * i)) for i in range(rows)]
    return [[builder.fmul(value, scale) for value in row] for row, scale in zip(_in_rows(sums, rows), own, strict=True)]


def byte_tile(rows: int, columns: int) -> Any:
    """C[i, j] = max(bias[j] + row_scale[i] scale[j] Σ_k A[i, k] B[k, j], lowest), A of 16 and B of 8 bits.

    `pairs` is half the inner dimension; B[2k, j] and B[2k + 1, j] stand side by side; A's rows are contiguous.
    """

    @intrinsic
    def tile(typing_context, a, a_row, row_scale, b, pairs, scale, bias, lowest, c, c_row):
        def generate(context, builder, signature, arguments):
            a, a_row, row_scale, b, pairs, scale, bias, lowest, c, c_row = arguments
            starts = [builder.add(a, builder.mul(a_row, _long(2 * i))) for i in range(rows)]

            def step(k, sums):
                place, ahead = builder.add(b, builder.mul(k, _long(2 * columns))), builder.mul(k, _long(4))
                _ask_ahead(builder, place, 2 * columns)
                across = [_shorts_at(builder, place, shift) for shift in range(0, 2 * columns, 2 * WIDE)]
                new = []
                for start, row in zip(starts, _in_rows(sums, rows), strict=True):
                    x = _pair_at(builder, builder.add(start, ahead))
                    new += [builder.add(s, _pairs(builder, x, w)) for w, s in zip(across, row, strict=True)]
                return new

            zero, floats = ir.Constant(_wide(_INT, WIDE), [0] * WIDE), _wide(_FLOAT, WIDE)
            sums = _sums(builder, [zero] * (rows * columns // WIDE), pairs, step)
            scales = [_load(builder, scale, floats, shift) for shift in range(0, 4 * columns, 4 * WIDE)]
            turned = [builder.sitofp(value, floats) for value in sums]
            own = _scaled(builder, turned, row_scale, rows)
            out = [[builder.fmul(value, by) for value, by in zip(row, scales, strict=True)] for row in own]
            _finish(builder, out, bias, lowest, c, c_row)
            return context.get_dummy_value()

        longs = (types.intp,) * 7
        return types.void(*longs, types.float32, types.intp, types.intp), generate

    return tile


def nibble_tile(rows: int, columns: int) -> Any:
    """C[i, j] = max(bias[j] + row_scale[i] Σ_g scale[g, j] Σ_k A[i, k] B[k, j], lowest), A of 16 and B of 4 bits.

    The second sum is over the GROUP numbers of group g. A byte of B has two numbers of a column, B[4q + k, j] below and
    B[4q + 2 + k, j] above, k = 0 and 1 side by side. A's rows are contiguous.
    """

    @intrinsic
    def tile(typing_context, a, a_row, row_scale, b, groups, scale, bias, lowest, c, c_row):
        def generate(context, builder, signature, arguments):
            a, a_row, row_scale, b, groups, scale, bias, lowest, c, c_row = arguments
            starts = [builder.add(a, builder.mul(a_row, _long(2 * i))) for i in range(rows)]
            shorts, floats = _wide(_SHORT, 2 * WIDE), _wide(_FLOAT, WIDE)
            four, twelve = (ir.Constant(shorts, [bits] * 2 * WIDE) for bits in (4, 12))
            zero = ir.Constant(_wide(_INT, WIDE), [0] * WIDE)

            def of_group(g, totals):
                def step(q, sums):
                    quad = builder.add(builder.mul(g, _long(GROUP // 4)), q)
                    place, ahead = builder.add(b, builder.mul(quad, _long(2 * columns))), builder.mul(quad, _long(8))
                    _ask_ahead(builder, place, 2 * columns)
                    both = [_shorts_at(builder, place, shift) for shift in range(0, 2 * columns, 2 * WIDE)]
                    below = [builder.ashr(builder.shl(one, twelve), twelve) for one in both]
                    above = [builder.ashr(one, four) for one in both]
                    new = []
                    for start, row in zip(starts, _in_rows(sums, rows), strict=True):
                        x, y = (_pair_at(builder, builder.add(start, ahead), shift) for shift in (0, 4))
                        for low, high, s in zip(below, above, row, strict=True):
                            new.append(builder.add(builder.add(s, _pairs(builder, x, low)), _pairs(builder, y, high)))
                    return new

                sums = _sums(builder, [zero] * len(totals), _long(GROUP // 4), step)
                place = builder.add(scale, builder.mul(g, _long(4 * columns)))
                scales = [_load(builder, place, floats, shift) for shift in range(0, 4 * columns, 4 * WIDE)]
                return [
                    builder.call(_fused(builder), [builder.sitofp(value, floats), scales[i % len(scales)], total])
                    for i, (value, total) in enumerate(zip(sums, totals, strict=True))
                ]

            nothing = ir.Constant(floats, [0.0] * WIDE)
            totals = _sums(builder, [nothing] * (rows * columns // WIDE), groups, of_group)
            _finish(builder, _scaled(builder, totals, row_scale, rows), bias, lowest, c, c_row)
            return context.get_dummy_value()

        longs = (types.intp,) * 7
        return types.void(*longs, types.float32, types.intp, types.intp), generate

    return tile
