"""log.jsonl: one JSON object a line, for every few steps and every validation."""

import json
import math
import os
import resource
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade import durable_files

if TYPE_CHECKING:  # so that a log is read without torch
    import torch

    from saccade.training.config_history import Changes
    from saccade.training.trainer import Report

BLOCK = 2**16  # bytes that are read at once from the end of a log


def entries(path: Path) -> list[dict[str, Any]]:
    """Whole lines of a log only: a kill may have cut the last one."""
    whole = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        if (entry := _whole(line)) is None:
            break
        whole.append(entry)
    return whole


def backward(path: Path) -> Iterator[dict[str, Any]]:
    """Whole lines of a log, the last first, read no farther than they are asked for."""
    rest = b""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - BLOCK)
            file.seek(start)
            lines = (file.read(end - start) + rest).split(b"\n")
            end, rest = start, lines[0] if start else b""
            for line in reversed(lines[1:] if start else lines):
                if (entry := _whole(line)) is not None:
                    yield entry


def seconds_of(lines: Iterable[Mapping[str, Any]]) -> list[float]:
    """How long the updates took that lead to each line of a log, pauses left out: its tokens, at the pace of that line."""
    seconds, before = [], 0
    for line in lines:
        if "tokens_per_second" in line:
            seconds.append((line["tokens"] - before) / max(line["tokens_per_second"], 1))
            before = line["tokens"]
    return seconds


def _whole(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("step"), int) else None


class Journal:
    """The log of a run. What a resumed run writes again is cut off first, so that the log tells one story.

    `most`: tokens a second at the peak of the device, where that is known; `device`: where the model is.
    """

    def __init__(
        self,
        run: Path,
        step: int,
        tokens: int = 0,
        *,
        owed: bool = False,
        most: float | None = None,
        device: "torch.device | None" = None,
    ) -> None:
        self.path = run / "log.jsonl"
        kept = [line for line in entries(self.path) if line["step"] <= step]
        if owed:  # the validation of this step was not finished, and is made once more
            kept = [line for line in kept if (line["step"], line.get("event")) != (step, "valid")]
        durable_files.write(self.path, "".join(json.dumps(line) + "\n" for line in kept))
        self.most, self.device = most, device
        self._since = (time.perf_counter(), tokens, 0)

    def move(self, run: Path) -> None:
        """Go on in another directory, where the log already is."""
        self.path = run / self.path.name

    def step(self, report: "Report", ranks: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """Note an update; `ranks`: what each of several processes says of itself."""
        now, (then, tokens, examples) = time.perf_counter(), self._since
        self._since = (now, report.tokens, report.examples)
        seconds = max(now - then, 1e-9)
        pace = (report.tokens - tokens) / seconds
        return self._add({
            "event": "skipped" if report.skipped else "step",
            "step": report.step,
            "epoch": report.epoch,
            "tokens": report.tokens,
            "loss": report.loss,
            "learning_rate": report.learning_rate,
            "grad_norm": report.grad_norm,
            **report.metrics,
            "tokens_per_second": round(pace),
            "examples_per_second": round((report.examples - examples) / seconds, 1),
            **({} if self.most is None else {"peak_share": round(pace / self.most, 4)}),
            **memory_in_use(self.device),
            "time": round(time.time(), 3),
            **({"ranks": list(ranks)} if ranks else {}),
        })  # fmt: skip

    def valid(self, step: int, scores: Mapping[str, Mapping[str, float]], best: bool) -> dict[str, Any]:
        """Note a validation."""
        return self._add({"event": "valid", "step": step, "best": best, "scores": scores, "time": round(time.time(), 3)})

    def config(self, step: int, changes: "Changes") -> dict[str, Any]:
        """Note that the config was changed."""
        table = {key: {"from": old, "to": new} for key, (old, new) in changes.items()}
        return self._add({"event": "config", "step": step, "changes": table, "time": round(time.time(), 3)})

    def _add(self, entry: dict[str, Any]) -> dict[str, Any]:
        safe: dict[str, Any] = _finite(entry)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(safe) + "\n")
        return safe


def _finite(value: Any) -> Any:
    """A number that is not finite is not JSON: it is written as text."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def resident_megabytes() -> int:
    """Memory in use now, or where that cannot be told, the most that ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 2**20
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def memory_in_use(device: "torch.device | None") -> dict[str, int]:
    """Megabytes of this process, and of its accelerator, the most so far, where torch counts them."""
    if device is None or device.type not in ("cuda", "xpu"):
        return {"rss_mb": resident_megabytes()}
    import torch

    most = getattr(torch, device.type).max_memory_allocated(device) // 2**20
    return {"rss_mb": resident_megabytes(), "device_mb": most}
