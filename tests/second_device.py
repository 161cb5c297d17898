"""A stand-in for an accelerator: a device that computes on the CPU, but whose tensors do not mix with the CPU's.

    with second_device() as device:
        loss = on_device(module)(on_device(batch))
        loss.backward()

A CPU tensor with dimensions that meets one of this device raises `MixedDevicesError`, as on an accelerator. With
`second_device(synchronize=False)` reading a number on the host raises `SynchronizedError`, too: `.item()`, `bool(tensor)`,
`.tolist()`, a copy to the CPU, and operations whose output shape depends on numbers, such as `nonzero()`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend


class _Backend:
    """What torch asks of a device's module: `torch.second_device`. Random numbers are those of the CPU's generator."""

    device = nullcontext
    get_rng_state = staticmethod(lambda device=None: torch.get_rng_state())
    set_rng_state = staticmethod(lambda state, device=None: torch.set_rng_state(state))
    manual_seed_all = staticmethod(lambda seed: None)
    get_amp_supported_dtype = staticmethod(lambda: [torch.bfloat16, torch.float16])
    is_initialized = is_available = staticmethod(lambda: True)
    is_autocast_enabled = _is_in_bad_fork = staticmethod(lambda: False)
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 1)


# Autograd starts a thread for every device that is known at a process's first gradient, and a process with such threads
# cannot fork and train: the device is known only to processes that run its tests and no others (`tests/conftest.py`).
WANTED = os.environ.get("SACCADE_SECOND_DEVICE") == "1"
if WANTED:
    _setup_privateuseone_for_python_backend("second_device", _Backend())
DEVICE = torch.device("privateuseone", 0)  # which is called second_device once it is known
CPU = torch.device("cpu")
COPIES = ("aten::_to_copy", "aten::copy_")
INDEXED = ("aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_")
HOST_READS = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
T = TypeVar("T")


class MixedDevicesError(RuntimeError):
    """Tensors of two devices met."""


class SynchronizedError(RuntimeError):
    """The host waited for a number of the device."""


class DeviceTensor(Tensor):
    """A tensor of the second device; `numbers` is the CPU tensor behind it."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    numbers: Tensor

    @staticmethod
    def __new__(cls, numbers: Tensor) -> "DeviceTensor":
        made: DeviceTensor = Tensor._make_wrapper_subclass(
            cls,
            numbers.size(),
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=DEVICE,
        )
        made.numbers = numbers
        return made

    def tolist(self) -> Any:
        """By way of the CPU."""
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        return _run(func, args, kwargs or {}, synchronize=True)


class _Mode(TorchDispatchMode):
    def __init__(self, synchronize: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.synchronize = synchronize

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {}, self.synchronize)


@contextmanager
def second_device(*, synchronize: bool = True) -> Iterator[torch.device]:
    """Inside, tensors can be made on the device; without `synchronize` the host may not read their numbers."""
    # Tensors that wrap others know no inference mode: inside it is `no_grad`, also where it decorates a function.
    with patch.multiple(torch.inference_mode, __enter__=_without_gradients, __exit__=_with_gradients), _Mode(synchronize):
        yield DEVICE


def _without_gradients(self: Any) -> None:
    self.before = torch.is_grad_enabled()
    torch.set_grad_enabled(self.before and not self.mode)


def _with_gradients(self: Any, *error: object) -> None:
    torch.set_grad_enabled(self.before)


def on_device(given: T) -> T:
    """Copies of tensors, also in nested lists, tuples and dictionaries; a module itself is moved, as by `to`."""
    return _moved(given) if isinstance(given, nn.Module) else tree_map(_copied, given)  # type: ignore[return-value]


def on_cpu(given: T) -> T:
    """The numbers of tensors, also in nested lists, tuples and dictionaries, without a gradient."""
    moved: T = tree_map(lambda x: _numbers(x.detach()).clone() if isinstance(x, Tensor) else x, given)
    return moved


def _copied(x: Any) -> Any:
    return DeviceTensor(x.detach().clone()).requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x


def _moved(module: nn.Module) -> nn.Module:
    """Parameters and buffers, shared ones stay shared."""
    done: dict[Tensor, Tensor] = {}
    for part in module.modules():
        tables: tuple[dict[str, Any], ...] = (part._parameters, part._buffers)
        for named in tables:
            for name, tensor in named.items():
                if tensor is not None and not isinstance(tensor, DeviceTensor):
                    if tensor not in done:
                        copy = _copied(tensor)
                        done[tensor] = nn.Parameter(copy, tensor.requires_grad) if named is part._parameters else copy
                    named[name] = done[tensor]
    return module


def _run(func: Any, args: Any, kwargs: dict[str, Any], synchronize: bool) -> Any:
    name, inputs = func._schema.name, [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    own = [x for x in inputs if isinstance(x, DeviceTensor)]
    _check_devices(name, args, inputs, own)
    asked = torch.device(kwargs["device"]) if kwargs.get("device") is not None else None
    if own and not synchronize:
        _check_synchronization(func, name, args, kwargs, asked)
    if asked is not None and asked.type == DEVICE.type:
        kwargs = {**kwargs, "device": CPU}
    result = func(*tree_map(_numbers, args), **tree_map(_numbers, kwargs))
    if name == "aten::copy_":
        return args[0]
    if asked != CPU and (own or asked is not None):
        wrappers = {id(x.numbers): x for x in own}  # what was written in place or into `out` stays itself
        result = tree_map(lambda x: _wrapped(x, wrappers) if isinstance(x, Tensor) else x, result)
    return result


def _check_devices(name: str, args: Any, inputs: list[Tensor], own: list[DeviceTensor]) -> None:
    """Scalars and indices may come from the CPU, as on an accelerator."""
    foreign = [x for x in inputs if not isinstance(x, DeviceTensor) and x.dim() > 0]
    if not own or not foreign or name in COPIES or (name in INDEXED and isinstance(args[0], DeviceTensor)):
        return
    raise MixedDevicesError(f"{name}: expected all tensors on one device, got cpu {tuple(foreign[0].shape)} and {DEVICE}")


def _check_synchronization(func: Any, name: str, args: Any, kwargs: dict[str, Any], asked: torch.device | None) -> None:
    reads = any(tag in func.tags for tag in HOST_READS) and kwargs.get("output_size") is None
    if name in INDEXED:  # the shape depends on numbers only where an index is boolean
        reads = any(isinstance(x, Tensor) and x.dtype == torch.bool for x in args[1])
    to_cpu = asked == CPU or (name == "aten::copy_" and not isinstance(args[0], DeviceTensor))
    if reads or to_cpu:
        raise SynchronizedError(f"{name}: the host reads numbers of {DEVICE}")


def _wrapped(numbers: Tensor, known: dict[int, DeviceTensor]) -> DeviceTensor:
    return known[id(numbers)] if id(numbers) in known else DeviceTensor(numbers)


def _numbers(x: Any) -> Any:
    return x.numbers if isinstance(x, DeviceTensor) else x
