"""What the verbs do that bring models in and out: import published parameters, export a run for another runtime."""

from pathlib import Path

from saccade.cli.verbs import opened_model
from saccade.exchange.exporting import export as export_model
from saccade.exchange.importing import import_model


def import_(path: Path, out: Path) -> None:
    """Make the run, and say what to do next."""
    run = import_model(path, out)
    print(f"done: {run.path} is {path}")
    for number, verb in enumerate((f"translate {out} FILE", f"look {out} TEXT", f"evaluate {out} --data my.tsv")):
        print(f"{'next:' if number == 0 else '':5} saccade {verb}")


def export(path: Path, out: Path, kind: str, which: str | None) -> None:
    """Write the directory, and say what is in it."""
    export_model(opened_model(path, which, "cpu"), out, kind)
    print(f"done: {out} holds {', '.join(sorted(path.name for path in out.iterdir()))}")
