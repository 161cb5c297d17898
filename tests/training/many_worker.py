"""What one of several processes does in a test: the trainings of a list, one after the other.

Started by torchrun, or, with --kill, by itself: then each training has processes of its own, which may be killed.
"""

import importlib
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from saccade import processes
from saccade.cli.main import run
from saccade.data.stored import preparations
from saccade.errors import DataError, SaccadeError
from saccade.new_run import settled
from saccade.task import Task
from saccade.training import parallel
from saccade.training.parallel import Parallel, land
from saccade.training.progress import Quiet
from saccade.training.run import Run
from saccade.training.settings import resolve
from saccade.training.train import train
from tests.data.stored.stores import everything_is_large
from tests.training.runs import StopAt

COUNT = 2  # processes of a training that may be killed


def main(file: str) -> None:
    """Train the jobs of this file; what each raised goes into a file beside it."""
    for number, job in enumerate(json.loads(Path(file).read_text())):
        problem = attempt(job)
        Path(f"{file}.{number}.{processes.own()}").write_text(problem)


def attempt(job: dict[str, Any]) -> str:
    """One training; what it raised, on one line."""
    watcher = StopAt(job["stop_at"]) if "stop_at" in job else Quiet()
    if job.get("same_chance"):
        with patch.object(Parallel, "seed"):
            return attempt({**job, "same_chance": False})
    if job.pop("in_parts", False) and processes.own():
        with patch.object(parallel, "land", without_numbers):
            return attempt(job)
    if cache := job.pop("cache", None):
        with pytest.MonkeyPatch.context() as changed:
            everything_is_large(changed, Path(cache))
            if processes.own():  # the first prepares what the others open
                changed.setattr(preparations, "_made", refused)
            return attempt(job)
    if "command" in job:
        return answered(job)
    if job.pop("failed_validation", None) == processes.own():
        with patch.object(Task, "evaluate", side_effect=DataError("no room")):
            return attempt(job)
    if job.get("full_disk") == processes.own():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["bytes"], resource.RLIM_INFINITY))
    if job.get("lost_data") == processes.own():
        job["table"]["data"]["train_size"] += 1
    try:
        with processes.joined():
            settings, start = settled(job["table"], [], Path(job["out"]), resume=job.get("resume", False))
            if start and job.get("other_start") == processes.own():
                start = replace(start, tensors={name: tensor + 1 for name, tensor in start.tensors.items()})
            train(Path(job["out"]), settings, watcher, resume=job.get("resume", False), start=start)
    except SaccadeError as error:
        return f"{type(error).__name__}: {'(told by rank 0) ' * error.agreed}{error}"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return ""


def without_numbers(tensors: Iterable[tuple[str, Tensor]], device: torch.device) -> None:
    """What is to land must come without numbers."""
    given = list(tensors)
    for name, tensor in given:
        if not (tensor.is_meta or isinstance(tensor, DTensor)):
            raise DataError(f"{name} has numbers before it lands")
    land(given, device)


def refused(place: Path, make: Any) -> None:
    """What must not be made."""
    raise DataError(f"{place}: expected to be there")


def answered(job: dict[str, Any]) -> str:
    """What a command prints, with its exit code where that is not 0."""
    kept, place = os.dup(1), Path(f"{job['out']}.{processes.own()}")
    with place.open("w") as file:
        os.dup2(file.fileno(), 1)
        code = run(job["command"])
        sys.stdout.flush()
    os.dup2(kept, 1)
    return f"exit {code}" * (code != 0) + place.read_text()


def main_of_killed(file: str) -> None:
    """The same, but the processes of each job end with it; a job's `kill` says where one of them ends."""
    jobs = json.loads(Path(file).read_text())
    Run(Path(jobs[0]["out"]), resolve(jobs[0]["table"])).splits()  # what is remembered of it need not be computed anew
    for number, job in enumerate(jobs):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        children = [forked(job, f"{file}.{number}.{rank}", rank, port) for rank in range(COUNT)]
        while children:
            child, status = os.wait()
            children.remove(child)
            if os.WIFSIGNALED(status):  # torchrun would end the others; here they need not even say a thing
                for other in children:
                    os.kill(other, signal.SIGKILL)


def forked(job: dict[str, Any], answer: str, rank: int, port: int) -> int:
    """A process of this rank that trains this job."""
    child = os.fork()
    if child:
        return child
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(COUNT)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    if (kill := job.get("kill")) and kill["rank"] == rank:
        arm(kill["call"], kill["number"])
    Path(answer).write_text(attempt(job))
    os._exit(0)


def arm(call: str, number: int) -> None:
    """Let this process be killed where a function, `module:name`, is called for the so-manieth time."""
    module, _, path = call.partition(":")
    *owners, name = path.split(".")
    owner = importlib.import_module(module)
    for one in owners:
        owner = getattr(owner, one)
    function: Callable[..., Any] = getattr(owner, name)
    left = [number]

    def deadly(*given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **options)

    setattr(owner, name, deadly)


if __name__ == "__main__":
    if "--kill" in sys.argv:
        main_of_killed(sys.argv[1])
    else:
        main(sys.argv[1])
    os._exit(0)  # nothing that waits for the others
