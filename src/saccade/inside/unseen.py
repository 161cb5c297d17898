"""Which modules attend in a way that cannot be seen, and why; said in one warning."""

import re
import warnings
from collections.abc import Collection, Iterable

import torch
from torch import nn

SAYS_ATTENTION = re.compile(r"attention|attn(?![a-z])", re.IGNORECASE)
NAMED = 3  # modules that a warning names


def is_compiled(module: nn.Module) -> bool:
    """Whether torch.compile runs this module."""
    return isinstance(module, torch._dynamo.OptimizedModule) or module._compiled_call_impl is not None


def warn_of_unseen(model: nn.Module, seen: Iterable[str], ran: Collection[str]) -> None:
    """One warning if modules attended and nothing was seen of it, or if there was nothing to see."""
    modules = dict(model.named_modules())
    seen = list(seen)
    compiled = [name for name, part in modules.items() if is_compiled(part)]
    if compiled:
        _warn(compiled, modules, "compiled by torch.compile, which runs a graph of its own; look into the module itself")
        return
    unseen = [name for name in _attentions(modules, ran) if not any(_inside(name, one) for one in seen)]
    unseen = [name for name in unseen if not any(other != name and _inside(name, other) for other in unseen)]
    if unseen:
        _warn(unseen, modules, _reason(modules[unseen[0]]))
    elif not seen and not ran:
        _say(f"{type(model).__name__} was not called inside the block, so there is nothing to see")
    elif not seen:
        _say(f"{type(model).__name__} ran, and no attention was seen in it; none of its modules is named so, either")


def _attentions(modules: dict[str, nn.Module], ran: Collection[str]) -> Iterable[str]:
    """Modules that ran and whose class or own name says attention, but for those beside the attention of their parent."""
    for name, module in modules.items():
        own = type(module)
        basic = own.__module__.startswith("torch.nn.") or (next(module.children(), None) is None and _is_layer(module))
        if (
            name in ran
            and not basic
            and (SAYS_ATTENTION.search(own.__name__) or SAYS_ATTENTION.search(name.rpartition(".")[2]))
        ):
            yield name


def _is_layer(module: nn.Module) -> bool:
    """Projections, norms and dropout carry the name of the attention they serve."""
    return bool(re.search(r"linear|conv|norm|drop|embed|output|proj|identity", type(module).__name__, re.IGNORECASE))


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


def _warn(names: list[str], modules: dict[str, nn.Module], reason: str) -> None:
    shown = ", ".join(f"{name or 'the model'!r} ({type(modules[name]).__name__})" for name in names[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    _say(f"attention that cannot be seen in {shown}{more}: {reason}")


def _say(text: str) -> None:
    warnings.warn(text, stacklevel=5)
