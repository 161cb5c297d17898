"""Tensors whose parts several processes hold, on the disk: torch's distributed checkpoint in files of safetensors.

Each process writes what it holds into a file of its own; one process reads all of them as whole tensors, however many
there were.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor

from saccade import durable_files, processes
from saccade.errors import DataError, SaccadeError
from saccade.training.split_tensors import local

PREFIX, TIED = "shard-", "tied"


def write(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]]) -> list[Path]:
    """Write the parts that this process holds; all must call this. The files that it wrote, on the disk."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    flat = {f"{group}/{name}": tensor for group, own in tensors.items() for name, tensor in own.items()}
    try:
        save(flat, storage_writer=HuggingFaceStorageWriter(str(folder), save_distributed=True))
    except CheckpointException as error:
        number, (cause, _) = next(iter(error.failures.items()))
        raise SaccadeError(f"rank {number}: cannot write its part of the checkpoint ({cause})") from None
    files = sorted(folder.glob(f"{PREFIX}{processes.rank() + 1:05d}-*"))
    for file in files:
        durable_files.sync(file)
    return files


def tied(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """For each name of a tensor that another name has, too, that other one, under which it is written."""
    owners: dict[int, str] = {}
    found = {name: owners.setdefault(local(tensor).data_ptr(), name) for name, tensor in tensors.items() if tensor.numel()}
    return {name: owner for name, owner in found.items() if name != owner and local(tensors[name]).numel()}


def read(folder: Path, aliases: Mapping[str, str]) -> dict[str, dict[str, Tensor]]:
    """The whole tensors of a directory, by group and name; parameters of these names are those of others."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    reader = HuggingFaceStorageReader(str(folder))
    try:
        known = reader.read_metadata().state_dict_metadata
        flat = {
            name: torch.empty(one.size, dtype=one.properties.dtype)  # type: ignore[union-attr]
            for name, one in known.items()
            if "/" in name
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that one process reads alone is what is wanted
            load(flat, storage_reader=reader, no_dist=True)
    except (SafetensorError, RuntimeError, ValueError, KeyError) as error:
        raise DataError(f"{folder}: its parts do not make whole tensors ({error})") from None
    tensors: dict[str, dict[str, Tensor]] = {}
    for path, tensor in flat.items():
        group, _, name = path.partition("/")
        tensors.setdefault(group, {})[name] = tensor
    parameters = tensors.setdefault("model", {})
    parameters |= {name: parameters[owner] for name, owner in aliases.items()}
    return tensors
