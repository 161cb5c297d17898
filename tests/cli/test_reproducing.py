"""A table is trained cell by cell, goes on where it stopped, and is shown to people, pages and machines."""

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from saccade import recipes
from saccade.experiments import table as tables
from saccade.training.progress import Quiet
from saccade.training.trainer import Report

from ..made import multi30k
from .commands import SMALL, here
from .test_processes import QUICK

LEARNING = [*SMALL.split(), "train.learning_rate=0.03"]
MINE = f"""
about = "Scores on a small task."
metric = "chrf"
seeds = 2
note = "paper: on other data."

[settings]
system = "bahdanau"
writer.metric = "bleu"
data = {{ train = "good.tsv", test = "good.tsv" }}

[[row]]
name = "Additive"
group = "Scores"
words = {json.dumps(LEARNING)}
paper = 41.5

[[row]]
name = "Dot | product"
group = "Scores"
words = {json.dumps([*LEARNING, "model.score=general"])}

[[row]]
name = "Softmax"
group = "Normalizers"
same_as = "Additive"
"""


@pytest.fixture
def mine(place: Path) -> Path:
    """A directory with the table mine.toml."""
    (place / "mine.toml").write_text(MINE)
    return place


def table(out: str) -> dict[str, Any]:
    """The last line for machines, without what depends on the clock."""
    told: dict[str, Any] = json.loads(out.splitlines()[-1])
    for row in told["rows"]:
        assert len(row.pop("minutes")) == len([value for value in row["values"] if value is not None])
    return told


class StopIn(Quiet):
    """Presses Ctrl-C at a step of one of several trainings."""

    def __init__(self, training: int, step: int) -> None:
        self.training, self.at, self.begun = training, step, 0

    def begin(self, step: int, steps: int) -> None:
        self.begun += 1

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        if (self.begun, report.step) == (self.training, self.at):
            os.kill(os.getpid(), signal.SIGINT)


def untrainable(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be trained."""

    def refused(*arguments: object, **options: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr("saccade.experiments.cell.train", refused)


def test_all_cells_are_trained_and_shown(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("reproduce mine.toml", capsys)
    assert answer.code == 0, answer.err
    notes = [line for line in answer.err.splitlines() if line.startswith("cell ")]
    assert [note.split(" (")[0] for note in notes] == [
        f"cell {number} of 4: {row}, seed {seed}"
        for number, (seed, row) in enumerate(((s, r) for s in range(2) for r in ("Additive", "Dot | product")), 1)
    ]
    kept = [json.loads((mine / f"runs/mine/additive/seed-{n}/scores.json").read_text()) for n in range(2)]
    values = [one["scores"]["all"]["chrf"] for one in kept]
    assert len(set(values)) == 2
    mean = f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"
    line = next(line for line in answer.out.splitlines() if "Additive" in line)
    assert line.split() == ["Additive", "2", *mean.split(), *(f"{value:.2f}" for value in values), "0.0", "41.5"]
    same = next(line for line in answer.out.splitlines() if "Softmax" in line)
    assert same.split() == ["Softmax", *line.split()[1:-1]]
    assert answer.out.splitlines()[-2:] == ["paper: on other data.", kept[0]["signatures"]["chrf"]]
    assert "runs/mine/softmax" not in {str(path.relative_to(mine)) for path in mine.rglob("*")}


def test_a_table_that_cannot_begin_anew_stays_what_it_was(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "reproduce mine.toml --rows additive --json"
    before = table(here(command, capsys).out)
    answer = here(f"{command} data.train=god.tsv --fresh", capsys)
    assert answer.code == 3
    assert "god.tsv: no such file" in answer.err
    assert table(here(f"{command} --show", capsys).out) == before
    assert not list(mine.rglob(".anew"))
    again = here(command, capsys)
    assert table(again.out) == before
    assert "cell" not in again.err, "nothing is trained again"


def test_a_table_begun_anew_goes_on_with_all_its_cells(
    mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "train.learning_rate=0.01 --rows additive,dot-product --seeds 1"
    assert here("reproduce mine.toml --rows additive,dot-product --seeds 1", capsys).code == 0
    whole = table(here(f"reproduce mine.toml {other} --json --out whole", capsys).out)
    with monkeypatch.context() as patched:
        stop = StopIn(1, 2)  # before the first checkpoint of the first cell
        patched.setattr("saccade.cli.reproducing.watcher", lambda **options: stop)
        assert here(f"reproduce mine.toml {other} --fresh", capsys).code == 130
    assert here("evaluate runs/mine/additive/seed-0", capsys).code == 0
    answer = here(f"reproduce mine.toml {other} --json", capsys)
    assert table(answer.out) == whole


def test_resumed_table_is_the_whole_table(
    mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = table(here("reproduce mine.toml --json --out whole", capsys).out)
    with monkeypatch.context() as patched:
        stop = StopIn(3, 4)
        patched.setattr("saccade.cli.reproducing.watcher", lambda **options: stop)
        answer = here("reproduce mine.toml", capsys)
    assert (answer.code, answer.err.count("\n")) == (130, 1)
    assert "runs/mine/additive/seed-1: stopped at step 4, checkpoint written; the same command" in answer.err
    shown = here("reproduce mine.toml --show", capsys).out
    assert shown.count("1 of 2") == 3
    first = {path: path.read_bytes() for path in mine.rglob("runs/mine/*/seed-0/**/*") if path.is_file()}
    again = here("reproduce mine.toml --json", capsys)
    assert table(again.out) == whole
    for path in (mine / "whole").rglob("scores.json"):
        other = mine / "runs" / "mine" / path.relative_to(mine / "whole")
        assert json.loads(other.read_text())["scores"] == json.loads(path.read_text())["scores"]
    begun = [json.loads(line) for line in again.out.splitlines() if '"cell"' in line]
    assert [(event["row"], event["seed"]) for event in begun] == [("Additive", 1), ("Dot | product", 1)]
    steps = [json.loads(line)["step"] for line in again.out.splitlines() if '"event": "step"' in line]
    assert steps == [6, 2, 4, 6]
    assert {path: path.read_bytes() for path in first} == first


def test_what_is_finished_is_not_trained_again(
    mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = here("reproduce mine.toml --seeds 1", capsys)
    untrainable(monkeypatch)
    after = here("reproduce mine.toml --seeds 1", capsys)
    assert (after.code, after.out, after.err) == (0, before.out, "")
    assert here("reproduce mine.toml --rows additive,softmax --seeds 1", capsys).code == 0
    assert "trained again" in here("reproduce mine.toml --rows additive --seeds 2", capsys).err


def test_show_trains_nothing(mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    untrainable(monkeypatch)
    answer = here("reproduce mine.toml --show", capsys)
    assert answer.code == 0
    assert answer.out.count("0 of 2") == 3
    assert not (mine / "runs").exists()


def test_other_settings_are_told_with_the_way_out(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "reproduce mine.toml --seeds 1 --rows additive"
    assert here(command, capsys).code == 0
    answer = here(f"{command} train.learning_rate=0.5", capsys)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "saccade: runs/mine/additive/seed-0: made with other settings (train.learning_rate: 0.03 → 0.5); "
        "begin anew with --fresh, or use another --out\n"
    )
    assert here(f"{command} train.learning_rate=0.5 --show", capsys).code == 2
    assert here(f"{command} train.learning_rate=0.5 --out other", capsys).code == 0
    fresh = here(f"{command} train.learning_rate=0.5 --fresh --json", capsys)
    assert table(fresh.out) == table(here(f"{command} train.learning_rate=0.5 --out other --json", capsys).out)
    assert here(command, capsys).code == 2


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("reproduce multi30k-atention", 2, ("table 'multi30k-atention'", "did you mean 'multi30k-attention'?")),
        ("reproduce other.toml", 3, ("other.toml: no such file",)),
        ("reproduce mine.toml --rows aditive", 2, ("row 'aditive'", "did you mean 'additive'?")),
        ("reproduce mine.toml --seeds 0", 2, ("--seeds", "see saccade reproduce --help")),
        ("reproduce mine.toml train.step=5", 2, ("row additive", "train.step: no such key", "did you mean train.steps=5?")),
        ("reproduce mine.toml model.score=dott", 2, ("'dott'", "did you mean 'dot'?")),
        ("reproduce mine.toml --show --fresh", 2, ("--show and --fresh",)),
        ("reproduce mine.toml --json --markdown", 2, ("--json and --markdown",)),
        ("reproduce mine.toml --into nowhere.md", 3, ("nowhere.md", "--into")),
        ("reproduce mine.toml --into half.md", 3, ("half.md", "<!-- /table: mine -->", "mend the markers")),
    ],
)
def test_mistakes_are_told_before_training(
    command: str, code: int, words: tuple[str, ...], mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mine / "half.md").write_text("<!-- table: mine -->\n")
    answer = here(command, capsys)
    assert (answer.code, answer.out) == (code, "")
    assert all(word in answer.err.splitlines()[-1] for word in words), answer.err
    assert not list(mine.glob("runs/**/checkpoints"))


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        (
            {'metric = "chrf"': 'metric = "chrff"'},
            2,
            "row additive: unknown metric of the table 'chrff'; did you mean 'chrf'?",
        ),
        ({'writer.metric = "bleu"': 'writer.metric = "loss"'}, 2, "row additive: unknown metric of the table 'chrf'"),
        ({"model.score=general": "writer.metric=exact_match"}, 2, "row dot-product: unknown metric of the table 'chrf'"),
        ({"paper = 41.5": 'part = "de"'}, 2, "row additive: unknown part of the scores 'de'; known: all"),
        ({', test = "good.tsv"': ""}, 3, "row additive: its test data is empty; choose another split in the table"),
        ({"seeds = 2": 'seeds = 2\nsplit = "valid"', "train =": "held_out = 0.0, train ="}, 3, "its valid data is empty"),
        ({"model.score=general": "data.name=mil"}, 2, "row dot-product: "),
    ],
)
@pytest.mark.parametrize("fresh", [False, True])
def test_what_a_row_will_not_have_is_told_before_the_first_is_trained(
    changes: dict[str, str],
    code: int,
    words: str,
    fresh: bool,
    mine: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    untrainable(monkeypatch)
    text = MINE
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (mine / "mine.toml").write_text(text)
    kept = mine / "runs/mine/additive/seed-0/scores.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    answer = here(f"reproduce mine.toml{' --fresh' * fresh}", capsys)
    assert (answer.code, answer.err.count("\n")) == (code, 1), answer.err
    assert words in answer.err
    assert kept.exists()  # nothing was deleted either


@pytest.mark.parametrize("name", recipes.tables())
def test_every_table_that_comes_with_saccade_has_its_metric(name: str, tmp_path: Path) -> None:
    grid = tables.read(name)
    for row in grid.row:
        cells = grid.cells(row, 1, (), tmp_path)
        assert len(cells) == (0 if row.mean_of else 1)  # a mean of other rows trains nothing
        for cell in cells:
            cell.check_metric(grid.metric)


def test_page_gets_the_table_and_keeps_the_rest(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = mine / "page.md"
    page.write_bytes("# Results\r\n\r\nÜber alles.\n".encode())
    command = "reproduce mine.toml --seeds 1"
    answer = here(f"{command} --into page.md", capsys)
    assert (answer.code, answer.out) == (0, "page.md\n")
    pasted = here(f"{command} --markdown", capsys).out
    section = f"<!-- table: mine -->\n{pasted}<!-- /table: mine -->"
    assert page.read_bytes().decode() == f"# Results\r\n\r\nÜber alles.\n\n{section}\n"
    page.write_text(f"before\n<!-- table: mine -->\nold\n<!-- /table: mine -->\nafter\n{section.replace('mine', 'yours')}")
    assert here(f"{command} --show --into page.md", capsys).code == 0
    assert page.read_text() == f"before\n{section}\nafter\n{section.replace('mine', 'yours')}"
    assert [path.name for path in mine.iterdir() if path.name.startswith(".tmp")] == []


def test_markdown_is_a_table(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = here("reproduce mine.toml --seeds 1 --markdown search.max_length=9", capsys).out.splitlines()
    assert lines[0] == "`saccade reproduce mine.toml search.max_length=9 --seeds 1`: Scores on a small task."
    rows = [line for line in lines if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}
    names = [line.replace("\\|", "¦").split("|")[1].strip() for line in rows]
    assert names == ["", "---", "**Scores**", "Additive", "Dot ¦ product", "**Normalizers**", "Softmax"]
    assert lines[-1].startswith("`nrefs:1|")


def test_tables_are_listed_without_torch(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = here("reproduce", capsys)
    assert listed.out == here("reproduce --list", capsys).out
    assert "multi30k-attention (19 rows): " in listed.out
    told = json.loads(here("reproduce --json", capsys).out)
    assert "multi30k-attention" in [entry["name"] for entry in told]
    commands = ["reproduce", "reproduce --list --json", "reproduce --help"]
    ended = subprocess.run([sys.executable, "-c", QUICK, *commands], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.long
def test_packaged_table_trains_row_after_row(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    multi30k(place / "data")
    rows = ["global-location", "local-p-general-fed", "softmax", "entmax15", "dynamic-convolution"]
    command = f"reproduce multi30k-attention --quick --rows {','.join(rows)} tokens.size=300 train.threads=1 --json"
    answer = here(command, capsys)
    assert answer.code == 0, answer.err
    told = table(answer.out)["rows"]
    assert [row["slug"] for row in told] == rows
    assert all(len(row["values"]) == 1 for row in told)
    assert all(row["signature"].startswith("nrefs:1|") for row in told)
    finished = {str(path.parent.relative_to(place)): json.loads(path.read_text()) for path in place.rglob("scores.json")}
    trained = ["global-general-fed" if row == "softmax" else row for row in rows]
    assert finished.keys() == {f"runs/multi30k-attention-quick/{row}/seed-0" for row in trained}
    assert {kept["step"] for kept in finished.values()} == {3}
