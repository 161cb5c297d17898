"""What the verbs do that bring models in and out: import published parameters, export a run for another runtime."""

from pathlib import Path

from saccade import systems
from saccade.cli.verbs import INPUTS, opened_model, say_next
from saccade.exchange.exporting import export as export_model
from saccade.exchange.importing import import_model
from saccade.task import Kinds


def import_(path: Path, out: Path, *, unsafe_bin: bool) -> None:
    """Make the run, and say what to do next."""
    run = import_model(path, out, unsafe_bin=unsafe_bin)
    print(f"done: {run.path} is {path}")
    kinds = Kinds.of(run.settings.system, run.settings.task)
    writes = f"{kinds.writer.VERB} {out} {INPUTS[kinds.writer.VERB].format('TEXT')}"
    if hasattr(systems.load(run.settings.system), "TASKS"):
        say_next(writes, f"look {out} TEXT", f"finetune {out} task=label data.train=my.tsv")
    elif kinds.writer.CONTINUES:
        say_next(writes, f"look {out} TEXT", f"evaluate {out} --data my.txt")
    else:
        say_next(f"translate {out} FILE", f"look {out} TEXT", f"evaluate {out} --data my.tsv")


def export(path: Path, out: Path, kind: str, which: str | None) -> None:
    """Write the directory, and say what is in it."""
    export_model(opened_model(path, which, "cpu"), out, kind)
    print(f"done: {out} holds {', '.join(sorted(path.name for path in out.iterdir()))}")
