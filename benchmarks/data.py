"""Training starts on many pairs: time to the first step, cold and warm, memory, and batches a second of the loader alone.

python benchmarks/data.py            10,000, 1,000,000 and 4,000,000 pairs (3 GB of disk, in TMPDIR)
python benchmarks/data.py --quick    10,000 and 300,000 pairs

Pairs are the sentences of multi30k, again and again, each line with its number. Every start is a process of its own with one
thread: cold, a new run with nothing prepared; warm, the same run resumed; again, another new run on the same data. Growth is
told against 10,000 pairs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from kit import Report, arguments

from saccade.data.known import find, unzipped

FEW, MANY, QUICK = 10_000, (1_000_000, 4_000_000), (300_000,)
CASES = ("cold", "warm", "again")
SECONDS = 5.0  # in which batches are counted


@dataclass(frozen=True)
class Started:
    """What a start took, up to its first step: memory in megabytes, the most and what is no file's."""

    seconds: float
    peak: float
    anonymous: float
    batches: float
    "A second, of the loader alone."


def make(path: Path, pairs: int) -> None:
    """A file of so many pairs."""
    sides = [unzipped(find("multi30k", f"raw/train.{side}")).decode().splitlines() for side in ("de", "en")]
    with path.open("w", encoding="utf-8") as file:
        for number, (one, other) in zip(count(), islice(cycle(zip(*sides, strict=True)), pairs), strict=False):
            file.write(f"{number} {one.strip()}\t{number} {other.strip()}\n")


def start(data: Path, run: Path, cache: Path, *, resume: bool) -> Started:
    """Train one step in a process of its own."""
    environment = {**os.environ, "SACCADE_CACHE": str(cache), "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--part", json.dumps([str(data), str(run), resume])]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Started(**json.loads(done.stdout.splitlines()[-1]))


def starts(folder: Path, pairs: int) -> dict[str, Started]:
    """A cold start on so many pairs, a warm one, and that of another run."""
    data, cache = folder / f"{pairs}.tsv", folder / f"cache-{pairs}"
    make(data, pairs)
    runs = {name: folder / f"run-{pairs}{'-again' * (name == 'again')}" for name in CASES}
    return {name: start(data, run, cache, resume=name == "warm") for name, run in runs.items()}


def megabytes(field: str) -> float:
    """A line of what Linux says of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def _part(data: str, run: str, resume: bool) -> None:
    """The process of one start: it ends after its first step."""
    began = time.perf_counter()
    from saccade.data.batches import BatchSource
    from saccade.task import Corpus
    from saccade.training.progress import Quiet
    from saccade.training.settings import resolve
    from saccade.training.train import train
    from saccade.training.trainer import Report as Update

    class Once(Quiet):
        """Ends the process after the second step: the first has made the checkpoint that is resumed from."""

        facts: dict[str, float] | None = None

        def step(self, report: Update, entry: Any) -> None:
            if self.facts is not None:
                print(json.dumps(self.facts), flush=True)
                os._exit(0)
            seconds = time.perf_counter() - began
            self.facts = {"seconds": seconds, "peak": megabytes("VmHWM"), "anonymous": megabytes("RssAnon")}
            self.facts["batches"] = _rate(sources[0])

    sources: list[BatchSource] = []
    planned = Corpus.batches

    def noted(corpus: Corpus, config: Any) -> BatchSource:
        sources.append(planned(corpus, config))
        return planned(corpus, config)

    Corpus.batches = noted  # type: ignore[method-assign,assignment]
    words = ["steps=1000", "threads=1", "valid_every=1000", "save_every=1"]
    given = [f"data.train={data}", *(f"train.{word}" for word in words)]
    train(Path(run), resolve({"system": "transformer"}, given), Once(), resume=resume)


def _rate(batches: Any) -> float:
    """Batches a second that are only read."""
    began, number = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        batches.next()
        number += 1
    return number / (time.perf_counter() - began)


def main() -> None:
    """All starts, and how they grow."""
    given = arguments(__doc__ or "")
    if given.part:
        _part(*json.loads(given.part))
        return
    report, few = Report(), _starts(FEW)
    for pairs in QUICK if given.quick else MANY:
        _compared(report, few, _starts(pairs), pairs)
    report.close(given.json)


def _starts(pairs: int) -> dict[str, Started]:
    with tempfile.TemporaryDirectory() as name:
        return starts(Path(name), pairs)


def _compared(report: Report, few: dict[str, Started], many: dict[str, Started], most: int) -> None:
    """Print how starts grow with the data."""
    for case in CASES:
        one, other = few[case], many[case]
        what = f"{other.seconds:.1f} s to the first step, peak {other.peak:.0f} MB, anonymous {other.anonymous:.0f} MB"
        report.value(f"{case} start, {most:,} pairs: time", f"{FEW:,} pairs", other.seconds / one.seconds, what)
        for what, own, base in (("memory", other.anonymous, one.anonymous), ("peak", other.peak, one.peak)):
            told = f"{own:.0f} MB and {base:.0f} MB"
            report.value(f"{case} start, {most:,} pairs: {what}", f"{FEW:,} pairs", own / base, told)
    rates = f"{many['warm'].batches:.0f} and {few['warm'].batches:.0f} batches a second"
    report.value(f"loader alone, {most:,} pairs", f"{FEW:,} pairs", many["warm"].batches / few["warm"].batches, rates)


if __name__ == "__main__":
    main()
