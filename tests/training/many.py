"""Starting several real processes, by torchrun, and finding them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WORKER = ROOT / "tests" / "training" / "many_worker.py"
ENDS = 120.0  # seconds after which a test gives up


def environment() -> dict[str, str]:
    """That of processes which import this source and these tests."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}


def torchrun(*command: str, processes: int = 2, options: Sequence[str] = ()) -> subprocess.Popen[str]:
    """So many processes of a Python module or file."""
    settings = environment()
    words = ["--standalone", "--nproc-per-node", str(processes), *options, *command]
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *words],
        env=settings,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def trained(folder: Path, jobs: Sequence[Mapping[str, Any]], processes: int = 2) -> list[list[str]]:
    """Let several processes train these; of each job what each process raised."""
    file = folder / f"jobs-{len(list(folder.glob('jobs-*.json')))}.json"
    file.write_text(json.dumps(jobs))
    running = torchrun(str(WORKER), str(file), processes=processes)
    try:
        said, _ = running.communicate(timeout=ENDS)
    finally:
        running.terminate()
    assert running.returncode == 0, said
    return [[Path(f"{file}.{number}.{rank}").read_text() for rank in range(processes)] for number in range(len(jobs))]


def killed(folder: Path, jobs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The same, each job by two processes of its own, of which one may be killed: that one and the other answer "killed"."""
    file = folder / "killed.json"
    file.write_text(json.dumps(jobs))
    command = [sys.executable, str(WORKER), str(file), "--kill"]
    subprocess.run(command, env={**environment(), "SACCADE_KERNELS": "off"}, cwd=ROOT, check=True, timeout=ENDS)
    places = [[Path(f"{file}.{number}.{rank}") for rank in (0, 1)] for number in range(len(jobs))]
    return [[place.read_text() if place.exists() else "killed" for place in both] for both in places]


def losses(run: Path) -> list[float]:
    """The loss of every step that is logged."""
    lines = map(json.loads, (run / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["event"] == "step"]


def process(parent: int, rank: int) -> int:
    """The process of this rank that a torchrun has started."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            facts = dict(line.partition("=")[::2] for line in (path / "environ").read_text().split("\0"))
            father = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if father == parent and facts.get("RANK") == str(rank):
            return int(path.name)
    raise AssertionError(f"no process of rank {rank}")


def wait_until(true: Callable[[], bool], seconds: float = ENDS) -> float:
    """How long it took until this was so."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds, "it took too long"
        time.sleep(0.05)
    return time.monotonic() - started


def alive(number: int) -> bool:
    """Whether this process still runs."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
