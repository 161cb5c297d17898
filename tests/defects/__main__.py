"""The command `scripts/defects`: whether the tests notice what goes wrong."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch

from .table import Defect, defects, stale
from .trial import Trial, try_all

LEAST = 0.95  # the share of defects that must be caught


def parser() -> argparse.ArgumentParser:
    """The command line."""
    command = argparse.ArgumentParser(
        prog="scripts/defects",
        description="Tries the tests: makes one line of the source wrong, in a copy, and sees whether a test fails.\n"
        f"Fails itself if fewer than {LEAST:.0%} of the defects in tests/defects are caught, if one is caught that is\n"
        "said to survive, or if the source has changed so that one cannot be put there.",
        epilog="examples:\n  %(prog)s --jobs 2\n  %(prog)s --only 'kernels/*'\n  %(prog)s --only masks.py --list",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = command.add_argument
    add("--only", metavar="PATTERN", help="those whose name or file has this in it, or fits it as a pattern with *")
    add("--jobs", type=int, default=1, metavar="N", help="so many at once (default 1)")
    add("--json", action="store_true", help="the results as one line for machines")
    add("--list", action="store_true", help="name the defects and try none")
    return command


def chosen(entries: Sequence[Defect], pattern: str | None) -> list[Defect]:
    """The entries that are asked for."""
    if pattern is None:
        return list(entries)
    return [one for one in entries if any(fnmatch(text, pattern) or pattern in text for text in (one.title, one.file))]


def show(number: int, total: int, trial: Trial) -> None:
    """A line of progress."""
    print(
        f"[{number:3}/{total}] {trial.verdict:10} {trial.seconds:5.1f} s  {trial.defect.title}", file=sys.stderr, flush=True
    )


def report(trials: Sequence[Trial], seconds: float) -> str:
    """The table, the survivors and the share that is caught."""
    lines = [f"{one.defect.title:44} {one.verdict:10}  {one.defect.means}" for one in trials]
    missed = [one for one in trials if one.verdict != "caught"]
    for one in missed:
        reason = one.defect.survives or 'no reason is given: strengthen the test, or say survives = "why"'
        lines.append(f"\n{one.verdict}: {one.defect.title} ({one.defect.test})\n  {one.defect.means}\n  {reason}")
        if one.verdict == "no verdict":
            lines.append("  " + "\n  ".join(one.output.splitlines()[-6:]))
    caught = len(trials) - len(missed)
    return "\n".join(
        [*lines, "", f"{caught} of {len(trials)} caught ({caught / len(trials):.1%}) in {seconds / 60:.1f} minutes"]
    )


def wrong(trials: Sequence[Trial]) -> list[str]:
    """Why the command fails, if it does."""
    caught = sum(one.verdict == "caught" for one in trials)
    told = [f"{one.defect.title}: caught, though it is said to survive; mend the entry" for one in trials
            if one.verdict == "caught" and one.defect.survives]  # fmt: skip
    if caught < LEAST * len(trials):
        told.append(f"expected at least {LEAST:.0%} caught, got {caught} of {len(trials)}; strengthen the tests")
    return told


def facts(trials: Sequence[Trial], seconds: float) -> str:
    """The same for machines."""
    rows = [
        {"name": one.defect.title, "file": one.defect.file, "test": one.defect.test, "means": one.defect.means,
         "verdict": one.verdict, "survives": one.defect.survives or None, "seconds": round(one.seconds, 2)}
        for one in trials
    ]  # fmt: skip
    caught = sum(one.verdict == "caught" for one in trials)
    return json.dumps({"defects": rows, "caught": caught, "all": len(trials), "seconds": round(seconds, 1)})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options, started = parser().parse_args(arguments), time.monotonic()
    entries = chosen(defects(), options.only)
    if not entries or options.jobs < 1:
        print(
            f"scripts/defects: expected --jobs of 1 or more and an --only that fits, got {options.only!r}", file=sys.stderr
        )
        return 2
    if told := stale(entries):
        print("\n".join(told), file=sys.stderr)
        return 1
    if options.list:
        print("\n".join(f"{one.title:44} {one.test:60} {one.means}" for one in entries))
        return 0
    try:
        trials = try_all(entries, options.jobs, lambda number, trial: show(number, len(entries), trial))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    seconds = time.monotonic() - started
    print(facts(trials, seconds) if options.json else report(trials, seconds))
    told = wrong(trials)
    for line in told:
        print(line, file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # which a shell's background would ignore, and tests would live on
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
