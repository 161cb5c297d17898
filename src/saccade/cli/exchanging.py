"""What the verbs do that bring models in and out: import published weights, export a run for another runtime."""

from pathlib import Path

from saccade.cli.verbs import which_of
from saccade.exchange.exporting import export as export_run
from saccade.exchange.importing import import_marian


def import_(path: Path, out: Path) -> None:
    """Make the run, and say what to do next."""
    run = import_marian(path, out)
    print(f"done: {run.path} is {path}")
    for number, verb in enumerate((f"translate {out} FILE", f"look {out} TEXT", f"evaluate {out} --data my.tsv")):
        print(f"{'next:' if number == 0 else '':5} saccade {verb}")


def export(run: Path, out: Path, kind: str, which: str | None) -> None:
    """Write the directory, and say what is in it."""
    export_run(run, out, kind, which_of(which))
    print(f"done: {out} holds {', '.join(sorted(path.name for path in out.iterdir()))}")
