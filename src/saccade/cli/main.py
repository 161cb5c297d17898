"""Runs a command and turns whatever goes wrong into one line and an exit code."""

import os
import sys
from collections.abc import Sequence

import typer

from saccade import processes
from saccade.cli import streams
from saccade.errors import SaccadeError

# What the command line calls the keywords that an error's fix names.
FLAGS = {
    "out": "--out",
    "resume": "--resume",
    "fresh": "--fresh",
    "checkpoint": "--checkpoint",
    "train": "saccade train dates",
    "go on": "saccade train … --resume",
    "data directory": "--data-dir or SACCADE_DATA",
}
SPINS = "10000"  # turns that a thread waits for work before it sleeps


def main(arguments: Sequence[str] | None = None) -> None:
    """What `saccade` runs. Exit codes: 0 ok, 1 failed, 2 usage or config, 3 bad data or checkpoint, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    streams.never_refuse()
    sys.exit(run([word for word in words if word != "--debug"], debug=debug))


def run(words: list[str], *, debug: bool = False) -> int:
    """The exit code of a command."""
    # Threads that wait for work by spinning stand in each other's way where other programs want the cores, too: ten
    # times slower was seen. Waiting a little, then sleeping, costs nothing where they do not. Read when torch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    from saccade.cli.app import app

    try:
        answer = app(words, prog_name="saccade", standalone_mode=False)
        print(end="", flush=True)  # a full disk or a closed pipe can be told now, later not
    except (BrokenPipeError, SystemExit):  # typer makes the one of the other
        # The reader has seen enough (`| head`): what is left in the buffer goes nowhere, quietly.
        streams.drop_output()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        answer = 130
    except Exception as error:
        if debug:
            raise
        text, code = _worded(error)
        return code if getattr(error, "agreed", False) else complain(text, code)
    # Help and the like come back as an exit code, verbs as None.
    code = answer if isinstance(answer, int) else 0
    return complain("interrupted", code) if code == 130 and not processes.own() else code


def complain(text: str, code: int) -> int:
    """One line on standard error."""
    from saccade.view.output.display_text import visible

    line = " ".join(f"rank {processes.own()}: {text}".split() if processes.launched() > 1 else text.split())
    try:
        print(f"saccade: {visible(line)}", file=sys.stderr)
    except UnicodeEncodeError:
        print(f"saccade: {visible(line, ascii_only=True)}", file=sys.stderr)
    return code


def _worded(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if isinstance(error, SaccadeError):
        return error.worded(FLAGS), error.exit_code
    if hasattr(error, "format_message"):  # typer's own; the class behind it depends on typer's version
        return _usage(error), 2
    if isinstance(error, MemoryError):
        return "out of memory; use a smaller model, or a smaller train.batch_tokens or train.batch_size", 1
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}; check the name, the disk and its permissions", 1
    return f"unexpected {type(error).__name__}: {error}; run again with --debug for the traceback", 1


def _usage(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "saccade"
    text: str = error.format_message() if type(error).__name__ != "NoArgsIsHelpError" else "expected a verb"  # type: ignore[attr-defined]
    from saccade.training.other_names import ABSENT, meant, plain

    option = getattr(error, "option_name", None) or ""
    name = plain(option)
    if name == "start" and path.endswith("train"):
        return f"no such option {option}: it is a word without dashes, start=RUN; see {path} --help"
    keys = [key for key in meant(name) if path.endswith("train") or key.startswith("search.")]
    if keys:
        return f"no such option {option}: settings are words without dashes, {keys[0]}=VALUE; see {path} --help"
    return f"{text.rstrip('.')}; {ABSENT.get(name, f'see {path} --help')}"
