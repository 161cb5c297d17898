"""Which modules attend in a way that cannot be seen, and why; said in one warning."""

import re
import warnings
from collections.abc import Collection, Iterable

import torch
from torch import nn

SAYS_ATTENTION = re.compile(r"attention|attn(?![a-z])", re.IGNORECASE)
SERVES = re.compile(r"linear|conv|norm|drop|embed|output|proj|identity", re.IGNORECASE)
NAMED = 3  # modules that a warning names


def is_compiled(module: nn.Module) -> bool:
    """Whether torch.compile runs this module."""
    return isinstance(module, torch._dynamo.OptimizedModule) or module._compiled_call_impl is not None


def warn_of_unseen(model: nn.Module, seen: Iterable[str], ran: Collection[str]) -> None:
    """One warning, at the user's line, if modules attended and nothing was seen of it, or if there was nothing to see."""
    text = _text(model, list(seen), ran)
    if text:
        warnings.warn(text, stacklevel=4)  # behind this: looking, and the end of its block in contextlib


def _text(model: nn.Module, seen: list[str], ran: Collection[str]) -> str:
    modules, own = dict(model.named_modules()), type(model).__name__
    compiled = [name for name, part in modules.items() if is_compiled(part)]
    if compiled:
        return _named(compiled, modules, "compiled by torch.compile, which runs a graph of its own; look into it uncompiled")
    unseen = _unseen(modules, seen, ran)
    if unseen:
        return _named(unseen, modules, _reason(modules[unseen[0]]))
    if seen:
        return ""
    if not ran:
        return f"{own} was not called inside the block, so there is nothing to see"
    return f"{own} ran, and no attention was seen in it; none of its modules is named so, either"


def _unseen(modules: dict[str, nn.Module], seen: list[str], ran: Collection[str]) -> list[str]:
    """The innermost modules that say attention, ran, and showed none; but not what serves one that did."""
    named = [name for name in modules if name in ran and _says_attention(name, modules[name])]
    silent = [name for name in named if not any(_inside(name, one) for one in seen)]
    served = [name for name in named if name and name not in silent]
    silent = [name for name in silent if not any(_inside(outer, name) for outer in served)]
    return [name for name in silent if not any(other != name and _inside(name, other) for other in silent)]


def _says_attention(name: str, module: nn.Module) -> bool:
    """By its class, or by its own name, which projections, norms and dropout share with the attention they serve."""
    kind = type(module)
    if kind.__module__.startswith("torch.nn."):
        return False
    if SAYS_ATTENTION.search(kind.__name__):
        return True
    return bool(SAYS_ATTENTION.search(name.rpartition(".")[2])) and not SERVES.search(kind.__name__)


def _inside(outer: str, inner: str) -> bool:
    return inner == outer or outer == "" or inner.startswith(f"{outer}.")


def _reason(module: nn.Module) -> str:
    implementation = getattr(getattr(module, "config", None), "_attn_implementation", None)
    if implementation not in (None, "eager", "sdpa"):
        return f"its attention runs in {implementation}, a kernel of its own; load the model with attn_implementation='sdpa'"
    return (
        "what it computes is neither scaled_dot_product_attention nor a softmax of query·key times values in torch's "
        "functions (flex_attention, a kernel of its own, linear or additive attention)"
    )


def _named(names: list[str], modules: dict[str, nn.Module], reason: str) -> str:
    shown = ", ".join(f"{name or 'the model'!r} ({type(modules[name]).__name__})" for name in names[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"attention that cannot be seen in {shown}{more}: {reason}"
