"""Tensors to bytes and back (safetensors): all finite, tied ones once, each in one piece."""

from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from saccade.errors import SaccadeError

Aliases = dict[str, str]


def pack(tensors: Mapping[str, Tensor], group: str) -> tuple[bytes, Aliases]:
    """The bytes of named tensors, and for each tied name the name it is stored under."""
    owners: dict[Any, str] = {}
    aliases: Aliases = {}
    for name, tensor in tensors.items():
        _check(name, tensor, group)
        owner = owners.setdefault(_memory(tensor, name), name)
        if owner != name:
            aliases[name] = owner
    stored = {name: tensor for name, tensor in tensors.items() if name not in aliases}
    return safetensors.torch.save(_apart(stored)), aliases


def unpack(data: bytes, aliases: Aliases) -> dict[str, Tensor]:
    """The tensors of these bytes, tied ones as one tensor again; ValueError if they are not what `pack` makes."""
    header = int.from_bytes(data[:8], "little")
    if len(data) < 8 or header > len(data) - 8:
        raise ValueError("its header is longer than the file")
    try:
        tensors: dict[str, Tensor] = safetensors.torch.load(data)
    except Exception as error:  # whatever the parser meets, the text of the error is ours
        raise ValueError("is not in the safetensors format") from error
    if not tensors.keys() >= set(aliases.values()) or tensors.keys() & aliases.keys():
        raise ValueError("does not hold the tensors that others are tied to")
    return tensors | {name: tensors[owner] for name, owner in aliases.items()}


def _check(name: str, tensor: Tensor, group: str) -> None:
    if not isinstance(name, str) or name == "__metadata__":
        raise SaccadeError(f"{group} has a tensor named {name!r}; use other text as its name")
    if not isinstance(tensor, Tensor) or tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = tensor.layout if isinstance(tensor, Tensor) else type(tensor).__name__
        raise SaccadeError(f"{group}: {name!r} cannot be stored ({kind}); make it a plain tensor")
    if tensor.dtype in (torch.complex32, torch.complex128):
        raise SaccadeError(f"{group}: {name!r} is {tensor.dtype}, which safetensors cannot hold; use complex64")
    if not _finite(tensor):
        raise SaccadeError(f"{group}: {name!r} holds NaN or infinity; not saved, go back to the last checkpoint")


def _finite(tensor: Tensor) -> bool:
    if not tensor.is_floating_point() and not tensor.is_complex():
        return True
    if tensor.dtype.itemsize == 1:  # the small floats know few operations
        tensor = tensor.float()
    return bool(torch.isfinite(tensor).all())


def _memory(tensor: Tensor, name: str) -> Any:
    """Equal for two tensors exactly if they are the same numbers at the same place."""
    if tensor.numel() == 0:
        return name
    place = (tensor.device, tensor.data_ptr(), tensor.is_conj(), tensor.is_neg())
    return place, tensor.dtype, tensor.shape, tensor.stride()


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous, on the CPU, and no two in the same storage: a view that overlaps another is copied."""
    storages = set()
    apart = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        storage = plain.untyped_storage().data_ptr()
        apart[name] = plain.clone() if storage in storages else plain
        storages.add(storage)
    return apart
