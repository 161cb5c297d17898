"""Made data for the tests: files that lie where those of a known data set would."""

import gzip
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import scipy.sparse
from PIL import Image


def sst2(directory: Path) -> None:
    """Sentences of SST in two classes."""
    folder = directory / "sst"
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{n % 2} a {'good' if n % 2 else 'bad'} film {n} .\n" for n in range(40))
    for part in ("train", "dev", "test"):
        (folder / f"stsa.binary.{part}.gz").write_bytes(gzip.compress(lines.encode()))


def cora(directory: Path, learned: int = 14, known: int = 600, tests: int = 40) -> None:
    """A ring of papers in the files of Planetoid's Cora."""
    dice, count = np.random.default_rng(0), known + tests
    words = scipy.sparse.csr_matrix((dice.random((count, 20)) < 0.2).astype(np.float32))
    classes = np.eye(7, dtype=np.int32)[np.arange(count) % 7]
    neighbors = {node: [(node - 1) % count, (node + 1) % count] for node in range(count)}
    parts = {"x": words[:learned], "allx": words[:known], "tx": words[known:], "graph": neighbors}
    parts |= {"y": classes[:learned], "ally": classes[:known], "ty": classes[known:]}
    folder = directory / "planetoid"
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        (folder / f"ind.cora.{name}.gz").write_bytes(gzip.compress(pickle.dumps(part, 3)))
    index = "".join(f"{node}\n" for node in range(known, count))
    (folder / "ind.cora.test.index.gz").write_bytes(gzip.compress(index.encode()))


def multi30k(directory: Path) -> None:
    """Forty sentences for each part of Multi30k, in the directory of all data."""
    for language, text in (("de", "ein hund {} ."), ("en", "a dog {} .")):
        for split in ("train", "val", "test_2016_flickr"):
            path = directory / "multi30k" / "tok" / f"{split}.lc.norm.tok.{language}.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress("".join(text.format(n) + "\n" for n in range(40)).encode()))


def musk1(directory: Path) -> None:
    """Twenty bags of MUSK1 with five deals of ten folds; in a positive bag one instance has a large first number."""
    folder = directory / "mil"
    folder.mkdir(parents=True, exist_ok=True)
    dice, rows = np.random.default_rng(0), []
    for bag in range(20):
        for place in range(1 + bag % 4):
            first = 5.0 if bag % 2 and place == 0 else 0.0
            rows.append(f"{bag % 2},{bag},{first},{dice.normal():.3f}\n")
    (folder / "musk1.csv.gz").write_bytes(gzip.compress("".join(rows).encode()))
    folds = [[sorted(((np.arange(2) + 2 * fold) * 7 + time) % 20) for fold in range(10)] for time in range(5)]
    plain = [[[int(number) for number in fold] for fold in deal] for deal in folds]
    (folder / "folds_5x10.json.gz").write_bytes(gzip.compress(json.dumps({"musk1": plain}).encode()))


def mnist(directory: Path, count: int = 200, name: str = "mnist") -> None:
    """Pictures of 28 × 28 that are as bright as their digit."""
    folder = directory / name
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "t10k"):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = np.repeat(labels, 28 * 28)
        head = struct.pack(">HBBIII", 0, 8, 3, count, 28, 28)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes()))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">HBBI", 0, 8, 1, count) + labels.tobytes())
        )


def fashion_mnist(directory: Path, learned: int = 40, tests: int = 20) -> None:
    """Pictures in the files of Fashion-MNIST: a bright bar on noise, in a place for each class."""
    folder, dice = directory / "fashion-mnist", np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for prefix, count in (("train", learned), ("t10k", tests)):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = dice.integers(0, 60, (count, 28, 28), dtype=np.uint8)
        for image, label in zip(images, labels.tolist(), strict=True):
            image[2 * label : 2 * label + 6, 8:20] = 220
        sizes = b"".join(size.to_bytes(4, "big") for size in images.shape)
        (folder / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x08\x03" + sizes + images.tobytes()))
        head = b"\0\0\x08\x01" + count.to_bytes(4, "big")
        (folder / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(head + labels.tobytes()))


def word_crops(folder: Path, count: int = 16) -> Path:
    """Pictures of words of different widths, and the CSV file that lists them."""
    folder.mkdir(parents=True, exist_ok=True)
    dice, rows = np.random.default_rng(2), ["path,text"]
    for number in range(count):
        text = ("No", "exit", "24h")[number % 3]
        pixels = dice.integers(0, 90, (10 + number % 4, 9 * len(text)), dtype=np.uint8)
        pixels[3:7, :: 2 + number % 3] += 150
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{text}")
    (folder / "words.csv").write_text("\n".join(rows) + "\n")
    return folder / "words.csv"


def photos(folder: Path, each: int = 8, size: tuple[int, int] = (20, 14)) -> None:
    """Pictures of one's own in folders named by their labels, mostly red or mostly blue."""
    dice = np.random.default_rng(1)
    for label, channel in (("blue", 2), ("red", 0)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            pixels = dice.integers(0, 90, (size[1], size[0], 3), dtype=np.uint8)
            pixels[..., channel] += 150
            Image.fromarray(pixels).save(folder / label / f"{number}.{'png' if number % 2 else 'jpg'}")
