"""`--processes N`: the same command in several processes, which torchrun starts and watches."""

import logging
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.errors import SaccadeError, UsageError
from saccade.processes import launched


class Ended(SaccadeError):  # noqa: N818 - reads as what it is
    """Processes that ended before their time. Mostly they have told why, and nothing is left to be said."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code, self.agreed = exit_code, not text


def launch(
    processes: int,
    name: str,
    words: Sequence[str],
    out: Path | None,
    *,
    resume: bool,
    fresh: bool,
    yes: bool,
    data_dir: str | None,
    machine: bool,
    quiet: bool,
) -> None:
    """Let torchrun start so many processes of `saccade train`, and end as they do."""
    if launched() > 1:
        raise UsageError("--processes: torchrun has started this process already; leave it out")
    flags = {"--resume": resume, "--fresh": fresh, "--yes": yes, "--json": machine, "--quiet": quiet}
    options = [flag for flag, given in flags.items() if given]
    options += ["--out", str(out)] * (out is not None) + ["--data-dir", str(data_dir)] * (data_dir is not None)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    _run(["--standalone", "--nproc-per-node", str(processes), "-m", "saccade", "train", name, *words, *options])


def _run(words: Sequence[str]) -> None:
    from torch.distributed import run as torchrun
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    logging.disable(logging.ERROR)  # torchrun's tell again what the processes tell themselves
    try:
        torchrun.run(torchrun.parse_args(list(words)))
    except SignalException as error:
        raise Ended("", 128 + error.sigval) from None
    except ChildFailedError as error:
        raise ended({rank: one.exitcode for rank, one in error.failures.items()}) from None
    finally:
        logging.disable(logging.NOTSET)


def ended(codes: Mapping[int, Any]) -> Ended:
    """How a command ends whose processes ended so: by the exit code of one that has told why, if there is one."""
    if told := [code for code in codes.values() if code > 0]:
        return Ended("", told[0])
    killed = {rank: signal.Signals(-code).name for rank, code in codes.items() if code != -signal.SIGTERM}
    rank, name = next(iter(killed.items()), (min(codes), "SIGTERM"))
    memory = "; was there enough memory?" if name == "SIGKILL" else ""
    return Ended(f"rank {rank} was ended by {name}{memory}", 1)
