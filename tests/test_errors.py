"""Errors: one line, whose fix is worded for who reads it."""

import ast
from pathlib import Path

import pytest

import saccade
from saccade.cli.main import FLAGS
from saccade.errors import KEYWORDS, DataError, SaccadeError, UnknownName, UsageError

ROOT = Path(saccade.__file__).parent


def test_a_fix_is_worded_for_python_and_for_the_command_line() -> None:
    error = UsageError("a: already holds a run", fix="add {resume}, or another {out}: {go on:runs/{x}")
    assert str(error) == 'a: already holds a run; add resume=True, or another out: saccade.train("runs/{x", resume=True)'
    assert error.worded(FLAGS) == "a: already holds a run; add --resume, or another --out: saccade train runs/{x --resume"
    assert str(DataError("{out} as it stands")) == "{out} as it stands"
    assert str(SaccadeError()) == ""
    assert str(UnknownName("key", "stps", ["steps"])) == "unknown key 'stps'; did you mean 'steps'?"
    assert KEYWORDS.keys() == FLAGS.keys()


ROOMS = ("task.py", "trained.py", "training", "experiments", "evaluation", "readers", "writers", "systems", "search", "view")


@pytest.mark.parametrize("room", ROOMS)
def test_no_error_of_python_names_a_flag(room: str) -> None:
    for path in sorted((ROOT / room).rglob("*.py")) if (ROOT / room).is_dir() else [ROOT / room]:
        for node in ast.walk(ast.parse(path.read_text())):
            for part in ast.walk(node) if isinstance(node, ast.Raise) else ():
                text = part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""
                assert "--" not in text, f"{path}: {text}"
