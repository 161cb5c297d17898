"""Questions about your own pictures, with their answers.

    data.train=my.csv              columns picture, question, answer, and perhaps group: also .tsv, .json, .jsonl, .parquet
    data.train=questions.json,annotations.json data.pictures=train2014      as VQA v2 is published (Goyal et al. 2017)

Where several people have answered (a list), the most frequent answer is learned, and all count for VQA accuracy. A picture's
path starts from the file's own folder, or from `data.pictures`. Every picture is scaled to one size.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from saccade.config import Positive
from saccade.data.examples import Example, Picture, PictureQuestion, Splits
from saccade.data.formats import own_files, tables
from saccade.data.formats.image_files import pixels_of
from saccade.data.formats.own_files import suffix
from saccade.data.formats.tables import BadRow, Table, TableRow, as_text, read_table
from saccade.data.formats.text_files import Config as TextConfig
from saccade.data.formats.text_files import Report, checked, parsed, to_stderr
from saccade.errors import DataError, UsageError

INPUT, TARGET = PictureQuestion, str
OWN = "data.train=my.csv"
FORMATS = (
    "my.csv with the columns picture, question and answer, my.tsv, my.json, my.jsonl, my.parquet, or VQA v2's two .json"
)
COLUMNS: Mapping[str, Sequence[str]] = {
    "picture": ("picture", "image", "path", "file", "photo"),
    "text": ("question", "text"),
    "label": ("answer", "answers", "label"),
    "group": ("group", "answer_type", "question_type", "type"),
}


@dataclass(frozen=True, kw_only=True)
class Config(TextConfig):
    """Where the questions and the pictures are, and what may be wrong with them."""

    train: str = ""
    """Training questions: my.csv, my.tsv, my.json, my.jsonl, my.parquet, or questions and annotations of VQA v2 with a comma
    between."""
    picture: str = ""
    """Column of the picture's path; empty: picture, image or path."""
    text: str = ""
    """Column of the question; empty: question."""
    label: str = ""
    """Column of the answer, or of a list of answers; empty: answer."""
    group: str = ""
    """Column of the question's type, for which scores are also reported; empty: group or type, which files may lack."""
    pictures: str = ""
    """Folder that the paths of pictures start from; empty: that of the file."""
    size: Positive = 64
    """Height and width in pixels that all pictures are brought to."""
    colors: Literal["rgb", "gray"] = "rgb"
    """What a pixel is: three numbers, or one."""
    blank: bool = False
    """Whether all pictures are left white: the control, which shows what can be answered without seeing."""

    def columns(self) -> dict[str, str]:
        """The name that was given for each column."""
        return {key: getattr(self, key) for key in COLUMNS}


class Pictures:
    """The pictures of a folder, each read once, whatever is asked about it."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder, self.config = Path(config.pictures).expanduser() if config.pictures else folder, config
        self._read: dict[str, Picture] = {}

    def __getitem__(self, name: str) -> Picture:
        if name not in self._read:
            shape = (self.config.size, self.config.size, 1 if self.config.colors == "gray" else 3)
            try:
                picture = Picture(pixels_of(self.folder / name, shape))
            except DataError as error:
                raise BadRow(str(error), "name a picture") from None
            self._read[name] = picture.white() if self.config.blank else picture
        return self._read[name]


def load(config: Config, report: Report = to_stderr) -> Splits:
    """The questions of all files; `report` is told of bad ones that were skipped."""
    if not config.train:
        raise UsageError(f"data.train: expected a file, got nothing; fix: data.train={FORMATS}")
    # Questions about one picture are held out together: an answer to one may give another away.
    return config.splits(lambda spec: read(spec, config, report), lambda one: b"".join(one.input.picture.content()))


def read(spec: str, config: Config, report: Report = to_stderr) -> list[Example]:
    """The questions of one file, or of two of VQA v2."""
    paths = [Path(os.path.expanduser(name.strip())) for name in spec.split(",")]
    pictures = Pictures(paths[0].parent, config)
    if len(paths) > 1:
        return examples_of(_published(paths), config, pictures, report)
    table = read_table(paths[0], FORMATS) if suffix(paths[0]) in tables.SUFFIXES else tables.tsv_table(paths[0], FORMATS)
    return examples_of(table, config, pictures, report)


def examples_of(table: Table, config: Config, pictures: Pictures, report: Report = to_stderr) -> list[Example]:
    """The rows of a table as examples."""
    columns = table.chosen(config.columns(), ("picture", "text", "label"), names=COLUMNS)

    def parse(row: TableRow) -> Example:
        name, question = (
            as_text(row.cell(columns[key]), columns[key], label=key == "picture") for key in ("picture", "text")
        )
        given = row.cell(columns["label"])
        answers = list(given) if isinstance(given, list | tuple) or getattr(given, "ndim", 0) == 1 else [given]
        texts = [as_text(one, columns["label"], label=True).replace("\n", " ").strip() for one in answers]
        group = row.cell(columns["group"]) if "group" in columns and columns["group"] in row.cells else ""  # type: ignore[operator]
        target = "\n".join(text for text in texts if text)
        return Example(PictureQuestion(pictures[name], question), target, as_text(group, "group", label=True), name)

    return list(checked(table.name, parsed(table, parse), config, report))


def inputs_of(source: str | Table) -> Iterator[tuple[Path, str]] | None:
    """The pictures and questions of a table, or of its file; None: a file with an input in each line."""
    table = source if isinstance(source, Table) else tables.of_file(source, FORMATS)
    if table is None:
        return None
    columns = table.chosen({"picture": "", "text": ""}, ("picture", "text"), rename=True, names=COLUMNS)
    folder = Path(table.name).expanduser().parent if isinstance(source, str) else Path()
    return _pairs(table, folder, columns["picture"], columns["text"])


def _pairs(table: Table, folder: Path, picture: str, question: str) -> Iterator[tuple[Path, str]]:
    for row in table.rows:
        try:
            yield folder / as_text(row.cell(picture), picture, label=True), as_text(row.cell(question), question)
        except BadRow as error:
            raise DataError(f"{table.where(row)}: {error.problem}; fix: {error.fix}") from None


def _published(paths: Sequence[Path]) -> Table:
    """The questions of VQA v2, each with its annotation."""
    files: dict[str, Any] = {}
    for path in paths:
        try:
            files |= json.loads(own_files.text(path, FORMATS))
        except (ValueError, TypeError, RecursionError):
            raise DataError(f"{path}: expected JSON as VQA v2 is published, got something else; known: {FORMATS}") from None
    try:
        rows = list(_joined(files))
    except (KeyError, TypeError, AttributeError) as error:
        problem = f"expected the questions of VQA v2 and their annotations, got none with {error}"
        raise DataError(f"{', '.join(map(str, paths))}: {problem}; name both files") from None
    columns = ["picture", "question", "answers", "group"]
    return Table(str(paths[0]), columns, [TableRow(number, row) for number, row in enumerate(rows, 1)], "question")


def _joined(files: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    annotations = {one["question_id"]: one for one in files["annotations"]}
    part = files.get("data_subtype", "")
    for asked in files["questions"]:
        known = annotations[asked["question_id"]]
        yield {
            "picture": f"COCO_{part}_{asked['image_id']:012d}.jpg",
            "question": asked["question"],
            "answers": [one["answer"] for one in known["answers"]],
            "group": known.get("answer_type", ""),
        }
