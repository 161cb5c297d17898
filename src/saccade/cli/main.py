"""Runs a command and turns whatever goes wrong into one line and an exit code."""

import os
import sys
from collections.abc import Sequence

import click

from saccade.errors import SaccadeError


def main(arguments: Sequence[str] | None = None) -> None:
    """What `saccade` runs. Exit codes: 0 ok, 1 failed, 2 usage or config, 3 bad data or checkpoint, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    sys.exit(run([word for word in words if word != "--debug"], debug=debug))


def run(words: list[str], *, debug: bool = False) -> int:
    """The exit code of a command."""
    from saccade.cli.app import app

    try:
        answer = app(words, standalone_mode=False)
        # Help and the like come back as an exit code, verbs as None.
        return answer if isinstance(answer, int) else 0
    except (KeyboardInterrupt, click.Abort):
        return complain("interrupted", 130)
    except BrokenPipeError:
        # The reader has seen enough (`| head`): what is left in the buffer goes nowhere, quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.ClickException as error:
        if debug:
            raise
        return complain(_usage(error), 2)
    except SaccadeError as error:
        if debug:
            raise
        return complain(str(error), error.exit_code)
    except MemoryError:
        return complain("out of memory; use a smaller model or train.max_tokens", 1)
    except Exception as error:
        if debug:
            raise
        return complain(f"unexpected {type(error).__name__}: {error}; run again with --debug for the traceback", 1)


def complain(text: str, code: int) -> int:
    """One line on standard error."""
    from saccade.view.labels import visible

    line = " ".join(text.split())
    try:
        print(f"saccade: {visible(line)}", file=sys.stderr)
    except UnicodeEncodeError:
        print(f"saccade: {visible(line, ascii_only=True)}", file=sys.stderr)
    return code


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "saccade"
    return f"{error.format_message().rstrip('.')}; see {path} --help"
