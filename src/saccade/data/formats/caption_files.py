"""Pictures of one's own with captions, of which each picture may have several.

    data.train=captions.csv          columns path and caption, a row for each caption: also .tsv, .json, .jsonl, .parquet
    data.train=captions_train2017.json data.images=train2017      captions as COCO publishes them
    data.train=dataset_flickr8k.json data.images=Flicker8k_Dataset    Karpathy's file, which says what each part is
    data.train=photos                      a folder of pictures for each caption

Paths start from `data.images` or, without it, from the file's own folder. In training each caption of a picture is an
example; elsewhere all captions of a picture count as right.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade.data.examples import Example, Picture, Splits
from saccade.data.formats import image_files, own_files, tables
from saccade.data.formats.image_files import Pixels, pixels_of
from saccade.data.formats.own_files import suffix
from saccade.data.formats.tables import BadRow, as_text, read_table
from saccade.errors import DataError, UsageError

INPUT, TARGET = Picture, str
OWN = "data.train=captions.csv with the columns path and caption"
FORMATS = "captions.csv with the columns path and caption (or .tsv, .jsonl), COCO's or Karpathy's .json, or a folder"
COLUMNS: Mapping[str, Sequence[str]] = {
    "path": ("path", "image", "file", "file_name", "filename"),
    "caption": ("caption", "captions", "text", "sentence", "label"),
}
# Karpathy's names of the parts; what he left out of validation is trained on.
PARTS = {"train": "train", "restval": "train", "val": "valid", "test": "test"}

Caption = tuple[str, str, str]  # the picture's path, what is said of it, and where that stands


@dataclass(frozen=True, kw_only=True)
class Config(image_files.Config):
    """Where the pictures and captions are, and what pictures are made into."""

    train: str = ""
    """Training captions: a CSV, TSV, JSON or JSONL file with the columns path and caption, COCO's or Karpathy's JSON, or a
    folder with a folder of pictures for each caption."""
    images: str = ""
    """Folder from which the paths of pictures start; empty: the folder of the file that names them."""


def load(config: Config) -> Splits:
    """The pictures of all parts."""
    if not config.train:
        raise UsageError(f"data.train: expected {FORMATS}, got nothing; fix: data.train=captions.csv")
    parts = _karpathy(config)
    splits = parts or config.splits(lambda spec: read(spec, config), lambda one: b"".join(one.input.content()))
    return replace(splits, train=[replace(one, target=line) for one in splits.train for line in one.target.split("\n")])


def read(spec: str, config: Config) -> list[Example]:
    """The pictures of a file or of a folder, each with all of its captions, a line each."""
    place = Path(spec).expanduser()
    if place.is_dir():
        return image_files.read(spec, config)
    return _examples(_coco(place) or _in_table(place), config, place)


def _examples(captions: Iterable[Caption], config: Config, source: Path) -> list[Example]:
    """Each picture once, in the order of its first caption."""
    base = Path(config.images).expanduser() if config.images else source.parent
    rows: dict[str, list[tuple[str, str]]] = {}
    for path, caption, where in captions:
        line = " ".join(caption.split())
        if not path or not line:
            raise DataError(f"{where}: expected a path and a caption, got {path!r} and {caption!r}; mend the row")
        rows.setdefault(path, []).append((line, where))
    if not rows:
        raise DataError(f"{source}: expected pictures with captions, got none; known: {FORMATS}")
    return [_example(base / path, own, config) for path, own in rows.items()]


def _example(path: Path, captions: Sequence[tuple[str, str]], config: Config) -> Example:
    target = "\n".join(dict.fromkeys(line for line, _ in captions))
    return Example(Picture(_pixels(path, config)), target, "", str(path), files=(captions[0][1],))


def _pixels(path: Path, config: Config) -> Pixels:
    return pixels_of(path, (config.size, config.size, 1 if config.colors == "gray" else 3))


def _in_table(place: Path) -> Iterator[Caption]:
    """The rows of a table; a cell of captions may be a list."""
    known = suffix(place) in tables.SUFFIXES
    table = read_table(place, FORMATS) if known else tables.tsv_table(place, FORMATS)
    columns = table.chosen(dict.fromkeys(COLUMNS, ""), tuple(COLUMNS), rename=True, names=COLUMNS)
    for row in table.rows:
        try:
            path, value = as_text(row.cell(columns["path"]), "path"), row.cell(columns["caption"])
            texts = [as_text(one, "caption") for one in (value if isinstance(value, list) else [value])]
        except BadRow as error:
            raise DataError(f"{table.where(row)}: {error}; mend the row") from None
        yield from ((path, text, table.where(row)) for text in texts)


def _coco(place: Path) -> list[Caption] | None:
    """The captions of a file as COCO publishes them; None: another file."""
    whole = _json(place)
    if not (isinstance(whole, dict) and {"images", "annotations"} <= whole.keys()):
        return None
    try:
        paths = {image["id"]: image["file_name"] for image in whole["images"]}
        return [
            (paths[one["image_id"]], one["caption"], f"{place}: annotation {number}")
            for number, one in enumerate(whole["annotations"], 1)
        ]
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{place}: expected captions as COCO publishes them, got one without {error}; mend the file"
        ) from None


def _karpathy(config: Config) -> Splits | None:
    """All parts of Karpathy's file; None: another file."""
    place = Path(config.train).expanduser()
    whole = _json(place)
    if not (isinstance(whole, dict) and "images" in whole and "annotations" not in whole):
        return None
    if config.valid or config.test:
        raise UsageError(f"data.valid, data.test: {place} says which pictures these are; leave them out")
    parts: dict[str, list[Caption]] = {name: [] for name in PARTS.values()}
    try:
        for number, image in enumerate(whole["images"], 1):
            path = str(Path(image.get("filepath", ""), image["filename"]))
            own = [(path, one["raw"], f"{place}: image {number}") for one in image["sentences"]]
            parts[PARTS[image["split"]]] += own
    except (KeyError, TypeError) as error:
        raise DataError(f"{place}: expected Karpathy's splits, got an image without {error}; mend the file") from None
    return Splits(*(_examples(own, config, place) if own else [] for own in parts.values()))


def _json(place: Path) -> Any:
    """What a JSON file holds; None: it is none, or a table of lines, for which others have words."""
    if suffix(place) != ".json" or not place.is_file():
        return None
    try:
        return json.loads(own_files.text(place, FORMATS))
    except (ValueError, RecursionError):
        return None
