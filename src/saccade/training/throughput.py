"""How fast a model is trained, beside what its device could do at the most.

The estimate is 6 · N · tokens floating point operations (Kaplan et al. 2020, arXiv:2001.08361): two for each of the N
parameters that a token is multiplied by, and twice as many for the gradients. Attention itself is left out.
"""

import re
import time
from functools import cache

import torch
from torch import nn

from saccade import processes
from saccade.errors import UsageError
from saccade.task import Task
from saccade.training.precision import DTYPES, chosen
from saccade.training.train_config import Config

TERA = 1e12
# Peaks of matrix products without sparsity, in 10¹² operations a second, as the makers publish them: in 16 bits, in float32.
GPUS = {
    "H200": (989, 67),
    "H100 PCIe": (756, 51),
    "H100": (989, 67),
    "A100": (312, 19.5),
    "L40S": (362, 91.6),
    "L4": (121, 30.3),
    "A10": (125, 31.2),
    "V100": (125, 15.7),
    "T4": (65, 8.1),
    "RTX 4090": (165, 82.6),
    "RTX 3090": (71, 35.6),
}
SIZE, ROUNDS = 1024, 5  # of the matrix product that tells a CPU's peak


def multiplied(model: nn.Module) -> int:
    """How many parameters a token is multiplied by: all but tables that it is only looked up in."""
    looked_up = {id(one.weight) for one in model.modules() if isinstance(one, nn.Embedding)}
    others = {id(own) for one in model.modules() if not isinstance(one, nn.Embedding) for own in one.parameters(False)}
    return sum(one.numel() for one in model.parameters() if id(one) not in looked_up or id(one) in others)


def gpu_peak(name: str, *, half: bool) -> float | None:
    """Operations a second of a GPU that is called so, if it is in the table."""
    for known, (halves, floats) in GPUS.items():
        if re.search(rf"\b{known}\b", name):
            return (halves if half else floats) * TERA
    return None


@cache
def cpu_peak(dtype: torch.dtype, threads: int) -> float:
    """Operations a second of this machine's CPU with so many threads, measured by a few matrix products."""
    square = torch.full((SIZE, SIZE), 0.5, dtype=dtype)
    torch.mm(square, square)
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        torch.mm(square, square)
        times.append(time.perf_counter() - started)
    return 2 * SIZE**3 / min(times)


def peak_of(device: torch.device, config: Config) -> float | None:
    """Operations a second at the most, where that is known; a CPU's only if it is asked for, since it takes a moment."""
    dtype = DTYPES.get(chosen(config.precision, device), torch.float32)
    if device.type == "cpu":
        return cpu_peak(dtype, torch.get_num_threads()) if config.measure_peak else None
    if device.type != "cuda":
        return None
    return gpu_peak(torch.cuda.get_device_name(device), half=dtype != torch.float32)


def most_tokens(task: Task, model: nn.Module, config: Config, device: torch.device) -> float | None:
    """Tokens a second that all processes together could train at the peak of their devices; None where that is not known.

    It is known of systems that read and write texts: elsewhere a parameter is used many times for each prediction.
    """
    texts = task.reader.TOKENIZED and task.writer.SEARCHES
    if config.measure_peak and not texts:
        raise UsageError("train.measure_peak: has no effect, operations are known of systems that write texts; leave it out")
    peak = peak_of(device, config) if texts else None
    return None if peak is None else peak * processes.size() / (6 * multiplied(model))
