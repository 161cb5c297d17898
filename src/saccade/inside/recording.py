"""Recording every attention of any model inside a `with` block, by module.

with saccade.looking(model) as looks:
    model(**inputs)
looks["encoder.layer.0.attention.self"][0].weights(heads=3, rows=0)

Seen are `scaled_dot_product_attention`, torch.nn's attention and Transformer modules with their fast path, attention that is
written out as matrix products around a softmax, and saccade's own operator. The model's functions are called as they are, so
no bit of its output changes; kept are queries, keys and masks, by reference.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import (
    _global_forward_hooks_with_kwargs,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from saccade.attention import Attended, Causal, Looks
from saccade.attention import looking as looking_at_own
from saccade.attention.looks import Later
from saccade.errors import UsageError
from saccade.inside.replayed import FromFirst, added, later, scaled
from saccade.inside.torch_modules import is_fast, of_encoder_layer, of_multihead
from saccade.inside.trails import FUNCTIONS, Trails
from saccade.inside.unseen import is_compiled, warn_of_unseen


@contextmanager
def looking(model: nn.Module) -> Iterator[Looks]:
    """Keep every attention that the model computes inside the block, by module name; nothing is put on the modules.

    Warns once, at the end, of modules that ran and whose attention could not be seen.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"looking: expected a torch.nn.Module, got {type(model).__name__}")
    with _quiet(model), looking_at_own(model) as looks:
        recorder = _Recorder(model, looks)
        handles = [
            register_module_forward_pre_hook(recorder.enter),
            register_module_forward_hook(recorder.leave, with_kwargs=True, always_call=True),
        ]
        try:
            recorder.watch()
            yield looks
        finally:
            recorder.rest()
            for handle in handles:
                handle.remove()
                _global_forward_hooks_with_kwargs.pop(handle.id, None)  # which torch leaves behind
    warn_of_unseen(model, looks, recorder.ran)


@contextmanager
def _quiet(model: nn.Module) -> Iterator[None]:
    """Without torch's remark that a compiled module calls global hooks twice: ours do not mind."""
    if not any(map(is_compiled, model.modules())):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Using `torch.compile")
        yield


class _Recorder(TorchFunctionMode):
    """Sees the calls of torch's functions, and which module is running."""

    def __init__(self, model: nn.Module, looks: Looks) -> None:
        super().__init__()
        self._looks, self._trails = looks, Trails()
        self._names = {id(part): name for name, part in model.named_modules()}
        self._held: dict[int, list[Later]] = {}
        self._watching = False
        self._before: list[bool] = []
        self.ran: set[str] = set()

    def watch(self) -> None:
        """Start to see functions."""
        if not self._watching:
            self._watching = True
            self.__enter__()  # type: ignore[no-untyped-call]

    def rest(self) -> None:
        """See none until `watch`."""
        if self._watching:
            self._watching = False
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def enter(self, module: nn.Module, inputs: object) -> None:
        """A module begins. Where a fast path, or a compiled graph, depends on nobody watching, nobody does."""
        if torch.compiler.is_compiling() or id(module) not in self._names:
            return
        self.ran.add(self._names[id(module)])
        self._before.append(self._watching)
        if not is_fast(module) and not is_compiled(module):
            self.watch()
        elif _get_current_function_mode_stack() == [self]:  # with others there, the fast path is closed anyway
            self.rest()

    def leave(self, module: nn.Module, args: tuple[Any, ...], *rest: Any) -> None:
        """A module ends: with keywords and an output; or by an error, of which torch tells no keywords."""
        if torch.compiler.is_compiling() or id(module) not in self._names:
            return
        (self.watch if self._before.pop() else self.rest)()
        name = self._names[id(module)]
        if len(rest) != 2 or not is_fast(module):
            return
        kwargs = rest[0]
        if isinstance(module, nn.MultiheadAttention):
            self._keep(of_multihead(module, *args, **kwargs), name)
        elif isinstance(module, nn.TransformerEncoderLayer):
            inner = f"{name}.self_attn" if name else "self_attn"
            if inner not in self.ran:
                self._keep(of_encoder_layer(module, *args, **kwargs), inner)
            self.ran.discard(inner)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.compiler.is_compiling():
            return func(*args, **kwargs)
        if self._held and _changes(func, kwargs):
            self._save(kwargs.get("out", args[0] if args else None))
        output = func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            if not _called_by_saccade():
                self._keep(_scaled_dot_product(output, *args, **kwargs))
        elif func in FUNCTIONS:
            look = self._trails.follow(func, args, kwargs, output)
            if look is not None and not _called_by_saccade():
                self._keep(look)
        return output

    def _keep(self, look: Later | Attended, name: str | None = None) -> None:
        self._looks.add(look, name)
        if isinstance(look, Later):
            for tensor in look.tensors:
                self._held.setdefault(tensor.untyped_storage().data_ptr(), []).append(look)

    def _save(self, changed: object) -> None:
        """Copy what is kept of a tensor that is about to change, such as a static cache of keys."""
        if isinstance(changed, Tensor) and changed.layout == torch.strided and not changed.is_nested:
            storage = changed.untyped_storage().data_ptr()
            for look in self._held.pop(storage, ()):
                look.keep(storage)


def _changes(function: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a function changes its first argument."""
    name = getattr(function, "__name__", "")
    return (
        "out" in kwargs
        or name in ("__setitem__", "__set__")
        or (name.endswith("_") and not name.endswith("__"))
        or name.startswith("__i")
    )


def _called_by_saccade() -> bool:
    """Whether saccade's own operator called this function: it records itself."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "torch":
        frame = frame.f_back
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith("saccade.")


def _scaled_dot_product(
    context: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Later | Attended:
    """A call of torch's fused attention."""
    steps = [scaled(query.shape[-1] ** -0.5 if scale is None else scale)]
    if attn_mask is None:
        square = query.shape[-2] == key.shape[-2]
        causal = (Causal() if square else FromFirst()) if is_causal else None
        return later(query, key, context, (), steps, causal)
    if attn_mask.dtype == torch.bool:
        return later(query, key, context, (), steps, attn_mask)
    return later(query, key, context, (attn_mask,), [*steps, added(0)])
