"""What the benchmarks share: interleaved timing, peak memory, the tuned allocator, and the report."""

import argparse
import ctypes
import gc
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from saccade.data.batches import ALL

Run = Callable[[], object]
LONG = 10.0  # seconds of a pass after which what came before it no longer matters

# glibc hands every large temporary back to the kernel and pays for fresh pages; with these settings it keeps them.
# What a peer's user can have for nothing, the peer has here too.
TUNED = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:"
    "glibc.malloc.trim_threshold=8589934592:glibc.malloc.arena_max=1"
)


def arguments(description: str, *, cases: bool = False) -> argparse.Namespace:
    """The options that every benchmark has; and one that chooses among its `cases`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, at most a minute")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON: ratios, keyed case/peer")
    parser.add_argument("--threads", type=int, default=2)
    if cases:
        parser.add_argument("--only", default="", metavar="CASE", help="the cases whose names begin so")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    return parser.parse_args()


def interleave(runs: dict[str, Run], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Seconds a call of each run, once a round in turn, each time over at least so many seconds."""
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            count, start = 0, time.perf_counter()
            while count == 0 or time.perf_counter() - start < seconds:
                run()
                count += 1
            times[name].append((time.perf_counter() - start) / count)
    return times


def _work(
    pipe: Connection, build: Callable[[list[str]], dict[str, Run]], names: list[str], threads: int, kept: bool
) -> None:
    """A process of its own: runs what it is told to, and says how long one pass took.

    The first pass after a pause, in which others had the cores and the caches, is not counted, unless it is a long one.
    """
    import torch

    from saccade.training.allocator import keep_pages

    torch.set_num_threads(threads)
    if kept:
        keep_pages()
    runs, warm = build(names), set[str]()
    while name := pipe.recv():
        count, started = 0, time.perf_counter()
        runs[name]()
        if (first := time.perf_counter() - started) > LONG and name in warm:
            pipe.send(first)
            continue
        warm.add(name)
        started = time.perf_counter()
        while count == 0 or time.perf_counter() - started < 1:
            runs[name]()
            count += 1
        pipe.send((time.perf_counter() - started) / count)


def apart(
    build: Callable[[list[str]], dict[str, Run]], peers: Sequence[str], ours: Sequence[str], rounds: int, threads: int
) -> dict[str, list[float]]:
    """Each as its user runs it: peers in a plain process, ours in one set up as the command line does, turn by turn.

    `build` makes the named runs, in the process where they run.
    """
    from saccade.cli.main import SPINS

    context = multiprocessing.get_context("spawn")
    homes: dict[str, Connection] = {}
    for names, kept in ((list(peers), False), (list(ours), True)):
        if not names:
            continue
        here, there = context.Pipe()
        if kept:
            os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
        context.Process(target=_work, args=(there, build, names, threads, kept), daemon=True).start()
        homes |= dict.fromkeys(names, here)
    times: dict[str, list[float]] = {name: [] for name in homes}
    for _ in range(rounds):
        for name, pipe in homes.items():
            pipe.send(name)
            times[name].append(pipe.recv())
    for pipe in set(homes.values()):
        pipe.send("")
    return times


def ratio(peer: list[float], ours: list[float]) -> float:
    """How many times quicker we are: the median over rounds of peer / ours."""
    return statistics.median(p / o for p, o in zip(peer, ours, strict=True))


def extra_megabytes(run: Run) -> float:
    """Peak resident memory that one call adds (Linux)."""
    run()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    run()
    return (_status("VmHWM") - before) / 1024


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


class Report:
    """Prints cases as they come and keeps the ratios."""

    def __init__(self) -> None:
        self.ratios: dict[str, float] = {}

    def case(self, case: str, times: dict[str, list[float]], ours: str = "ours") -> None:
        """One case: milliseconds of each, and our ratio to each peer."""
        shown = ", ".join(f"{name} {statistics.median(t) * 1e3:.3g} ms" for name, t in times.items())
        parts = []
        for peer in times:
            if peer != ours:
                self.ratios[f"{case}/{peer}"] = round(ratio(times[peer], times[ours]), 3)
                parts.append(f"{self.ratios[f'{case}/{peer}']:.2f} × {peer}")
        print(f"{case:38} {shown}  →  {', '.join(parts)}", flush=True)

    def value(self, case: str, peer: str, ratio: float, text: str) -> None:
        """A ratio that is not of times."""
        self.ratios[f"{case}/{peer}"] = round(ratio, 3)
        print(f"{case:38} {text}  →  {ratio:.2f} × {peer}", flush=True)

    def close(self, as_json: bool) -> None:
        """The last line."""
        if as_json:
            print(json.dumps({"ratios": self.ratios}))


def tuned_part(name: str, quick: bool, threads: int) -> dict[str, float]:
    """Run one part of the calling script again in a process with the tuned allocator, and bring its ratios home."""
    command = [sys.executable, sys.argv[0], "--part", name, "--json", "--threads", str(threads)] + ["--quick"] * quick
    environment = {**os.environ, "GLIBC_TUNABLES": TUNED}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    *lines, last = done.stdout.splitlines()
    print("\n".join(lines), flush=True)
    ratios: dict[str, float] = json.loads(last)["ratios"]
    return ratios


class InTurn:
    """Batches that are taken in turn; a batch source for the trainer."""

    epoch, part = 0, ALL

    def __init__(self, batches: Sequence[Any]) -> None:
        self.batches, self.taken = batches, 0

    def next(self) -> Any:
        self.taken += 1
        return self.batches[(self.taken - 1) % len(self.batches)]

    def state(self) -> dict[str, int]:
        return {"taken": self.taken}

    def restore(self, state: Mapping[str, int]) -> None:
        self.taken = state["taken"]

    def steps(self, epochs: float) -> int:
        return round(epochs * len(self.batches))
