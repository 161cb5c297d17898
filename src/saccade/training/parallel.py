"""How one model is trained by one process or by many: torch's DDP, FSDP2 and tensor parallelism on one device mesh.

`Parallel` holds the model and what is called in its place. Gradients are summed over all examples wherever they are, so N
processes with the same batches make the same steps as one, to rounding. Torch does the sharding and the communication.
"""

import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from saccade import processes
from saccade.data.batches import ALL, Part
from saccade.errors import UsageError
from saccade.layers.feed_forward import FeedForward
from saccade.layers.multihead import MultiHeadAttention
from saccade.systems.system import Output
from saccade.training.devices import device_named, require_compiler
from saccade.training.memory import seed_all
from saccade.training.split_tensors import full, local
from saccade.training.train_config import Config

DATA, TENSOR = "data", "tensor"  # dimensions of the mesh


@dataclass(frozen=True)
class Layout:
    """`data` processes, or groups of processes, have examples of their own; the `tensor` of a group split a model."""

    data: int = 1
    tensor: int = 1

    @classmethod
    def of(cls, config: Config) -> "Layout":
        """The layout of the processes that there are."""
        count, tensor = processes.size(), config.tensor_parallel
        if count % tensor:
            expected = f"a divisor of the number of processes ({count})"
            raise UsageError(f"train.tensor_parallel: expected {expected}, got {tensor}; start as many as it takes")
        if count == 1 and config.shard:
            raise UsageError("train.shard: has no effect on one process; leave it out, or start several (torchrun)")
        return cls(count // tensor, tensor)

    @property
    def place(self) -> int:
        """Which of the groups this process is in."""
        return processes.rank() // self.tensor

    @property
    def part(self) -> Part:
        """What of every batch is this process's own."""
        return ALL if self.data == 1 else Part(self.place, self.data)


class Parallel:
    """A model in training, by itself or as one of many."""

    def __init__(self, model: nn.Module, config: Config) -> None:
        self.model = model
        self.layout = Layout.of(config)
        self.device = device_named(config.device) if lands_in_parts(config) else next(model.parameters()).device
        self._template: nn.Module | None = None
        if config.recompute:
            recompute(model)
        self.forward: Any = self._spread(model, config)
        if config.compile:
            require_compiler(self.device)
            self.forward = torch.compile(self.forward, dynamic=True)

    @property
    def sharded(self) -> bool:
        """Whether parameters are split over processes."""
        return self._template is not None

    def _spread(self, model: nn.Module, config: Config) -> nn.Module:
        layout = self.layout
        if layout.data == layout.tensor == 1:
            return model
        from torch.distributed.device_mesh import init_device_mesh

        if lands_in_parts(config):
            land(model.named_buffers(), self.device)  # parameters follow, block by block
        else:
            land(model.state_dict().items(), self.device)
        mesh = init_device_mesh(self.device.type, (layout.data, layout.tensor), mesh_dim_names=(DATA, TENSOR))
        if layout.data > 1:
            from saccade.layers.shared_batch_norm import shared_norms

            shared_norms(model, mesh[DATA].get_group())
        if layout.tensor > 1 or config.shard:
            self._template = _emptied(model)
        if layout.tensor > 1:
            split(model, mesh[TENSOR], layout.tensor)
        if config.shard or (layout.data > 1 and layout.tensor > 1):
            shard(model, mesh[DATA], self.device)
        elif layout.data > 1:
            devices = None if self.device.type == "cpu" else [self.device]
            # Buffers are the same everywhere, batch norms' by their own doing; the newer torch has another word for this.
            names = inspect.signature(nn.parallel.DistributedDataParallel).parameters
            key = "forward_sync_buffers" if "forward_sync_buffers" in names else "broadcast_buffers"
            options: Any = {key: False, "gradient_as_bucket_view": True}  # gradients lie where they are exchanged, once
            return nn.parallel.DistributedDataParallel(model, device_ids=devices, **options)
        return model

    def seed(self, seed: int) -> None:
        """Let each group draw dropout of its own; those who split a model draw the same."""
        if self.layout.place:
            seed_all(int(np.random.SeedSequence(seed, spawn_key=(self.layout.place,)).generate_state(1)[0]))

    def accumulating(self, last: bool) -> AbstractContextManager[Any]:
        """The block of a batch: only the gradients of the last batch of an update are exchanged."""
        sharded = hasattr(self.model, "set_requires_gradient_sync")
        if sharded:
            self.model.set_requires_gradient_sync(last)  # type: ignore[operator]
        if last or sharded or self.layout.data == 1:
            return nullcontext()
        block: AbstractContextManager[Any] = self.forward.no_sync()
        return block

    @property
    def averaged(self) -> int:
        """By how much torch has divided the sum of all gradients."""
        return self.layout.data

    def squares(self) -> list[Tensor]:
        """Squares of the norms of the gradients; summed over all processes each counts once."""
        gradients = [weight.grad for weight in self.model.parameters() if weight.grad is not None]
        return [_square(gradient) for gradient in gradients]

    def total(self, numbers: Tensor, squares: int) -> Tensor:
        """Sums over all processes; the last so many numbers are squares, of all others those who split a model have one."""
        if self.layout.data == self.layout.tensor == 1:
            return numbers
        numbers[: len(numbers) - squares] /= self.layout.tensor
        torch.distributed.all_reduce(numbers)
        return numbers

    @contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """The model with all its parameters in this process, for evaluation."""
        if self._template is None:
            yield self.model
            return
        model = copy.deepcopy(self._template)
        model.load_state_dict({name: full(value) for name, value in self.model.state_dict().items()}, assign=True)
        yield model.train(self.model.training)

    def finite(self) -> bool:
        """Whether all parameters are, in every process."""
        own = all(bool(local(weight).isfinite().all()) for weight in self.model.parameters())
        return own if not self.sharded else processes.total([float(not own)]) == [0.0]


def _square(gradient: Tensor) -> Tensor:
    """The square of a gradient's norm, divided by the number of processes that hold the same part."""
    count = processes.size()
    if hasattr(gradient, "placements"):
        sizes = zip(gradient.placements, gradient.device_mesh.shape, strict=True)  # type: ignore[attr-defined]
        for placement, size in sizes:
            count //= size if placement.is_shard() else 1
    flat = local(gradient).flatten()
    square = torch.dot(flat, flat)
    return square if count == 1 else square / count


def _emptied(model: nn.Module) -> nn.Module:
    """A copy whose parameters take no memory; all else is as it was."""
    memo: dict[int, Any] = {id(one): nn.Parameter(one.detach().to("meta"), False) for one in model.parameters()}
    return copy.deepcopy(model, memo)


def blocks(model: nn.Module) -> list[nn.Module]:
    """The layers of which a model has several: those of its lists."""
    return [block for one in model.modules() if isinstance(one, nn.ModuleList) for block in one]


def recompute(model: nn.Module) -> None:
    """Keep of each block only what it read, and compute it once more for its gradient (Chen et al. 2016)."""
    if not blocks(model):
        raise UsageError("train.recompute: has no effect, this system has no blocks; leave it out")
    for block in blocks(model):
        block.forward = partial(_recomputed, block, block.forward)


def _recomputed(block: nn.Module, forward: Any, *inputs: Any, **options: Any) -> Any:
    if not (block.training and torch.is_grad_enabled()):
        return forward(*inputs, **options)
    return checkpoint(forward, *inputs, use_reentrant=False, **options)


def lands_in_parts(config: Config) -> bool:
    """Whether each block of a model comes to its device and is split before the next one comes there."""
    return config.shard and config.tensor_parallel == 1


def hollow(config: Config) -> bool:
    """Whether this process makes its model without numbers, since it gets its part of those of the first process."""
    return lands_in_parts(config) and processes.rank() > 0


def land(tensors: Iterable[tuple[str, Tensor]], device: torch.device) -> None:
    """Let whole tensors be on this device, with the numbers that the first process has: those of others may have come from
    files of different machines, or there are none."""
    for _, tensor in tensors:
        if hasattr(tensor, "placements"):
            continue  # it has landed, and is split
        own = tensor.detach()
        whole = torch.empty_like(own, device=device) if own.is_meta else own.to(device)
        torch.distributed.broadcast(whole, 0)
        if whole.device != tensor.device:
            # Another view of the numbers: who has sent them may still hold `whole`, and what is held is not swapped.
            new = nn.Parameter(whole, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else whole.detach()
            torch.utils.swap_tensors(tensor, new)  # so that what is tied stays so


def shard(model: nn.Module, mesh: Any, device: torch.device) -> None:
    """Split every parameter over the processes of a mesh (FSDP2); a block's are put together while it computes."""
    from torch.distributed.fsdp import fully_shard

    _register()
    for block in [*blocks(model), model]:
        if any(True for _ in block.parameters()):
            land(block.named_parameters(), device)
            fully_shard(block, mesh=mesh)


def _register() -> None:
    """Let torch find the loss in an Output: gradients begin there."""
    from torch.utils import _pytree

    if Output not in _pytree.SUPPORTED_NODES:
        _pytree.register_dataclass(Output)


def split(model: nn.Module, mesh: Any, count: int) -> None:
    """Split attention by heads and feed-forward networks by columns, then rows (Shoeybi et al. 2019)."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    attentions = [one for one in model.modules() if isinstance(one, MultiHeadAttention)]
    networks = [one for one in model.modules() if isinstance(one, FeedForward)]
    if not attentions:
        raise UsageError("train.tensor_parallel: expected a system of the Transformer family, got another; use train.shard")
    for attention in attentions:
        if not attention.SPLITS:
            raise UsageError("train.tensor_parallel: expected attention without relative positions; use train.shard")
        if attention.heads % count:
            raise UsageError(
                f"train.tensor_parallel: expected a divisor of model.num_heads ({attention.heads}), got {count}"
            )
        columns: dict[str, Any] = {name: ColwiseParallel() for name in ("query_map", "key_map", "value_map")}
        parallelize_module(attention, mesh, {**columns, "output_map": RowwiseParallel()})
        attention.split = True
    for network in networks:
        parallelize_module(network, mesh, {"into": ColwiseParallel(), "out": RowwiseParallel()})
        network.split = True


def optimized(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Parameter groups of which none holds both whole and split parameters: torch's optimizers take one kind at a time."""
    apart: list[dict[str, Any]] = []
    for group in groups:
        for kind in (False, True):
            own = [one for one in group["params"] if hasattr(one, "placements") == kind]
            apart += [{**group, "params": own}] if own else []
    return apart
