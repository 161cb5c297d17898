"""What the verbs do that bring models in and out: import published parameters, export a run for another runtime."""

from pathlib import Path

from saccade import systems
from saccade.cli.verbs import opened_model
from saccade.exchange.exporting import export as export_model
from saccade.exchange.importing import import_model
from saccade.task import Kinds


def import_(path: Path, out: Path, *, unsafe_bin: bool) -> None:
    """Make the run, and say what to do next."""
    run = import_model(path, out, unsafe_bin=unsafe_bin)
    print(f"done: {run.path} is {path}")
    kinds = Kinds.of(run.settings.system, run.settings.task)
    write, data = ("generate {} --prompt TEXT", "my.txt") if kinds.writer.CONTINUES else ("translate {} FILE", "my.tsv")
    verbs = [write.format(out), f"look {out} TEXT", f"evaluate {out} --data {data}"]
    if hasattr(systems.load(run.settings.system), "TASKS"):
        verbs = [f"predict {out} FILE", f"look {out} TEXT", f"finetune {out} task=label data.train=my.tsv"]
    for number, verb in enumerate(verbs):
        print(f"{'next:' if number == 0 else '':5} saccade {verb}")


def export(path: Path, out: Path, kind: str, which: str | None) -> None:
    """Write the directory, and say what is in it."""
    export_model(opened_model(path, which, "cpu"), out, kind)
    print(f"done: {out} holds {', '.join(sorted(path.name for path in out.iterdir()))}")
