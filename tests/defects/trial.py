"""Tries the tests: puts each defect into a copy of the repository and sees whether the test that it names fails."""

import contextlib
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .table import REPOSITORY, SOURCE, Defect

COPIED = ("src", "tests", "docs", "scripts", "benchmarks")
LONGEST = 300.0  # seconds of one trial; what hangs is not caught, since nobody waits that long for a failure
MOST = 8 << 30  # bytes of memory that a test may ask for: a defect may ask for all there is
TAIL = 20_000  # letters of what pytest says that are kept
FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+::\w+(?:\[\S*\])?)", re.MULTILINE)  # without parameters that have spaces
NONE: Mapping[str, str] = {}
Verdict = Literal["caught", "survived", "no verdict"]
VERDICTS: Mapping[int, Verdict] = {0: "survived", 1: "caught"}


@dataclass(frozen=True)
class Trial:
    """What became of one defect."""

    defect: Defect
    verdict: Verdict
    seconds: float
    output: str

    @property
    def failed(self) -> list[str]:
        """The tests that did."""
        return FAILED.findall(self.output)


class Copy:
    """A copy of the repository in which a file can be broken and mended; the repository itself is never touched."""

    def __init__(self, root: Path, original: Path = REPOSITORY) -> None:
        self.root = root
        self.running: subprocess.Popen[bytes] | None = None
        root.mkdir(parents=True)
        for path in original.iterdir():
            if path.name in COPIED:
                shutil.copytree(path, root / path.name)  # with its compiled files and the times that they go by
            elif path.suffix in (".md", ".toml"):
                shutil.copy2(path, root / path.name)

    def try_out(self, defect: Defect) -> Trial:
        """Run the test with the defect in its file."""
        path, started = defect.path(self.root), time.monotonic()
        broken, before, times = defect.applied(self.root), path.read_bytes(), path.stat()
        try:
            path.write_text(broken, encoding="utf-8")
            with _fresh_kernels(defect.room == "kernels" and b"numba" in before) as kernels:
                code, output = self.pytest([defect.test], "-x", variables=kernels)
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return Trial(defect, VERDICTS.get(code, "no verdict"), time.monotonic() - started, output)

    def pytest(
        self, tests: Sequence[str], *options: str, seconds: float = LONGEST, variables: Mapping[str, str] = NONE
    ) -> tuple[int, str]:
        """The exit code of these tests, and the end of what they say; -1 where they take too long."""
        command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "--no-header", *options, *tests]
        with subprocess.Popen(
            command,
            cwd=self.root,
            env={**os.environ, **self.variables(), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as self.running:
            if sys.platform == "linux":
                resource.prlimit(self.running.pid, resource.RLIMIT_AS, (MOST, MOST))
            try:
                output = self.running.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                return -1, f"not done after {seconds:.0f} seconds"
            finally:
                self.stop()
        return self.running.returncode, output.decode(errors="replace")[-TAIL:]

    def stop(self) -> None:
        """End what is running, and what that has started."""
        if self.running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)

    def variables(self) -> dict[str, str]:
        """The copy's source comes first, files of defects are never kept as bytecode, and there is one thread."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        return {"PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1", **threads}

    def check(self) -> None:
        """Refuse to try anything if Python would take the package from elsewhere."""
        command = [sys.executable, "-c", "import saccade; print(saccade.__file__)"]
        told = subprocess.run(command, cwd=self.root, env={**os.environ, **self.variables()}, capture_output=True, text=True)
        if Path(told.stdout.strip()).parent != (self.root / SOURCE):
            raise RuntimeError(f"expected the package of {self.root}, got {told.stdout.strip() or told.stderr.strip()}")


@contextlib.contextmanager
def _fresh_kernels(compiled: bool) -> Iterator[dict[str, str]]:
    """A directory of its own for the kernels of a file that has some: Numba keeps compiled code by the file of its
    outermost function, and would not see that one which is inlined there has changed."""
    if not compiled:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="kernels-", ignore_cleanup_errors=True) as folder:
        yield {"NUMBA_CACHE_DIR": folder}


def try_all(entries: Sequence[Defect], jobs: int, told: Callable[[int, Trial], None]) -> list[Trial]:
    """Every defect's trial, in the order of the table."""
    with tempfile.TemporaryDirectory(prefix="defects-", ignore_cleanup_errors=True) as folder:
        copies = [Copy(Path(folder).resolve() / str(number)) for number in range(jobs)]
        copies[0].check()
        found = _tried(entries, copies, told)
        return _proved(sorted(found, key=lambda trial: entries.index(trial.defect)), copies[0], jobs)


def _tried(entries: Sequence[Defect], copies: Sequence[Copy], told: Callable[[int, Trial], None]) -> list[Trial]:
    """The trials as they end, so many at once as there are copies."""
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    def one(entry: Defect) -> Trial:
        copy = free.get()
        try:
            return copy.try_out(entry)
        finally:
            free.put(copy)

    # Kernels take longest, because they are compiled anew: none of them should be left alone at the end.
    order, found = sorted(entries, key=lambda entry: entry.room != "kernels"), []
    with ThreadPoolExecutor(len(copies)) as pool:
        waiting = [pool.submit(one, entry) for entry in order]
        try:
            for number, future in enumerate(as_completed(waiting), 1):
                found.append(future.result())
                told(number, found[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for copy in copies:
                copy.stop()
            raise
    return found


def _proved(trials: Sequence[Trial], copy: Copy, jobs: int) -> list[Trial]:
    """The trials, of which only those count as caught whose failed test passes without the defect."""
    caught = [trial for trial in trials if trial.verdict == "caught"]
    tests = dict.fromkeys(test for trial in caught for test in trial.failed)
    spread = ("-n", str(jobs)) if jobs > 1 else ()
    code, output = copy.pytest(list(tests), *spread, seconds=LONGEST * 10) if tests else (0, "")
    if code == 0:
        return list(trials)
    bad = set(FAILED.findall(output)) if code == 1 else set(tests)
    return [
        replace(trial, verdict="no verdict", output=f"fails without the defect, too: {', '.join(trial.failed)}\n{output}")
        if trial in caught and bad & set(trial.failed)
        else trial
        for trial in trials
    ]
