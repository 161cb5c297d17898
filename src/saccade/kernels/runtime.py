"""When compiled kernels run, and on how many threads.

`SACCADE_KERNELS=off` switches them off. They are off by themselves without Numba, on other devices, for other dtypes than
they are written for (float32; where a kernel says so float64, too), and wherever torch wants to see each operation: while
it compiles or exports, for its function transforms, for fake tensors. Then the plain torch form answers instead.
"""

import importlib
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

# Which module has a kernel: only what is called is imported and compiled.
KERNELS = {
    "additive_loops": ("tanh", "additive_forward", "additive_backward"),
    "beam_loops": ("beams_forward",),
    "cell_loops": ("gru_forward", "gru_backward", "lstm_forward", "lstm_backward"),
    "gaussian_loops": ("gaussian_pool", "gaussian_pull"),
    "chain_loops": ("chain_forward", "chain_backward"),
    "edge_loops": ("graph_forward", "graph_backward"),
    "flow_loops": ("layer_flows",),
    "head_loops": ("heads_forward", "heads_backward"),
    "layer_loops": ("layer_steps",),
    "machine_loops": ("machine_forward", "machine_backward"),
    "nucleus_loops": ("nucleus",),
    "pool_loops": ("pool_forward", "pool_backward"),
    "product_loops": ("product", "pack", "round_rows"),
    "skip_gram_loops": ("skip_gram",),
    "softmax_loops": ("log_totals", "cross_entropy"),
    "sparse_loops": ("gather_rows",),
    "window_loops": ("windows",),
}

_KEYS: Any = torch._C._TorchDispatchModeKey
_TRACERS = (_KEYS.FAKE, _KEYS.PROXY, _KEYS.FUNCTIONAL)
_lock = threading.RLock()
_started = False
_forked = False
_listeners: list[Callable[[str, float | None], None]] = []


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
    """Whether a compiled kernel may take these tensors: on the CPU, Numba there, not switched off, not forked, not traced.

    Most kernels are written for float32; one for another dtype says so.
    """
    if traced() or _forked:
        return False
    if os.environ.get("SACCADE_KERNELS", "on").lower() in ("off", "0", "false", "no"):
        return False
    for tensor in tensors:
        if tensor.dtype != dtype or not tensor.is_cpu:
            return False
    return _numba_installed()


def traced() -> bool:
    """Whether torch stands between a tensor and its numbers: it compiles, or there are fake tensors, function transforms or
    forward gradients. Kernels cannot run then, nor functions with a backward of their own."""
    return (
        torch.compiler.is_compiling()
        or (torch._C._len_torch_dispatch_stack() > 0 and any(map(torch._C._get_dispatch_mode, _TRACERS)))
        or torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
    )


@contextmanager
def told_of_compiling(listener: Callable[[str, float | None], None]) -> Iterator[None]:
    """Inside, the listener is told of each kernel that is compiled: its name before, and the seconds it took after."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _say(name: str, seconds: float | None) -> None:
    """For somebody who waits at a terminal: what is compiled now, on a line that is gone afterwards."""
    if sys.stderr.isatty():
        line = f"compiling kernels for this machine, once: {name}"
        print(f"\r{line if seconds is None else ' ' * len(line)}\r", end="", file=sys.stderr, flush=True)


@cache
def compiled(name: str) -> Callable[..., None]:
    """The compiled function of this name; Numba itself is imported here, at first use."""
    with _lock:
        home = next(home for home, names in KERNELS.items() if name in names)
        _listen()
        function: Callable[..., None] = getattr(importlib.import_module(f"saccade.kernels.loops.{home}"), name)
        return function


@cache
def _listen() -> None:
    """Pass on what Numba tells of compiling; a kernel that it finds in its cache is not compiled."""
    from numba.core import event

    class CompileListener(event.Listener):
        """Kernels only: their parts are compiled on the way."""

        def on_start(self, event: Any) -> None:
            self.tell(event, None)
            self.began = time.perf_counter()

        def on_end(self, event: Any) -> None:
            self.tell(event, time.perf_counter() - self.began)

        def tell(self, event: Any, seconds: float | None) -> None:
            function = event.data["dispatcher"].py_func
            if function.__name__ in KERNELS.get(function.__module__.rpartition(".")[2], ()):
                for listener in list(_listeners) or [_say]:
                    listener(function.__name__, seconds)

    event.register("numba:compile", CompileListener())


def run(name: str, *arrays: object) -> None:
    """Call a compiled function on as many threads as torch uses, one call at a time where the thread layer needs that."""
    threads = torch.get_num_threads()
    if threads == 1:
        compiled(name)((0, 1), *arrays)
        return
    global _started
    _started = True
    with nullcontext() if _layer_is_safe() else _lock:
        compiled(name)(_team(threads), *arrays)


@cache
def _team(threads: int) -> tuple[int, int]:
    from saccade.kernels.loops.jit import team

    return team(threads)


@cache
def _layer_is_safe() -> bool:
    """Whether several Python threads may call at once: OpenMP and TBB allow it, the work queue aborts the process."""
    from saccade.kernels.loops.jit import thread_layer

    with _lock:
        return thread_layer() in ("omp", "tbb")
