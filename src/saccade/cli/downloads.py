"""Getting data sets from the command line: the licence first, a bar, and the offer to get what a training lacks."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from saccade.data import fetching, known
from saccade.data.known import Known, MissingData
from saccade.errors import DataError
from saccade.inputs import amount
from saccade.view.output.display_text import visible

Result = TypeVar("Result")


class DownloadBar:
    """How far a download is, on a terminal; elsewhere nothing."""

    def __init__(self) -> None:
        speed = (DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        console = Console(stderr=True, highlight=False)
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *speed,
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None)

    def __enter__(self) -> "DownloadBar":
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def __call__(self, file: str, done: int, size: int) -> None:
        """So many bytes of a file have come, of so many or, if 0, of nobody knows how many."""
        self.bar.update(self.task, description=visible(file), completed=done, total=size or None)


def get(item: Known, directory: Path) -> list[Path]:
    """Download what is missing of a data set; its licence is shown before its first file."""
    folder = directory / item.name
    begun = folder.is_dir() and any(folder.iterdir())
    if not begun and any(file.addresses for file in item.files):
        _show_licence(item)
    return _get(item, directory)


def _get(item: Known, directory: Path) -> list[Path]:
    with DownloadBar() as bar:
        return fetching.get(item, directory, bar)


def _show_licence(item: Known) -> None:
    address = f" ({item.address})" if item.address else ""
    print(visible(f"licence of {item.name}: {item.licence}{address}"), file=sys.stderr)


def with_data(action: Callable[[], Result], *, yes: bool, ask: bool) -> Result:
    """What an action returns, once the data sets that it lacks are got, if they may be: by --yes, or asked on a terminal."""
    while True:
        try:
            return action()
        except MissingData as missing:
            terminal = ask and sys.stdin.isatty() and sys.stderr.isatty()
            if not missing.offered:
                raise
            if not (yes or terminal):
                raise DataError(f"{missing}; --yes downloads it on the way") from None
            _show_licence(missing.item)
            if not (yes or _agreed(missing.item)):
                raise
            _get(missing.item, known.data_directory())


def _agreed(item: Known) -> bool:
    """The answer of who sits at the terminal."""
    size = amount(sum(file.bytes for file in item.files if file.addresses))
    question = f"{item.name} is not in {known.data_directory()}: download it ({size} unpacked)?"
    return typer.confirm(visible(question), default=True, err=True)
