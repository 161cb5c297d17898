"""A few real steps of a config on this machine: what they take in time, FLOPs and memory, and so the whole training.

No formula of FLOPs tells the time of small models on a CPU: embeddings, norms, the optimizer and caches take their share.
So the config's own data is read, its own model made, and its own loop run; nothing is written.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from saccade.errors import UsageError
from saccade.planning import amounts
from saccade.task import Kinds, Task
from saccade.training.allocator import keep_pages, kept_objects
from saccade.training.bad_examples import fit_to_learn, learned
from saccade.training.devices import device_named
from saccade.training.freezing import freeze
from saccade.training.journal import resident_megabytes
from saccade.training.run import Run
from saccade.training.settings import Settings, fitting
from saccade.training.starting import Start
from saccade.training.trainer import Report, Trainer

WARM_UP, LEAST, MOST = 2, 5, 200  # steps
SECONDS, LONGEST = 4.0, 60.0  # that are timed, if there are steps enough; after which no further step begins
SQUARE = 1024  # rows and columns of the matrix product that tells the machine's peak
STATES = {"adam": 2, "adamw": 2, "rmsprop": 2, "sgd": 1}  # numbers that an optimizer keeps of a parameter
Note = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What was measured; seconds of a step are the median of those timed, CPU seconds (of all threads) their mean."""

    parameters: int
    state_bytes: int
    "Parameters, gradients and what the optimizer keeps."
    kept_bytes: int
    "What a forward pass keeps for the gradient."
    resident_megabytes: float
    flops_per_step: float
    predictions_per_step: float
    timed: int
    step_seconds: float
    step_cpu_seconds: float
    steps: int
    peak_flops: float
    "FLOP/s of a large matrix product, in float32."
    device: str
    threads: int

    @property
    def total_seconds(self) -> float:
        """All steps, without validations and checkpoints."""
        return self.steps * self.step_seconds

    def table(self) -> dict[str, Any]:
        """For machines."""
        rate = self.flops_per_step / self.step_seconds
        return {**asdict(self), "total_seconds": self.total_seconds, "flops_per_second": rate, "measured": True}


def peak(device: torch.device, seconds: float = 1.0) -> float:
    """FLOP/s of a product of two large matrices: the quickest of as many as fit into so many seconds."""
    left, right = (torch.randn(SQUARE, SQUARE, device=device) for _ in range(2))
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or best == math.inf:
        started = time.perf_counter()
        (left @ right).sum().item()  # which waits for the device
        best = min(best, time.perf_counter() - started)
    return 2 * SQUARE**3 / best


@contextmanager
def plain_forms() -> Iterator[None]:
    """In this block plain torch computes what compiled kernels would, and is counted."""
    before = os.environ.get("SACCADE_KERNELS")
    os.environ["SACCADE_KERNELS"] = "off"
    try:
        yield
    finally:
        os.environ.pop("SACCADE_KERNELS")
        if before is not None:
            os.environ["SACCADE_KERNELS"] = before


def _fused(query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


def _fused_backward(_: Any, query: Sequence[int], key: Sequence[int], value: Sequence[int], *__: Any, **___: Any) -> int:
    return 2 * _fused(query, key, value)  # what it computes once more is no work of the model


def counted_flops(model: nn.Module, batch: Any) -> int:
    """FLOPs of the matrix products and convolutions of a batch, forward and backward, by torch's counter, to which fused
    attention on a CPU is told."""
    aten = torch.ops.aten
    mapping = {
        aten._scaled_dot_product_flash_attention_for_cpu: _fused,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: _fused_backward,
    }
    with plain_forms(), FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        model(batch).loss.backward()
    model.zero_grad(set_to_none=True)
    return int(counter.get_total_flops())


def kept_bytes(model: nn.Module, batch: Any) -> int:
    """Bytes that a forward pass keeps for the gradient, beside the parameters; what is recomputed is not seen."""
    own = {one.untyped_storage().data_ptr() for one in model.parameters()}
    sizes: dict[int, int] = {}
    held: list[Tensor] = []  # so that no two have one address

    def seen(tensor: Tensor) -> Tensor:
        if tensor.layout == torch.strided and (place := tensor.untyped_storage().data_ptr()) not in own:
            sizes[place] = tensor.untyped_storage().nbytes()
            held.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(seen, lambda tensor: tensor):
        output = model(batch)
    del output
    return sum(sizes.values())


def free_bytes() -> int | None:
    """Memory of this machine that is free, where it can be told."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) * 1024 if found else None


def tried(settings: Settings, start: Start | None, note: Note, run: Path | None = None) -> Trial:
    """Run a few steps of these settings; of a run, with the tokenizers that it has."""
    fitting(settings)
    device = device_named(settings.train.device)
    if settings.train.threads:
        torch.set_num_threads(settings.train.threads)
    keep_pages()
    settings = _without_learned_vectors(settings, note)
    place = Run(run or Path(), settings)
    splits = place.splits()
    task = place.task() if run else _fitted(settings, splits, start)
    corpus, splits = learned(task, splits, settings.data, note)
    with torch.device("meta"):
        count = sum(one.numel() for one in place.new_model(task).parameters())
    _require_room(count, settings, device)
    model = place.new_model(task)
    for line in start.fit(model, settings, task) if start else []:
        note(line)
    freeze(model, settings.train.freeze)
    model = model.to(device)
    task.prepare(model, splits, corpus, note)
    batches = corpus.batches(settings.train)
    steps = settings.train.steps
    if settings.train.epochs:
        steps = math.ceil(batches.steps(settings.train.epochs) / settings.train.accumulate)
    return _timed(model, corpus, settings, steps, device)


def _without_learned_vectors(settings: Settings, note: Note) -> Settings:
    """What vectors of words start from changes no step, and to learn it may take longer than all that is tried."""
    if getattr(settings.reader, "vectors", "") != "skip_gram":
        return settings
    note("reader.vectors=skip_gram: left out here; a training learns the vectors before its first step")
    return replace(settings, reader=replace(settings.reader, vectors=""))


def _fitted(settings: Settings, splits: Any, start: Start | None) -> Task:
    examples = fit_to_learn(Kinds.of(settings.system, settings.task), splits, settings.data)
    return Task.fit(settings, examples, start.task if start else None)


def _state_bytes(count: int, learning: int, settings: Settings) -> int:
    """Parameters, and of those that are trained a gradient and what the optimizer keeps."""
    return 4 * count + 4 * learning * (1 + STATES[settings.train.optimizer])


def _require_room(count: int, settings: Settings, device: torch.device) -> None:
    """Refuse a model that this machine has no memory for, before it is made."""
    free, needed = free_bytes(), _state_bytes(count, count, settings)
    if device.type == "cpu" and free is not None and needed > free:
        room = f"expected a model that fits into {amounts.gigabytes(free)} of free memory"
        got = f"got {amounts.short(count)} parameters, which take {amounts.gigabytes(needed)} without activations"
        raise UsageError(f"{room}, {got}; plan it for other devices, such as --devices 8xA100-80GB")


def _timed(model: nn.Module, corpus: Any, settings: Settings, steps: int, device: torch.device) -> Trial:
    """Count one batch, then run the loop."""
    batch = corpus.batches(settings.train).next().to(device)
    model.train()
    flops = counted_flops(model, batch) * settings.train.accumulate
    trainer = Trainer(model, corpus.batches(settings.train), settings.train)
    try:
        with trainer.casting.autocast():
            kept = kept_bytes(model, batch)
        reports, cpu = _reports(trainer)
    finally:
        trainer.close()
    every = list(model.parameters())
    learning = sum(one.numel() for one in every if one.requires_grad)
    return Trial(
        parameters=sum(one.numel() for one in every),
        state_bytes=_state_bytes(sum(one.numel() for one in every), learning, settings),
        kept_bytes=kept,
        resident_megabytes=resident_megabytes(),
        flops_per_step=flops,
        predictions_per_step=(reports[-1].tokens - reports[0].tokens) / (len(reports) - 1),
        timed=len(reports) - 1,
        step_seconds=median(report.seconds for report in reports[1:]),
        step_cpu_seconds=fmean(cpu[1:]),
        steps=steps,
        peak_flops=peak(device),
        device=str(device),
        threads=torch.get_num_threads(),
    )


def _reports(trainer: Trainer) -> tuple[list[Report], list[float]]:
    """The last step of the warm-up and those that are timed, with the CPU seconds of each."""
    reports: list[Report] = []
    cpu: list[float] = []
    with kept_objects() as made:
        made()
        before = time.process_time()
        for report in trainer.steps():
            now = time.process_time()
            reports.append(report)
            cpu.append(now - before)
            before = now
            if _enough(reports):
                break
    if len(reports) <= WARM_UP:
        raise UsageError(f"train.steps: expected more than {WARM_UP} for a plan, got {len(reports)}; raise it")
    return reports[WARM_UP - 1 :], cpu[WARM_UP - 1 :]


def _enough(reports: Sequence[Report]) -> bool:
    """Whether no further step is needed, or may begin."""
    timed, spent = len(reports) - WARM_UP, sum(one.seconds for one in reports[WARM_UP:])
    return timed >= MOST or (timed >= LEAST and spent >= SECONDS) or (timed >= 1 and spent > LONGEST)
