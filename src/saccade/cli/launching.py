"""`--processes N`: the same command by torchrun, which takes the place of this process."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from saccade.errors import UsageError
from saccade.processes import launched


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
    """Start torchrun with so many processes of `saccade train`."""
    if launched() > 1:
        raise UsageError("--processes: torchrun has started this process already; leave it out")
    flags = {"--resume": resume, "--fresh": fresh, "--yes": yes, "--json": machine, "--quiet": quiet}
    options = [flag for flag, given in flags.items() if given]
    options += ["--out", str(out)] * (out is not None) + ["--data-dir", str(data_dir)] * (data_dir is not None)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    sys.stdout.flush()
    os.execv(sys.executable, [*torchrun, "-m", "saccade", "train", name, *words, *options])
