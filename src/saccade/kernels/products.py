"""Matrix products cut into one part a thread: the parts wait for nobody, which a product shared by all threads must do."""

import torch
from jaxtyping import Float
from torch import Tensor


def product(one: Float[Tensor, "N I"], other: Float[Tensor, "I O"], out: Tensor | None = None) -> Float[Tensor, "N O"]:
    """one @ other, the rows of `one` dealt out to the threads; `out` must be contiguous."""
    N, (inner, width) = len(one), other.shape
    out = one.new_empty(N, width) if out is None else out
    parts = torch.get_num_threads()
    whole = N // parts * parts
    if not one.is_cpu or parts == 1 or whole == 0 or min(N, inner, width) == 0:
        return torch.mm(one, other, out=out)
    turned = one[:whole].unflatten(0, (parts, -1))
    torch.bmm(turned, other.expand(parts, inner, width), out=out[:whole].view(parts, -1, width))
    if whole < N:
        torch.mm(one[whole:], other, out=out[whole:])
    return out
