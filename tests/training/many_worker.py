"""What one of several processes does in a test: the trainings of a list, one after the other. Started by torchrun."""

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from saccade import processes
from saccade.errors import SaccadeError
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.train import train
from tests.training.runs import StopAt


def main(file: str) -> None:
    """Train the jobs of this file; what each raised goes into a file beside it."""
    for number, job in enumerate(json.loads(Path(file).read_text())):
        problem = attempt(job)
        Path(f"{file}.{number}.{processes.own()}").write_text(problem)


def attempt(job: dict[str, Any]) -> str:
    """One training; what it raised, on one line."""
    watcher = StopAt(job["stop_at"]) if "stop_at" in job else Quiet()
    if job.get("full_disk") == processes.own():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["bytes"], resource.RLIM_INFINITY))
    try:
        train(Path(job["out"]), resolve(job["table"]), watcher, resume=job.get("resume", False))
    except SaccadeError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)  # nothing that waits for the others
