"""Made questions about pictures: files that lie where those of a known data set would, and a CSV of one's own."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

COLORS = {"red": (220, 20, 20), "blue": (20, 20, 220)}
NAMES = list(COLORS)


def png(color: str, size: tuple[int, int] = (64, 64), kind: str = "PNG") -> bytes:
    """A picture of one color."""
    file = io.BytesIO()
    Image.new("RGB", size, COLORS[color]).save(file, kind)
    return file.getvalue()


def easy_vqa(directory: Path, pictures: int = 20) -> None:
    """Pictures of two colors, three questions on each."""
    folder = directory / "easy-vqa"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "easy-vqa-data.zip", "w") as archive:
        for part in ("train", "test"):
            colors = [NAMES[number % 2] for number in range(pictures)]
            rows = [
                row
                for number, color in enumerate(colors)
                for row in (
                    ["what color is the shape?", color, number],
                    ["what shape is in the image?", "circle", number],
                    ["is there a red shape?", "yes" if color == "red" else "no", number],
                )
            ]
            archive.writestr(f"easy_vqa/data/{part}/questions.json", json.dumps(rows))
            for number, color in enumerate(colors):
                archive.writestr(f"easy_vqa/data/{part}/images/{number}.png", png(color))


def daquar(directory: Path, pictures: int = 12) -> None:
    """Photographs, each with a thing, a number and a list of things; every third is of the test."""
    folder = directory / "daquar"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"image{number}" for number in range(1, pictures + 1)]
    with zipfile.ZipFile(folder / "images_160x120.zip", "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(f"{name}.jpg", png(NAMES[number % 2], (160, 120), "JPEG"))
    lines = []
    for number, name in enumerate(names):
        lines += [f"what is on the table in the {name} ?", "lamp" if number % 2 else "book"]
        lines += [f"how many chairs are in this {name} ?", f"{number % 3}"]
        lines += [f"what is in front of the wall in the {name} on the left ?", "bed, table"]
    written = {"all_qa_pairs.txt": lines, "train_images_list.txt": [], "test_images_list.txt": []}
    for number, name in enumerate(names):
        written["test_images_list.txt" if number % 3 == 2 else "train_images_list.txt"].append(name)
    for file, own in written.items():
        (folder / f"{file}.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in own).encode()))


def shapes(directory: Path) -> None:
    """A question for each part, on pictures that are red above and blue below; the files have blue first."""
    folder = directory / "shapes"
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((4, 30, 30, 3), np.uint8)
    pixels[:, :15, :, 2] = 255
    pixels[:, 15:, :, 0] = 255
    for number, part in enumerate(("train.small", "train.tiny", "val", "test")):
        file = io.BytesIO()
        np.save(file, pixels)
        (folder / f"{part}.input.npy.gz").write_bytes(gzip.compress(file.getvalue()))
        (folder / f"{part}.output.gz").write_bytes(gzip.compress(b"true\nfalse\nfalse\ntrue\n"))
        (folder / f"{part}.query_str.txt.gz").write_bytes(gzip.compress(f"is a shape {number}\n".encode() * 4))


def asked(folder: Path, each: int = 8) -> Path:
    """A CSV of questions on pictures of two colors, and the pictures beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["picture,question,answer,type"]
    dice = np.random.default_rng(each)
    for color, (red, green, blue) in COLORS.items():
        for number in range(each):
            noise = dice.integers(-15, 15, (14, 20, 3))
            pixels = (np.array([red, green, blue]) + noise).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{color}{number}.png")
            lines.append(f"{color}{number}.png,what color is it ?,{color},color")
            lines.append(f"{color}{number}.png,is it red ?,{'yes' if color == 'red' else 'no'},yes or no")
    (folder / "asked.csv").write_text("\n".join(lines) + "\n")
    return folder / "asked.csv"
