"""What the verbs do that are for translation: translate as lines come in, and compare what runs make of one test."""

import json
import os
import select
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from saccade import config, inputs, systems, tasks
from saccade.cli import by_length, streams, verbs
from saccade.data.examples import Pair
from saccade.errors import DataError, UsageError
from saccade.evaluation.text import paired_bootstrap
from saccade.search import Config as SearchConfig
from saccade.search.config import MOST
from saccade.tasks.text_to_text import WINDOW
from saccade.training.run import Run

SHOWN = 5  # sentences that are shown side by side
CHUNK = 1 << 16


def search_of(
    run: Run, words: Sequence[str], *, beam: int | None, n_best: int, length_penalty: float | None
) -> SearchConfig:
    """The run's search with what the options say; a beam of one is greedy search."""
    table = config.plain(verbs.search_config(run, words, n_best))
    if beam is not None and beam > MOST:
        raise UsageError(f"--beam: expected at most {MOST}, got {beam}; choose a narrower one")
    if beam is not None:
        if beam < n_best:
            raise UsageError(f"--n-best: expected at most the beam ({beam}), got {n_best}; widen --beam")
        table |= {"method": "beam" if beam > 1 else "greedy", "beam": beam}
    if length_penalty is not None:
        table["length_penalty"] = length_penalty
    return config.build(SearchConfig, table, "search")


def _writer(path: Path) -> Run:
    """The run, if it writes text."""
    run = Run.open(path)
    if not tasks.load(systems.load(run.settings.system).TASK).Task.writes_text:
        verbs_for = "saccade predict and saccade evaluate"
        raise UsageError(f"{path}: expected a run that writes text, got one that says labels; use {verbs_for}")
    return run


def translate(
    path: Path,
    file: str,
    words: Sequence[str],
    which: str | None,
    *,
    to: str | None,
    beam: int | None,
    n_best: int,
    length_penalty: float | None,
    scores: bool,
    int8: bool,
    machine: bool,
) -> None:
    """A line (or n_best of them, for each language) for each line, in order, as soon as it can be had."""
    run = _writer(path)
    search = search_of(run, words, beam=beam, n_best=n_best, length_penalty=length_penalty)
    task = run.task()
    groups = _languages(task, to)
    with verbs.opened(file) as stream, ExitStack() as stack:
        model, _ = run.model(task, verbs.which_of(which))
        stack.enter_context(verbs.resting(model, int8=int8))
        streams.as_utf8()
        done = 0
        for lines in windows(stream, "standard input" if file == "-" else file):
            for found in task.predict(model, lines, search, groups=groups, split=True, first=done):
                verbs.write(found, scores=scores, machine=machine, named=len(groups) > 1)
            sys.stdout.flush()
            done += len(lines)


def _languages(task: Any, to: str | None) -> Sequence[str]:
    """What to write in: all that are asked for, or all that the model knows."""
    known: list[str] = task.groups()
    if to is None:
        return known
    if known == [""]:
        raise UsageError("--to: this run writes one language; leave --to out")
    asked = [name.strip() for name in to.split(",")]
    for name in asked:
        task.first(name)  # refuses what it does not know
    return asked


def windows(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lines in lists: what is there already, up to a window of them, but never waiting for more once there is one.

    A file comes in large pieces, which are quick; a person who types, or a slow program, gets each answer at once.
    """
    if not _can_wait(stream):
        lines = verbs.decoded(inputs.lines(stream, name), name)
        while window := list(islice(lines, WINDOW)):
            yield window
        return
    arriving, window = _Arriving(stream.fileno(), name), []
    for line in verbs.decoded(arriving, name):
        window.append(line)
        if len(window) == WINDOW or not arriving.ready():
            yield window
            window = []
    if window:
        yield window


def _can_wait(stream: BinaryIO) -> bool:
    """Whether the system can tell if more is there: of pipes and terminals, where there is `select`."""
    try:
        number = stream.fileno()
        return not os.path.isfile(f"/dev/fd/{number}") and os.name == "posix"
    except (OSError, ValueError):
        return False


class _Arriving:
    """Whole lines of a descriptor, read without a buffer that would hide what has arrived."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name, self.rest, self.over = number, name, b"", False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            line, end, rest = self.rest.partition(b"\n")
            if end:
                self.rest = rest
                yield line + end
            elif self.over:
                if line:
                    self.rest = b""
                    yield line
                return
            else:
                inputs.require_line(self.rest, self.name)
                chunk = os.read(self.number, CHUNK)
                self.rest, self.over = self.rest + chunk, not chunk

    def ready(self) -> bool:
        """Whether something more is there without waiting for it."""
        return b"\n" in self.rest or self.over or bool(select.select([self.number], [], [], 0)[0])


def compare(
    paths: Sequence[Path],
    words: Sequence[str],
    split: str | None,
    samples: int,
    *,
    data_dir: str | None,
    machine: bool,
    lengths: bool = False,
    out: Sequence[Path] = (),
) -> None:
    """BLEU of each run on the test of the first, whether the others differ from it, and some sentences side by side."""
    by_length.check(lengths, out)
    verbs.use(data_dir)
    if len(paths) < 2:
        raise UsageError("compare: expected two runs or more; the first is what the others are compared with")
    runs = [_writer(path) for path in paths]
    searches = [verbs.search_config(run, words) for run in runs]
    splits = runs[0].splits()
    split = split or ("test" if splits.test else "valid")  # where there is no test data, what was held out
    pairs = verbs.part_of(splits, split)
    if not pairs:
        raise DataError(f"{paths[0]}: its {split} data is empty; choose another --split: train, valid or test")
    for path, run in zip(paths[1:], runs[1:], strict=True):
        _tell_other_data(f"{path}: learned from other data than {paths[0]}", _learned_from(runs[0]), _learned_from(run))
    tasks = [run.task() for run in runs]
    asked = zip(paths, runs, tasks, searches, strict=True)
    texts = {str(path): _answers(run, task, pairs, search) for path, run, task, search in asked}
    told = paired_bootstrap(texts, [pair.target for pair in pairs], tasks[0].config.bleu_tokens, samples)
    signature = tasks[0].bleu_signature()
    bins = {name: tasks[0].by_length(pairs, found) for name, found in texts.items()} if lengths else {}
    if machine:
        facts = {"runs": told, "examples": len(pairs), "samples": samples, "signature": signature}
        print(json.dumps({**facts, **({"lengths": bins} if lengths else {})}))
    else:
        _show(told, f"{len(pairs):,} {split} examples, {samples:,} samples", signature)
        by_length.show_table(bins)
        _side_by_side(pairs, texts)
    if out:
        by_length.draw(bins, _whole(told, bins), tasks[0].signatures().get("bleu", ""), out, quiet=machine)


def _learned_from(run: Run) -> dict[str, Any]:
    return {"name": run.settings.dataset, **config.plain(run.settings.data)}


def _tell_other_data(about: str, first: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Another language, say, is judged by the wrong references: whoever asks for it hears of it."""
    keys = [key for key in first if key in other and first[key] != other[key]]
    changed = [f"data.{key} = {other[key]!r}, not {first[key]!r}" for key in keys]
    if changed:
        print(f"note: {about} ({'; '.join(changed)}); all are judged by the first's test", file=sys.stderr)


def _whole(told: Mapping[str, Mapping[str, float | None]], bins: Mapping[str, by_length.Bins]) -> dict[str, float]:
    """The score of each run on all examples, in the metric of its bins."""
    return {name: told[name]["bleu"] or 0.0 if "bleu" in rows[0] else by_length.overall(rows) for name, rows in bins.items()}


def _show(told: Mapping[str, Mapping[str, float | None]], about: str, signature: str) -> None:
    """A line for each run."""
    print(f"{about}, 95 % intervals; p: that a difference to the first is chance")
    for name, row in told.items():
        p = "" if row["p"] is None else f"  p = {row['p']:.4f}"
        print(f"  {name:30} BLEU {row['bleu']:.2f} ({row['mean']:.2f} ± {row['interval']:.2f}){p}")
    print(f"  {signature}")


def _answers(run: Run, task: Any, pairs: Sequence[Pair], search: SearchConfig) -> list[str]:
    model, _ = run.model(task)
    found: list[str] = task.answers(model, pairs, search)
    return found


def _side_by_side(pairs: Sequence[Pair], texts: Mapping[str, Sequence[str]]) -> None:
    """Sentences on which the runs differ, spread over the test."""
    different = [i for i in range(len(pairs)) if len({found[i] for found in texts.values()}) > 1]
    for i in different[:: max(1, len(different) // SHOWN)][:SHOWN]:
        print(f"\n  {'source':30} {pairs[i].source}\n  {'reference':30} {pairs[i].target}")
        for name, found in texts.items():
            print(f"  {name:30} {found[i]}")
