"""Checkpoints of a run: saved whole or not at all, checked before they are used, the newest few and the best kept.

The directories are the truth. LAST and BEST are for people and scripts, and for telling that a directory is gone;
a kill may leave them one save behind, which the next writer puts right and on which nothing depends.
"""

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from saccade import durable_files
from saccade.errors import DataError, UsageError
from saccade.training.checkpoints import listing, manifests, names, strict_json, tensor_files

STEM = re.compile(r"[a-z][a-z0-9_]{0,63}")
LEFTOVERS = (".tmp-", ".del-")
ATTEMPTS = 100  # how often a reader looks again because the trainer changes things under its hands


def _at(point: str) -> None:
    """Called after each write, sync and rename of a save: where tests kill the process or break the disk."""


Parts = Callable[[Path], Mapping[str, manifests.Mark]]


def no_parts(folder: Path) -> Mapping[str, manifests.Mark]:
    """Where one process writes all."""
    return {}


@dataclass(frozen=True)
class Checkpoint:
    """What was saved at a step."""

    step: int
    path: Path
    tensors: dict[str, dict[str, Tensor]]
    """By file and name, such as `tensors["model"]["output.weight"]`."""
    state: dict[str, Any]
    passed_over: list[str]
    """One line for each newer checkpoint that is damaged; mostly empty."""
    beside: Mapping[str, manifests.Mark] = field(default_factory=dict)
    """What the files of the run were that it was made with."""


class Checkpoints:
    """The checkpoints in RUN/checkpoints, for one writer (see `lock`) and any number of readers."""

    def __init__(
        self,
        run: Path,
        keep: int = 3,
        regular: Callable[[int], bool] = lambda step: True,
        beside: Mapping[str, manifests.Mark] | None = None,
    ) -> None:
        if keep < 1:
            raise UsageError(f"keep must be at least 1, got {keep}")
        self.run = run
        self.keep = keep
        self.regular = regular
        self.beside = beside or {}
        self.folder = run / "checkpoints"

    def save(
        self,
        step: int,
        tensors: Mapping[str, Mapping[str, Tensor]],
        state: Mapping[str, Any],
        *,
        best: bool = False,
        parts: Parts = no_parts,
    ) -> Path:
        """Store a checkpoint; once this returns, no kill loses it until `keep` newer ones are manifest.

        One at a step that is not regular (an interruption's) only until the next is stored: it takes nobody's place.
        `parts` writes files of several processes into the directory, and says what they are.
        """
        contents, aliases = _contents(step, tensors, state)
        try:
            durable_files.make_directory(self.folder, _at)
            self._tidy()
            durable_files.require_room(self.folder, sum(map(len, contents.values())))
            serial = 1 + max((entry.serial for entry in listing.published(self.folder)), default=0)
            aside = durable_files.unused(self.folder / f".tmp-{names.directory_name(step)}")
            written = parts(aside)
            manifest = manifests.draw_up(step, serial, best, contents, aliases, self.beside, written)
            path = self._publish(contents, manifest, aside)
            for pointer in ("LAST", "BEST") if best else ("LAST",):
                durable_files.replace(self.folder / pointer, names.pointer_text(pointer, path.name), _at)
            self._retire(path.name)
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._tidy()
            if isinstance(error, OSError):
                raise durable_files.trouble(f"save step {step}", self.folder, error) from error
            raise
        return path

    def load(self, which: Literal["last", "best"] | int = "last") -> Checkpoint:
        """The newest whole checkpoint, the best, or that of a step, every byte checked."""
        for _ in range(ATTEMPTS):
            entries = listing.published(self.folder)
            try:
                checkpoint = self._load(which, entries)
                if not checkpoint.passed_over or entries == listing.published(self.folder):
                    return checkpoint
            except DataError:
                if entries == listing.published(self.folder):
                    raise
        return self._load(which, listing.published(self.folder))

    def recorded(self) -> Mapping[str, manifests.Mark]:
        """What the files of the run must be, by the newest manifest that can be read."""
        entries = listing.published(self.folder)
        return entries[0].beside if entries else {}

    def steps(self) -> list[int]:
        """The steps of all published checkpoints, in order."""
        return sorted(names.places(self.folder))

    def sweep(self) -> None:
        """Put right what a kill left behind; for the single writer, before it begins."""
        if self.folder.is_dir():
            self._tidy()
            self._catch_up()

    def _tidy(self) -> None:
        """Delete what was left half made or half deleted, and end replacements that were begun."""
        present = list(self.folder.iterdir())
        for path in present:
            if path.name.startswith(LEFTOVERS):
                durable_files.remove(path)
        for path in present:
            if path.name.startswith(names.REPLACED):
                self._settle(path)

    def _catch_up(self) -> None:
        """Name in LAST and BEST what a kill kept from being named; one that is damaged, or names what is gone, stays."""
        entries = [entry for entry in listing.published(self.folder) if entry.serial]
        serials = {entry.name: entry.serial for entry in entries}
        for pointer, candidates in (("LAST", entries), ("BEST", [entry for entry in entries if entry.best])):
            with contextlib.suppress(DataError):
                named = names.pointed(self.folder, pointer)
                if candidates and (named is None or serials.get(named, candidates[0].serial) < candidates[0].serial):
                    durable_files.replace(self.folder / pointer, names.pointer_text(pointer, candidates[0].name), _at)

    def _load(self, which: Literal["last", "best"] | int, entries: list[listing.Entry]) -> Checkpoint:
        if not entries:
            raise DataError(f"no checkpoint in {self.run}; train first, or name the directory of another run")
        if which == "last":
            return self._newest(entries)
        entry = self._best(entries) if which == "best" else self._of_step(entries, which)
        try:
            checkpoint = _read(entry)
            return replace(checkpoint, passed_over=self._damaged_newest(entries, entry)) if which == "best" else checkpoint
        except DataError as error:
            others = ", ".join(str(other.step) for other in reversed(entries) if other is not entry and _is_whole(other))
            fix = f"take another {{checkpoint}} ({others}), or " if others else ""
            raise DataError(str(error), fix=f"{fix}put the file back") from error

    def _newest(self, entries: list[listing.Entry]) -> Checkpoint:
        passed: list[tuple[listing.Entry, str]] = []
        for entry in sorted(entries, key=lambda entry: entry.serial > 0):  # unreadable manifests might be the newest
            try:
                checkpoint = _read(entry)
            except DataError as error:
                passed.append((entry, str(error)))
                continue
            newer = [line for other, line in passed if other.serial or other.step > entry.step]
            return replace(checkpoint, passed_over=self._gone(entries) + newer)
        raise DataError(f"no whole checkpoint in {self.run}: {passed[0][1]}; put the file back or train anew")

    def _damaged_newest(self, entries: list[listing.Entry], best: listing.Entry) -> list[str]:
        """A line if the newest checkpoint is damaged: it might have been better than the best that is left."""
        unreadable = [entry for entry in entries if not entry.serial and entry.step > best.step]
        lines = self._gone(entries)
        for entry in (entries[0], *unreadable):
            if entry is not best:
                try:
                    _read(entry)
                except DataError as error:
                    lines.append(str(error))
        return lines

    def _gone(self, entries: list[listing.Entry]) -> list[str]:
        """A line if LAST names a checkpoint that is not there."""
        try:
            name = names.pointed(self.folder, "LAST")
        except DataError:
            return []  # the directories are the truth
        if name is None or name in {entry.name for entry in entries}:
            return []
        return [f"{self.folder / name} is missing"]

    def _best(self, entries: list[listing.Entry]) -> listing.Entry:
        """What BEST names, or a newer one marked best that a kill kept from being named."""
        marked = next((entry for entry in entries if entry.best), None)
        name = names.pointed(self.folder, "BEST")
        if name is None:
            if marked is None:
                raise DataError(f"no best checkpoint in {self.run} yet", fix="take the last {checkpoint}")
            return marked
        named = next((entry for entry in entries if entry.name == name), None)
        if named is None:
            raise DataError(
                f"{self.folder / name} is missing, which BEST names", fix="take another {checkpoint}: last, or a step"
            )
        return marked if marked and named.serial and marked.serial > named.serial else named

    def _of_step(self, entries: list[listing.Entry], step: int) -> listing.Entry:
        for entry in entries:
            if entry.step == step:
                return entry
        raise DataError(f"no checkpoint of step {step} in {self.run}; there are {', '.join(map(str, self.steps()))}")

    def _publish(self, contents: Mapping[str, bytes], manifest: manifests.Manifest, aside: Path) -> Path:
        path = self.folder / names.directory_name(manifest.step)
        manifests.write_all(aside, contents, manifest, _at)
        replaced = path.with_name(names.REPLACED + path.name)
        if path.exists():
            path.rename(replaced)
            _at(f"rename {replaced.name}")
        aside.rename(path)
        _at(f"rename {path.name}")
        durable_files.sync_directory(self.folder, _at)
        if replaced.exists():
            self._settle(replaced)
        return path

    def _settle(self, replaced: Path) -> None:
        """End a replacement that was begun: the old one goes if the new one is there, and comes back if not."""
        path = replaced.with_name(replaced.name.removeprefix(names.REPLACED))
        if path.exists():
            self._discard([replaced])
        else:
            replaced.rename(path)
            durable_files.sync_directory(self.folder, _at)

    def _retire(self, newest: str) -> None:
        """Let go of all but the newest and the best; the one just saved stays even if the disk cannot read it back."""
        entries = listing.published(self.folder)
        marked = [entry for entry in entries if entry.best]
        counted = [entry for entry in entries if self.regular(entry.step)]
        kept = {newest, *(entry.name for entry in counted[: self.keep] + marked[:1])}
        with contextlib.suppress(DataError):
            kept.add(names.pointed(self.folder, "BEST") or "")
        self._discard([entry.path for entry in entries if entry.name not in kept])

    def _discard(self, paths: list[Path]) -> None:
        """Delete directories that nobody may see half deleted: renamed first, the names put on the disk, then emptied."""
        doomed = []
        for path in paths:
            doomed.append(path.rename(durable_files.unused(path.with_name(f".del-{path.name}"))))
            _at(f"rename {doomed[-1].name}")
        if doomed:
            durable_files.sync_directory(self.folder, _at)
        for path in doomed:
            durable_files.remove(path)
            _at(f"delete {path.name}")


def _contents(
    step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
) -> tuple[dict[str, bytes], dict[str, tensor_files.Aliases]]:
    """The files of a checkpoint in memory, and their tied names; whatever cannot be stored is refused here."""
    if step < 0:
        raise UsageError(f"step must be 0 or more, got {step}")
    contents, aliases = {}, {}
    for stem, group in tensors.items():
        if not STEM.fullmatch(stem):
            raise UsageError(f"{stem!r} cannot name a file of tensors; use small letters, digits and _")
        contents[stem + manifests.TENSORS], aliases[stem + manifests.TENSORS] = tensor_files.pack(group, stem)
    contents[manifests.STATE] = strict_json.encode(dict(state), "state")
    return contents, aliases


def _read(entry: listing.Entry) -> Checkpoint:
    tensors, state = manifests.read_all(entry.path, manifests.read_manifest(entry.path, entry.step))
    return Checkpoint(entry.step, entry.path, tensors, state, [], entry.beside)


def _is_whole(entry: listing.Entry) -> bool:
    try:
        _read(entry)
    except DataError:
        return False
    return True
