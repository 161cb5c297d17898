"""One process among several, as `torchrun` starts them: its rank, and what all of them tell each other.

A process by itself is rank 0 of 1, and every function here gives back what it was given. Torch is imported only where
there are several.
"""

import contextlib
import datetime
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from saccade.errors import DataError, SaccadeError, described

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

DAY = datetime.timedelta(days=1)
PATIENCE = 3.0  # seconds in which a process that lives can answer
PAUSE = 0.1  # seconds between two looks
HEARD = 1.0  # seconds in which the first process says what it knows, before another ends and torchrun with it

_store: "Store | None" = None
_connected = False
_blocks = 0  # of `joined` so far: messages of one are not taken for those of another


class RankLost(SaccadeError):  # noqa: N818 - reads as what it is
    """A process of the others that failed, ended, or does not answer."""


class NotStarted(DataError):  # noqa: N818 - reads as what it is
    """What another process fails by before all are connected, with its exit code: nothing was begun."""

    def __init__(self, rank: int, failure: str) -> None:
        text, self.exit_code = json.loads(failure)
        super().__init__(f"rank {rank} could not start: {text}")


def launched() -> int:
    """How many processes torchrun has started; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if {"RANK", "MASTER_ADDR"} <= os.environ.keys() else 1


def own() -> int:
    """Which of them this one is, from 0; the first writes log, files and progress."""
    return int(os.environ["RANK"]) if launched() > 1 else 0


def local() -> int | None:
    """Which of those on this machine this one is; None without torchrun."""
    return int(os.environ.get("LOCAL_RANK", "0")) if launched() > 1 else None


def restarted() -> bool:
    """Whether `torchrun --max-restarts` has started this process again, after a failure."""
    return launched() > 1 and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def rank() -> int:
    """This process among those that are connected."""
    return own() if _connected else 0


def size() -> int:
    """How many processes are connected."""
    return launched() if _connected else 1


@contextmanager
def joined() -> Iterator[None]:
    """Inside this block processes that torchrun has started can leave each other messages, and be connected."""
    global _store, _connected, _blocks
    if launched() == 1 or _store is not None:
        yield
        return
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    store, _, _ = next(rendezvous("env://", timeout=DAY))
    _blocks += 1
    _store = PrefixStore(f"saccade/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{_blocks}", store)
    try:
        yield
    except Exception as error:
        _part()  # so that nobody waits for this one
        _tell(error)
        raise
    finally:
        _part()
        _store, _connected = None, False


def _part() -> None:
    """End what processes compute together."""
    import torch.distributed as dist

    if dist.is_initialized():
        with contextlib.suppress(RuntimeError):  # the others may be gone
            dist.destroy_process_group()


def _tell(error: Exception) -> None:
    """Let the others know what this process fails by. What the first fails by, too, or tells of this one, it alone tells."""
    assert _store is not None
    text, _ = described(error)
    failure = json.dumps(described(error))
    with contextlib.suppress(RuntimeError):  # the store may be gone, or the first process silent
        _store.set(f"failed/{own()}", failure)
        _store.set(f"ready/{own()}", failure)
        if own():
            _store.wait(["failed/0"], datetime.timedelta(seconds=2 * PATIENCE))
            first = json.loads(_store.get("failed/0"))[0]
            if text in first or first in text:
                error.agreed = True  # type: ignore[attr-defined]
                time.sleep(HEARD)


def connect(timeout: float) -> None:
    """From now on processes compute together; a call that all make waits so many seconds for the slowest."""
    global _connected
    if _store is None:
        return
    import torch.distributed as dist

    _store.set(f"ready/{own()}", "")
    for one in range(launched()):
        if failure := awaited(f"ready/{one}"):
            raise NotStarted(one, failure)
    limit = datetime.timedelta(seconds=timeout)
    dist.init_process_group(store=_store, rank=own(), world_size=launched(), timeout=limit)
    _connected = True


def announce(name: str, text: str) -> None:
    """Tell the others something that they wait for."""
    if _store is not None:
        _store.set(name, text)


def awaited(name: str) -> str:
    """What another announces under this name, however long that takes; if that one ends, torchrun ends this one, too."""
    assert _store is not None
    while not _store.check([name]):
        if _store.check(["failed/0"]):
            raise NotStarted(0, _store.get("failed/0").decode())
        time.sleep(PAUSE)
    return str(_store.get(name).decode())


def everyone(value: Any) -> list[Any]:
    """What each process gave, in the order of their ranks."""
    if not _connected:
        return [value]
    import torch.distributed as dist

    given: list[Any] = [None] * size()
    dist.all_gather_object(given, value)
    return given


def total(numbers: Sequence[float]) -> list[float]:
    """The sums over all processes."""
    if not _connected:
        return list(numbers)
    import torch
    import torch.distributed as dist

    summed = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(summed)
    sums: list[float] = summed.tolist()
    return sums


def share(items: Sequence[Any]) -> Sequence[Any]:
    """This process's part of what all have: every N-th."""
    return items[rank() :: size()] if _connected else items


def whole(part: Sequence[Any]) -> list[Any]:
    """All items, in order, of the parts that `share` made."""
    if not _connected:
        return list(part)
    parts = everyone(list(part))
    count = sum(map(len, parts))
    return [parts[i % size()][i // size()] for i in range(count)]


def explained(error: Exception, step: int) -> Exception:
    """What a call that all make has failed by: the ranks that do not answer any more, or the error itself.

    Whoever meets such an error says that it lives; who has not said so after a while is lost. A process that fails by an
    error of its own has left that behind.
    """
    if _store is None or not _of_others(error):
        return error
    living: list[int] = []
    failures: dict[int, str] = {}
    try:
        _store.set(f"living/{step}/{rank()}", "")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and len(living) + len(failures) < size():
            time.sleep(PAUSE)
            living = [one for one in range(size()) if _store.check([f"living/{step}/{one}"])]
            failures = {one: _failure(_store, one) for one in range(size()) if _store.check([f"failed/{one}"])}
    except RuntimeError:  # the store is gone with the process that held it
        living = living or [rank()]
    if failures:
        return RankLost("; ".join(f"rank {one} failed at step {step}: {text}" for one, text in failures.items()))
    lost = [str(one) for one in range(size()) if one not in living]
    if not lost:
        return RankLost(f"the processes lost touch with each other at step {step} ({_first_line(error)})")
    return RankLost(f"rank{'s' * (len(lost) > 1)} {', '.join(lost)} of {size()} ended or did not answer at step {step}")


def _failure(store: "Store", one: int) -> str:
    return str(json.loads(store.get(f"failed/{one}"))[0])


def _of_others(error: Exception) -> bool:
    """Whether an error is one of a call that all make."""
    words = ("gloo", "nccl", "Connection closed", "Connection reset", "Timed out waiting", "Broken pipe", "process group")
    return isinstance(error, RuntimeError) and any(word.lower() in str(error).lower() for word in words)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
