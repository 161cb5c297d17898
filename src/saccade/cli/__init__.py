"""The command line: `saccade VERB …`. Help answers at once; torch is imported by the verbs that need it."""

from saccade.cli.main import main

__all__ = ["main"]
