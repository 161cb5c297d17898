"""When compiled kernels run, and on how many threads.

`SACCADE_KERNELS=off` switches them off; without Numba, on other devices and for other dtypes than they are written
for (float32; where a kernel says so float64, too) they are off by themselves, and the plain torch form answers instead.
"""

import importlib.util
import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

_lock = threading.RLock()
_started = False
_forked = False


def _after_fork() -> None:
    # GNU OpenMP kills a process that was forked after its threads ran: the child goes on with plain torch instead.
    global _forked
    _forked = _started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def _numba_installed() -> bool:
    return importlib.util.find_spec("numba") is not None


def kernels_on(*tensors: Tensor, dtype: torch.dtype = torch.float32) -> bool:
    """Whether a compiled kernel may take these tensors: on the CPU, Numba there, not switched off, not forked.

    Most kernels are written for float32; one for another dtype says so.
    """
    if _forked or os.environ.get("SACCADE_KERNELS", "on").lower() in ("off", "0", "false", "no"):
        return False
    for tensor in tensors:
        if tensor.dtype != dtype or not tensor.is_cpu:
            return False
    return _numba_installed()


@cache
def compiled(name: str) -> Callable[..., None]:
    """The compiled function of this name; Numba itself is imported here, at first use."""
    with _lock:
        from saccade.kernels import compiled as scores
        from saccade.kernels import compiled_beams as beams
        from saccade.kernels import compiled_cells as cells
        from saccade.kernels import compiled_gaussian as gaussian
        from saccade.kernels import compiled_graph as graph
        from saccade.kernels import compiled_heads as heads
        from saccade.kernels import compiled_pool as pool
        from saccade.kernels import compiled_products as products
        from saccade.kernels import compiled_skip_gram as skip_gram
        from saccade.kernels import compiled_softmax as softmax
        from saccade.kernels import compiled_sparse as sparse

        modules = (scores, beams, cells, gaussian, graph, heads, pool, products, skip_gram, softmax, sparse)
        # What a module has only imported, a helper of the same name say, is not its kernel.
        own = [module for module in modules if getattr(getattr(module, name, None), "__module__", "") == module.__name__]
        function: Callable[..., None] = getattr(own[0], name)
        return function


def run(name: str, *arrays: object) -> None:
    """Call a compiled function on as many threads as torch uses, one call at a time where the thread layer needs that."""
    threads = torch.get_num_threads()
    if threads == 1:
        compiled(name)(*arrays)
        return
    global _started
    _started = True
    import numba

    config: Any = numba.config
    numba.set_num_threads(min(threads, config.NUMBA_NUM_THREADS))
    with nullcontext() if _layer_is_safe() else _lock:
        compiled(f"{name}_threads")(*arrays)


@cache
def _layer_is_safe() -> bool:
    """Whether several Python threads may call at once: OpenMP and TBB allow it, the work queue aborts the process."""
    from saccade.kernels.compiled import thread_layer

    with _lock:
        return thread_layer() in ("omp", "tbb")
