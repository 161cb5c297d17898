"""Tensors whose parts are held by several processes (torch's DTensor): the part here, the whole, and a whole one split."""

from torch import Tensor


def local(tensor: Tensor) -> Tensor:
    """The part of a tensor that this process holds."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def full(tensor: Tensor) -> Tensor:
    """A tensor whose parts are put together; every process must ask for it."""
    put: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return put.detach()


def like(value: Tensor, tensor: Tensor) -> Tensor:
    """A whole tensor laid out as another is."""
    if not hasattr(tensor, "placements"):
        return value
    from torch.distributed.tensor import distribute_tensor

    laid: Tensor = distribute_tensor(value, tensor.device_mesh, tensor.placements, src_data_rank=None)  # type: ignore[attr-defined]
    return laid
