"""Movie reviews with stars: IMDB (Large Movie Review Dataset, Maas et al. 2011).

25,000 for training, of which a tenth is held out, chosen by a hash of the file's name; as many for the test.
"""

import gzip
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.data import known
from saccade.data.examples import Example, Splits, hash_order
from saccade.errors import DataError
from saccade.inputs import bounded

INPUT, TARGET = str, str
NAME = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d{1,9}_(10|[1-9])\.txt)", re.ASCII)
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
POLARITY = {"neg": "negative", "pos": "positive"}
HELD_OUT = 10  # one of so many
LARGEST = 1 << 20  # bytes of a review; the longest has 14 kB


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is said of a review."""

    label: Literal["polarity", "stars"] = "polarity"
    "polarity: negative (up to 4 stars) or positive (from 7 on); stars: 1 to 4 and 7 to 10."


def load(config: Config) -> Splits:
    """All three parts."""
    parts: dict[str, list[tuple[str, Example]]] = {"train": [], "valid": [], "test": []}
    for part, polarity, name, stars, text in _reviews(known.find("imdb", "aclImdb_v1.tar.gz")):
        held_out = part == "train" and hash_order(f"{polarity}/{name}", "held") % HELD_OUT == 0
        label = POLARITY[polarity] if config.label == "polarity" else stars
        parts["valid" if held_out else part].append((f"{polarity}/{name}", Example(text, label)))
    # In the order of a hash: the archive has one polarity after the other.
    ordered = {part: sorted(reviews, key=lambda one: hash_order(one[0], "order")) for part, reviews in parts.items()}
    return Splits(*([pair for _, pair in ordered[part]] for part in ("train", "valid", "test")))


def _reviews(path: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Part, polarity, file name, stars and text of each review, in one pass over the archive; nothing is unpacked."""
    count = 0
    try:
        # Not tarfile's own "r|xz", which takes a file that was cut short for its end.
        with bounded(_unpacked(path), path) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as archive:
            for member in archive:
                match = NAME.fullmatch(member.name)
                content = archive.extractfile(member) if match and member.isreg() and member.size <= LARGEST else None
                if match and content is not None:
                    count += 1
                    yield match[1], match[2], match[3], match[4], _text(content.read(), f"{path}: {member.name}")
    except (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError) as error:
        raise DataError(f"{path}: cannot be read ({error}); download it again, or take it from where it was whole") from None
    if not count:
        raise DataError(f"{path}: expected reviews such as aclImdb/train/pos/0_9.txt, got none; download it again")


def _unpacked(path: Path) -> gzip.GzipFile | lzma.LZMAFile:
    return gzip.open(path) if path.suffix == ".gz" else lzma.open(path)


def _text(content: bytes, name: str) -> str:
    """The review with its line breaks, and no other."""
    try:
        return "\n".join(" ".join(line.split()) for line in BREAK.split(content.decode())).strip()
    except UnicodeDecodeError:
        raise DataError(f"{name}: expected UTF-8; download the archive again") from None
