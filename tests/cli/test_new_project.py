"""A new project runs as it is: its recipe, the commands of its README, and its notebook."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from saccade.cli.new_project import TEMPLATE

from .commands import here


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A new project, to be worked in."""
    monkeypatch.chdir(tmp_path)
    answer = here("new-project my", capsys)
    assert (answer.code, "cd my\n" in answer.out) == (0, True), answer.err
    monkeypatch.chdir("my")
    return tmp_path / "my"


def test_the_commands_of_its_readme_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (project / "README.md").read_text(encoding="utf-8").split("```sh\n")[1].split("```")[0].splitlines()
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("saccade ")]
    assert [words[0] for words in commands] == ["train", "evaluate", "look"]
    for words in commands:
        few = ["train.steps=60", "train.valid_every=60", "train.threads=1", "--quiet"] if words[0] == "train" else []
        answer = here([*words, *few], capsys)
        assert answer.code == 0, answer.err
        if words[0] == "evaluate":
            accuracy = float(answer.out.splitlines()[2].split()[2].rstrip("%"))
            assert accuracy > 70
    assert (project / "look.html").stat().st_size > 1000


def test_its_notebook_runs(project: Path) -> None:
    cells = json.loads((project / "explore.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for text in code:
        exec(text.replace("steps=100", "steps=2, threads=1, quiet=True"), names)
    assert "stale" in names["look"]._repr_html_()
    assert [one.text in ("praise", "complaint") for one in names["predictions"]] == [True, True]
    assert not any(cell.get("outputs") for cell in cells)


def test_no_example_is_in_both_parts() -> None:
    train, test = ((TEMPLATE / "data" / f"{name}.tsv").read_text().splitlines() for name in ("train", "test"))
    assert not {*train} & {*test}
    assert {line.count("\t") for line in train + test} == {1}


def test_a_directory_in_use_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (".", "README.md"):
        answer = here(f"new-project {place}", capsys)
        assert (answer.code, "expected a new or empty directory for the project" in answer.err) == (2, True)
    assert here("new-project README.md/inner", capsys).code == 2
