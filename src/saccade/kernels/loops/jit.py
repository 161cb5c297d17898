"""How kernels are compiled and shared out to threads, so that a first run does not wait long for them.

A kernel is a function of one task, and an entry that calls it for all tasks by `share_out`. Numba's own `prange` would
compile every loop twice, for one thread and for many, and takes a second or two for the second; and told to use one
thread, its OpenMP layer still keeps all of them spinning, which starves every other process of the machine.
Parts are called by kernels only. Without the wrappers that let Python and C call them, and inlined by LLVM instead of
Numba, they compile in half the time. Rows are copied by `copy`: Numba's own assignment of arrays brings the text of an
error message along, which takes two seconds to compile.
"""

import warnings
from functools import partial
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

config: Any = numba.config
config.THREADING_LAYER = "omp"

kernel: Any = partial(numba.njit, cache=True, no_cfunc_wrapper=True)
part: Any = partial(numba.njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined: Any = partial(part, forceinline=True)

_LONG, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


def thread_layer() -> str:
    """Start Numba's threads and name the layer they run on; falls back to the work queue where no other is installed."""
    try:
        numba.get_num_threads()  # starts them
    except ValueError:
        config.THREADING_LAYER = "default"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numba.get_num_threads()
    name: str = numba.np.ufunc.parallel.threading_layer()
    return name


def team(threads: int) -> tuple[int, int]:
    """Who works on a kernel's tasks: the address of the layer's loop, and how many threads it may use."""
    address: int = binding.address_of_symbol("numba_parallel_for")
    return address, min(threads, config.NUMBA_NUM_THREADS)


_typed: Any = intrinsic  # Numba hands in the typing context, which its own types do not tell


@_typed
def share_out(typing_context: Any, function: Any, tasks: Any, team: Any, arguments: Any) -> Any:
    """function(task, *arguments) for all tasks, by one thread after the other or by the threads of a team."""
    called = function.get_call_type(typing_context, (types.intp, *arguments.types), {})

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, values: Any) -> Any:
        _, tasks, team, pack = values
        compiled = function.dispatcher.overloads[called.args]
        context.active_code_library.add_linking_library(compiled.library)
        call = partial(_call, context, compiled.fndesc, called)
        address, threads = (builder.extract_value(team, index) for index in (0, 1))
        alone = builder.icmp_signed("==", threads, ir.Constant(threads.type, 1))
        with builder.if_else(alone) as (by_one, by_many):
            with by_one, cgutils.for_range(builder, tasks, intp=_LONG) as loop:
                call(builder, loop.index, pack)
            with by_many:
                place = cgutils.alloca_once_value(builder, pack)
                _call_layer(builder, address, threads, tasks, _worker(builder, pack.type, call), place)
        return context.get_dummy_value()

    return types.void(function, types.intp, types.UniTuple(types.intp, 2), arguments), generate


def _call(context: Any, described: Any, called: Any, builder: ir.IRBuilder, task: ir.Value, pack: ir.Value) -> None:
    """The function with a task and the arguments in the pack; kernels raise nothing, so its status is not asked for."""
    arguments = [builder.extract_value(pack, index) for index in range(len(called.args) - 1)]
    context.call_internal_no_propagate(builder, described, called, [task, *arguments])


def _worker(builder: ir.IRBuilder, packed: ir.Type, call: Any) -> ir.Function:
    """What the layer calls, as it calls universal functions of NumPy: (pointers, counts, steps, data) for a range of tasks.

    The first pointer begins at 0 and steps by 1, so it is the number of the range's first task; data is the pack.
    """
    kind = ir.FunctionType(ir.VoidType(), [_BYTES.as_pointer(), _LONG.as_pointer(), _LONG.as_pointer(), _BYTES])
    name = builder.module.get_unique_name(f"{builder.function.name}.worker")
    worker = ir.Function(builder.module, kind, name)
    worker.linkage = "internal"
    inside = ir.IRBuilder(worker.append_basic_block())
    pointers, counts, _, data = worker.args
    pack = inside.load(inside.bitcast(data, packed.as_pointer()))
    first = inside.ptrtoint(inside.load(pointers), _LONG)
    with cgutils.for_range(inside, inside.load(counts), intp=_LONG) as loop:
        call(inside, inside.add(first, loop.index), pack)
    inside.ret_void()
    return worker


def _call_layer(
    builder: ir.IRBuilder, address: ir.Value, threads: ir.Value, tasks: ir.Value, worker: ir.Function, data: ir.Value
) -> None:
    """Run the worker on the layer's threads, all tasks shared out in ranges."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES] * 5 + [_LONG] * 3)
    loop = builder.inttoptr(address, kind.as_pointer())
    pointer, count, step = (
        cgutils.alloca_once_value(builder, value) for value in (ir.Constant(_BYTES, None), tasks, ir.Constant(_LONG, 1))
    )
    given = [builder.bitcast(value, _BYTES) for value in (worker, pointer, count, step, data)]
    builder.call(loop, [*given, ir.Constant(_LONG, 0), ir.Constant(_LONG, 1), threads])


@part
def copy(source, target):
    """target[:] = source for rows of the same size."""
    for d in range(target.size):
        target[d] = source[d]


@part
def multiply(row, factors):
    """row *= factors."""
    for d in range(row.size):
        row[d] *= factors[d]
