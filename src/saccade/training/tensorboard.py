"""What the log says as TensorBoard event files, in `tensorboard/` of the run.

Every sitting writes a file of its own. Its first event says from which step on it tells the story: what an earlier file has
of later steps, such as those after the last checkpoint before a kill, is left out by whoever reads them.
"""

import struct
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from saccade.errors import MissingExtra

FOLDER, PATTERN = "tensorboard", "events.out.tfevents.*"
VERSION = "brain.Event:2"  # of the format
MACHINE = ("tokens_per_second", "examples_per_second", "peak_share", "rss_mb", "device_mb", "seconds")
NO_SCALARS = ("event", "step", "time", "ranks", "scores", "best", "changes", "rank")


def require() -> None:
    """Refuse to begin without the package that writes event files."""
    try:
        import tensorboardX  # noqa: F401
    except ImportError:
        raise MissingExtra("train.tensorboard=true", "tensorboardX", "tensorboard") from None


def event_files(run: Path) -> list[Path]:
    """Those of a run, in the order in which they are read."""
    return sorted((run / FOLDER).glob(PATTERN))


def scalars(entry: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a line of the log by the names that TensorBoard shows: the first word is the section."""
    found = {("machine/" if key in MACHINE else "train/") + key: entry[key] for key in entry if key not in NO_SCALARS}
    for one in entry.get("ranks", ()):
        found |= {f"ranks/{key}/rank_{one['rank']}": value for key, value in one.items() if key in MACHINE}
    for group, part in entry.get("scores", {}).items():
        section, ending = ("valid", "") if group == "all" else ("valid_by_group", f"/{group}")
        found |= {f"{section}/{name}{ending}": value for name, value in part.items() if name != "examples"}
    return {name: float(value) for name, value in found.items()}  # what is not finite is text in the log


class EventFile:
    """The file of one sitting, which goes on after this step. `before`: the log so far, for a run that has no such file."""

    def __init__(self, run: Path, step: int, before: Iterable[Mapping[str, Any]] = ()) -> None:
        from tensorboardX.proto.event_pb2 import SessionLog

        known = bool(event_files(run))
        (run / FOLDER).mkdir(exist_ok=True)
        seconds, rest = divmod(time.time_ns(), 10**9)
        self._file = (run / FOLDER / PATTERN.replace("*", f"{seconds:010d}.{rest:09d}.saccade")).open("wb", buffering=0)
        self._write(time.time(), file_version=VERSION)
        if known:
            self._write(time.time(), step=step + 1, session_log=SessionLog(status=SessionLog.START))
        for entry in () if known else before:
            self.add(entry)

    def add(self, entry: Mapping[str, Any]) -> None:
        """A line of the log; it is with the system when this returns, so that a kill loses nothing."""
        from tensorboardX.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in scalars(entry).items()]
        if values:
            self._write(entry["time"], step=entry["step"], summary=Summary(value=values))

    def _write(self, moment: float, **content: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event

        self._file.write(_record(Event(wall_time=moment, **content).SerializeToString()))

    def close(self) -> None:
        """No more is written."""
        self._file.close()


def _record(content: bytes) -> bytes:
    """A record of a file: its length, the checksum of that, the content, and its checksum."""
    from tensorboardX.record_writer import masked_crc32c

    size = struct.pack("<Q", len(content))
    return b"".join((size, struct.pack("<I", masked_crc32c(size)), content, struct.pack("<I", masked_crc32c(content))))
