"""Small sets of numbers, points, pictures and nodes, from the data sets that are here or made.

What `test` has, neither training nor the choice of the checkpoint sees: validation data is held out of `train` by the run.
"""

import csv
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageOps
from small_files import SEED, Bags, Floats, Pixels, SmallSet, bags, drawn, marked_sets, pictures, write_csv

from saccade.data import known
from saccade.data.examples import Splits
from saccade.data.sets import emoji, mil, mnist, point_clouds

ITEMS = 10  # of a set that has an odd one
SHAPES = ("circle", "rectangle", "triangle")


def variances(folder: Path) -> SmallSet:
    """2,000 sets of 5 to 20 numbers, drawn around means and with spreads of their own, to their variance."""
    dice = np.random.default_rng(SEED)
    sets = [dice.normal(dice.uniform(-3, 3), dice.uniform(0.2, 2), (dice.integers(5, 21), 1)) for _ in range(3000)]
    found = [(own, f"{own.var():.2f}") for own in sets]
    made = bags(folder, found[:2000], found[2000:])
    return replace(made, data={"name": "bag_files", **made.data})


Grouped = dict[str, Floats]


def _odd(things: Grouped, count: int, seed: int) -> Bags:
    """Sets of things of one group with one of another, anywhere."""
    dice, names, sets = np.random.default_rng(seed), sorted(things), []
    for _ in range(count):
        common, other = dice.choice(len(names), 2, replace=False)
        rows = things[names[common]][dice.integers(0, len(things[names[common]]), ITEMS)]
        place = int(dice.integers(ITEMS))
        rows[place] = things[names[other]][dice.integers(0, len(things[names[other]]))]
        sets.append((rows, f"{place}"))
    return sets


def _digits(part: mnist.Part, count: int) -> Grouped:
    """Digits of MNIST at a quarter of their width and height, by class."""
    images, labels = (found[:count] for found in mnist.pictures("mnist", part))
    small = images.reshape(-1, 7, 4, 7, 4).mean((2, 4)).reshape(-1, 49) / 255
    return {f"{label}": small[labels == label] for label in range(10)}


def odd_digits(folder: Path) -> SmallSet:
    """2,000 sets of ten digits of 7 × 7 pixels, one of which is another digit."""
    return marked_sets(folder, _odd(_digits("train", 20_000), 2000, 0), _odd(_digits("test", 10_000), 1000, 1))


def odd_points(folder: Path) -> SmallSet:
    """2,000 sets of ten points on a line of their own, one of which is beside it."""
    dice, found = np.random.default_rng(SEED), []
    for _ in range(3000):
        angle, place = dice.uniform(0, np.pi), int(dice.integers(ITEMS))
        along, across = dice.uniform(-1, 1, ITEMS), dice.normal(0, 0.03, ITEMS)
        across[place] = dice.uniform(0.3, 1) * dice.choice([-1, 1])
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        found.append((np.stack((along, across), 1) @ turn + dice.uniform(-1, 1, 2), f"{place}"))
    return marked_sets(folder, found[:2000], found[2000:])


def _emoji(style: Literal["both", "noto"]) -> Splits:
    return emoji.load(emoji.Config(skin_tones=False, style=style))


def odd_emoji(folder: Path) -> SmallSet:
    """2,000 sets of ten emoji of 6 × 6 pixels in colors, one of which is of another category; tested with other emoji."""
    splits, parts = _emoji("noto"), []
    for part in ((*splits.train, *splits.valid), splits.test):
        groups: dict[str, list[Floats]] = {}
        for one in part:
            groups.setdefault(one.group, []).append(one.input.pixels[1:31, 1:31].reshape(6, 5, 6, 5, 3).mean((1, 3)).ravel())
        parts.append({name: np.stack(rows) / 255 for name, rows in groups.items() if len(rows) >= 10})
    test = {name: parts[1][name] for name in parts[1] if name in parts[0]}
    return marked_sets(folder, _odd(parts[0], 2000, 0), _odd(test, 1000, 1))


def solids(folder: Path) -> SmallSet:
    """1,000 clouds of 60 points on ten solids."""
    splits = point_clouds.load(point_clouds.Config(points=60, train_size=1000, valid_size=1, test_size=1000))
    parts = ([(one.input.items.astype(np.float64), one.target) for one in part] for part in (splits.train, splits.test))
    return bags(folder, *parts)


def digit_clouds(folder: Path) -> SmallSet:
    """2,000 digits of MNIST as the places of up to 60 of their bright pixels."""
    parts = []
    for name, count in (("train", 2000), ("test", 1000)):
        images, labels = mnist.pictures("mnist", "train" if name == "train" else "test")
        dice = np.random.default_rng(SEED)
        points = [dice.permutation(np.argwhere(image > 127))[:60] / 28.0 for image in images[:count]]
        parts.append(list(zip(points, map(str, labels[:count].tolist()), strict=True)))
    return bags(folder, *parts)


def elephants(folder: Path) -> SmallSet:
    """100 pictures as bags of segments: is there an elephant? 100 others are tested."""
    splits = mil.load(mil.Config(corpus="elephant"))
    found = [(one.input.items.astype(np.float64), one.target) for one in (*splits.train, *splits.test)]
    mixed = drawn(found, len(found))
    return bags(folder, mixed[:100], mixed[100:])


# Pictures


def _classes(name: str, part: mnist.Part, count: int) -> list[tuple[Pixels, str]]:
    images, labels = mnist.pictures(name, part)
    return list(zip(images[:count], map(str, labels[:count].tolist()), strict=True))


def mnist_digits(folder: Path) -> SmallSet:
    """4,000 digits, and 2,000 of the test."""
    return pictures(folder, _classes("mnist", "train", 4000), _classes("mnist", "test", 2000))


def fashion(folder: Path) -> SmallSet:
    """4,000 clothes of Fashion-MNIST, and 2,000 of the test."""
    return pictures(folder, _classes("fashion-mnist", "train", 4000), _classes("fashion-mnist", "test", 2000))


def moved_digits(folder: Path) -> SmallSet:
    """The same digits, 14 pixels high, somewhere on 32 × 32."""
    dice, parts = np.random.default_rng(SEED), []
    for labeled in (_classes("mnist", "train", 4000), _classes("mnist", "test", 2000)):
        part = []
        for image, label in labeled:
            field, (row, column) = np.zeros((32, 32), np.uint8), dice.integers(0, 19, 2)
            field[row : row + 14, column : column + 14] = image.reshape(14, 2, 14, 2).mean((1, 3)).astype(np.uint8)
            part.append((field, label))
        parts.append(part)
    return pictures(folder, *parts)


def _shapes(part: str, count: int) -> list[tuple[Pixels, str]]:
    """Pictures of easy-VQA with what their questions tell: the color and the shape."""
    with zipfile.ZipFile(known.data_directory() / "easy-vqa/easy-vqa-data.zip") as archive:
        told: dict[int, dict[str, str]] = {}
        for _, answer, number in json.loads(archive.read(f"data/{part}/questions.json")):
            if answer not in ("yes", "no"):
                told.setdefault(number, {})["shape" if answer in SHAPES else "color"] = answer
        whole = [number for number in sorted(told) if len(told[number]) == 2][:count]
        pixels = [
            np.asarray(Image.open(io.BytesIO(archive.read(f"data/{part}/images/{n}.png"))).convert("RGB")) for n in whole
        ]
    return [(image, f"{told[n]['color']} {told[n]['shape']}") for image, n in zip(pixels, whole, strict=True)]


def shapes(folder: Path) -> SmallSet:
    """Up to 4,000 pictures of one shape each with its color and name, and those of the test."""
    return pictures(folder, _shapes("train", 4000), _shapes("test", 1000))


def emoji_captions(folder: Path) -> SmallSet:
    """Emoji without skin tones and their names; tested with emoji of other names."""
    splits = _emoji("both")
    parts = ([(one.input.pixels, one.target) for one in part] for part in ((*splits.train, *splits.valid), splits.test))
    return pictures(folder, *parts)


def flickr_captions(folder: Path) -> SmallSet:
    """800 photographs with five captions each, and 100 others with the first of theirs."""
    place = known.data_directory() / "flickr8k-1000"
    captions: dict[str, list[str]] = {}
    for name, caption in csv.reader(known.unzipped(place / "captions.csv.gz").decode().splitlines()[1:]):
        captions.setdefault(name, []).append(caption)
    with zipfile.ZipFile(place / "images.zip") as archive:
        found = {name: Image.open(io.BytesIO(archive.read(name))).convert("RGB") for name in sorted(captions)}
        pixels = {name: np.asarray(ImageOps.fit(image, (64, 64))) for name, image in found.items()}
    mixed = drawn(sorted(captions), len(captions))
    train = [(pixels[name], caption) for name in mixed[:800] for caption in captions[name]]
    return pictures(folder, train, [(pixels[name], captions[name][0]) for name in mixed[800:]])


# Nodes


def near_digits(folder: Path) -> SmallSet:
    """2,000 digits of MNIST at half their size as nodes, each joined with the five most like it; 100 labels are known."""
    images, labels = (found[:2000] for found in mnist.pictures("mnist", "train"))
    rows = images.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(len(images), -1) / 255
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = (scaled @ scaled.T - 2 * np.eye(len(rows))).argsort(1)[:, -5:]
    parts = ["train"] * 100 + ["valid"] * 200 + ["test"] * (len(rows) - 300)
    nodes = zip(labels.tolist(), parts, rows.tolist(), strict=True)
    head = ["id", "label", "split", *(f"x{number}" for number in range(rows.shape[1]))]
    table = ([f"{i}", f"{label}", part, *(f"{x:.3g}" for x in row)] for i, (label, part, row) in enumerate(nodes))
    write_csv(folder / "nodes.csv", head, table)
    write_csv(folder / "edges.csv", ["source", "target"], ([f"{i}", f"{j}"] for i, own in enumerate(near) for j in own))
    return SmallSet({"nodes": str(folder / "nodes.csv"), "edges": str(folder / "edges.csv")})
