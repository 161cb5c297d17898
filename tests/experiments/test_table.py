"""Tables: what a row's settings are, and that mean and deviation are those of the seeds."""

import math
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from saccade import recipes, systems
from saccade.data.tokenizers import Vocabulary
from saccade.errors import UsageError
from saccade.experiments import table
from saccade.experiments.cell import Cell
from saccade.experiments.table import Grid, Line, Row
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from tests.training.runs import tiny

DOCS = Path(__file__).parents[2] / "docs" / "translation.md"
WORDS = Vocabulary(size=20, pad=0, start=1, end=2, unknown=3)
# What a model is made for, by the names of its arguments.
SIZES = {
    "source": WORDS,
    "context_length": 256,
    "target": WORDS,
    "labels": 3,
    "answers": (4, -1, 5),
    "statements": 50,
    "features": 20,
    "channels": 1,
    "bits": 8,
    "height": 28,
    "width": 28,
}
TABLE = """
about = "Two systems."
metric = "exact_match"
recipe = "dates"

[settings.model]
hidden_size = 16

[settings.train]
steps = 40

[[row]]
name = "As it is"

[[row]]
name = "Longer"
words = ["train.steps=80", "model.hidden_size=20"]

[[row]]
name = "Another system"
system = "seq2seq"

[[row]]
name = "Another recipe"
recipe = "multi30k-de-en"
words = ["model.mixer=light"]

[[row]]
name = "As it was"
same_as = "As it is"
"""


def written(place: Path, text: str = TABLE) -> str:
    """The name of a table with this text."""
    (place / "mine.toml").write_text(text)
    return str(place / "mine.toml")


def cell(grid: Grid, slug: str, *words: str) -> Cell:
    """The first cell of a row."""
    return grid.cells(grid.chosen(slug)[0], 1, words, Path("out"))[0]


def test_rows_differ_in_what_they_say(tmp_path: Path) -> None:
    grid = table.read(written(tmp_path))
    common, longer = cell(grid, "as-it-is").settings, cell(grid, "longer").settings
    assert (common.model.hidden_size, common.train.steps, common.model.embedding_size) == (16, 40, 64)
    assert (longer.model.hidden_size, longer.train.steps, longer.model.embedding_size) == (20, 80, 64)
    assert cell(grid, "longer", "train.steps=5").settings.train.steps == 5


def test_another_system_brings_its_own_model(tmp_path: Path) -> None:
    grid = table.read(written(tmp_path))
    other = cell(grid, "another-system").settings
    assert (other.system, other.dataset, other.train.steps) == ("seq2seq", "dates", 40)
    assert other.model == resolve({"system": "seq2seq"}).model
    recipe = cell(grid, "another-recipe").settings
    assert (recipe.system, recipe.dataset, recipe.train.steps) == ("transformer", "multi30k", 40)
    assert (recipe.model.hidden_size, recipe.model.intermediate_size, recipe.model.mixer) == (256, 512, "light")


def test_every_seed_has_its_run_and_the_same_row_shares_it(tmp_path: Path) -> None:
    grid = table.read(written(tmp_path))
    cells = grid.cells(grid.row[1], 3, [], Path("out"))
    assert [str(cell.path) for cell in cells] == [f"out/longer/seed-{seed}" for seed in range(3)]
    assert [cell.settings.train.seed for cell in cells] == [0, 1, 2]
    assert grid.cells(grid.row[4], 2, [], Path("out")) == grid.cells(grid.row[0], 2, [], Path("out"))


def test_a_row_may_have_seeds_of_its_own_and_a_fold_that_counts_with_them(tmp_path: Path) -> None:
    text = TABLE.replace('name = "Longer"', 'name = "Longer"\nseeds = 4\nfold = "train.patience"')
    grid = table.read(written(tmp_path, text))
    cells = grid.cells(grid.row[1], None, [], Path("out"))
    assert [cell.settings.train.patience for cell in cells] == [0, 1, 2, 3]
    assert [cell.settings.train.seed for cell in cells] == [0, 1, 2, 3]
    assert len(grid.cells(grid.row[1], 2, [], Path("out"))) == 2
    assert len(grid.cells(grid.row[0], None, [], Path("out"))) == grid.seeds


@pytest.mark.parametrize("name", recipes.tables())
def test_packaged_tables_can_be_trained(name: str) -> None:
    grid = table.read(name)
    for row in (row for row in grid.row if not row.mean_of):
        settings = grid.cells(row, 1, [], Path("out"))[0].settings
        module = systems.load(settings.system)
        sizes = {**SIZES, "shape": () if module.READS == "set" else (28, 28)}
        needed = [name for name, one in signature(module.Model).parameters.items() if one.default is one.empty]
        module.Model(settings.model, **{name: sizes[name] for name in needed if name != "config"})


@pytest.mark.skipif(not DOCS.exists(), reason="installed without the repository")
def test_documented_table_can_be_read(tmp_path: Path) -> None:
    example = DOCS.read_text().partition("## Tables")[2].partition("```toml\n")[2].partition("```")[0]
    grid = table.read(written(tmp_path, example))
    found = [grid.cells(row, 1, [], Path("out"))[0] for row in grid.row]
    assert [str(cell.path) for cell in found] == [
        f"out/{slug}/seed-0" for slug in ("dot", "general", "general", "nearest-source")
    ]
    assert [cell.settings.model.score for cell in found[:3]] == ["dot", "general", "general"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TABLE.replace('metric = "exact_match"', 'metrics = "exact_match"'), ("'metrics'", "did you mean 'metric'?")),
        (TABLE.replace("words = [", "word = [", 1), ("[row 2]", "'word'", "did you mean 'words'?")),
        (TABLE.replace('"Longer"', '"As it IS"'), ("'As it is'", "'as-it-is'", "a name of its own")),
        (TABLE.replace('same_as = "As it is"', 'same_as = "As it"'), ("'As it'", "did you mean 'As it is'?")),
        (TABLE + 'words = ["train.steps=2"]', ("'As it was'", "same as another", "leave its words")),
        (TABLE.partition("[[row]]")[0], ("[[row]]", "got none")),
        (TABLE.replace('metric = "exact_match"', 'metric = "exact_match"\nsplit = "tset"'), ("split", "'tset'")),
    ],
    ids=["key", "key of a row", "name twice", "same as none", "same with words", "no rows", "split"],
)
def test_wrong_tables(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        table.read(written(tmp_path, text))
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.usefixtures("put_back")
def test_a_row_may_show_the_score_of_one_group(tmp_path: Path) -> None:
    whole = Cell(tmp_path / "whole", "a", 0, tiny("train.steps=2"))
    kept = whole.complete("test", Quiet())
    grid = Grid(about="", metric="loss", row=(Row(name="a"), Row(name="b", part="tagged"), Row(name="c", part="taged")))
    values = [table.line(grid, row, [whole]).values[0] for row in grid.row[:2]]
    assert values == [kept["scores"]["all"]["loss"], kept["scores"]["tagged"]["loss"]]
    with pytest.raises(UsageError, match="did you mean 'tagged'"):
        table.line(grid, grid.row[2], [whole])


def test_wrong_words_name_their_row(tmp_path: Path) -> None:
    grid = table.read(written(tmp_path))
    with pytest.raises(UsageError, match=r"^row another-system: .*'window'"):
        cell(grid, "another-system", "model.window=3")
    with pytest.raises(UsageError, match=r"train.seed.*how many seeds"):
        cell(grid, "longer", "train.seed=3")
    with pytest.raises(UsageError, match=r"row 'lnger'; did you mean 'longer'"):
        grid.chosen("as-it-is,lnger")


def test_mean_and_deviation_are_the_samples() -> None:
    row = Row(name="a")
    line = Line(row, [1.0, None, 2.0, 6.0], [0.1, 0.2, 0.3], "")
    assert line.mean == 3.0
    assert line.deviation == pytest.approx(math.sqrt((4 + 1 + 9) / 2))
    assert (Line(row, [2.5, None], [0.1], "").mean, Line(row, [2.5, None], [0.1], "").deviation) == (2.5, None)
    assert (Line(row, [None], [], "").mean, Line(row, [None], [], "").deviation) == (None, None)


def test_a_row_may_be_the_mean_of_those_under_its_heading_and_one_seed_chosen(tmp_path: Path) -> None:
    rows = (Row(name="a", group="g"), Row(name="b", group="g"), Row(name="mean", group="g", mean_of="g"))
    grid = Grid(about="", metric="accuracy", row=rows, choose="train")
    numbers = {"a": [(0.5, 0.9, 0.2), (0.7, 0.9, 0.1)], "b": [(0.1, 1.0, 0.1), (0.3, 0.8, 0.0)]}

    def kept(test: float, train: float, loss: float) -> dict[str, Any]:
        scores = {"all": {"accuracy": test}}
        chosen_by = {"accuracy": train, "loss": loss}
        return {"scores": scores, "chosen_by": chosen_by, "minutes": 1.0, "signatures": {}}

    class Done(NamedTuple):
        record: dict[str, Any]

        def kept(self, split: str) -> dict[str, Any]:
            return self.record

    parts: Any = [(row, [Done(kept(*one)) for one in numbers.get(row.name, [])]) for row in rows]
    a, b, mean = table.lines(grid, parts)
    assert (a.chosen, b.chosen) == (0.7, 0.1)  # of equal training scores the smaller loss
    assert mean.values == pytest.approx([0.3, 0.5])
    assert mean.chosen == pytest.approx(0.4)
    assert mean.minutes == [2.0, 2.0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"name": "m", "mean_of": "h"}, "unknown heading 'h'"),
        ({"name": "m", "group": "g", "mean_of": "g", "words": ["train.steps=1"]}, "is a mean of others"),
    ],
)
def test_a_mean_has_rows_and_nothing_of_its_own(row: dict[str, Any], told: str, tmp_path: Path) -> None:
    lines = ['about = "a"', 'metric = "accuracy"', 'recipe = "movies"', "[[row]]", 'name = "a"', 'group = "g"', "[[row]]"]
    path = tmp_path / "t.toml"
    path.write_text("\n".join([*lines, *(f"{key} = {value!r}" for key, value in row.items())]), encoding="utf-8")
    with pytest.raises(UsageError, match=told):
        table.read(str(path))
