"""Reviews from the archive: only what has a review's name, line breaks kept, parts that share nothing."""

import gzip
import io
import lzma
import os
import tarfile
from pathlib import Path

import pytest

from saccade.data.sets.imdb import Config, load
from saccade.errors import DataError
from tests import made_texts

STAGED = os.environ.get("SACCADE_DATA")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made_texts.imdb(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_parts_share_nothing_and_labels_are_in_the_names() -> None:
    splits = load(Config())
    train, valid, test = ([pair.input for pair in part] for part in (splits.train, splits.valid, splits.test))
    assert len(train) + len(valid) == 80
    assert 0 < len(valid) < 25
    assert not set(train) & set(valid)
    assert len(test) == 80
    for pair in splits.train:
        assert pair.target == ("positive" if "good" in pair.input else "negative")
    stars = load(Config(label="stars"))
    assert [pair.input for pair in stars.valid] == valid
    assert {pair.target for pair in stars.test} == {"1", "4", "7", "10"}


@pytest.mark.usefixtures("directory")
def test_breaks_are_lines() -> None:
    text = next(pair.input for pair in load(Config()).test if "number 5," in pair.input)
    assert text == "A bad film, number 5, of café.\n\nNot “seen” again!"


def test_nothing_else_is_read(directory: Path) -> None:
    path = directory / "imdb" / "aclImdb_labelled.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        for name in ("aclImdb/train/pos/../../x/0_9.txt", "/aclImdb/train/pos/0_9.txt", "aclImdb/train/pos/0_11.txt"):
            member = tarfile.TarInfo(name)
            member.size = 3
            archive.addfile(member, io.BytesIO(b"bad"))
        link = tarfile.TarInfo("aclImdb/train/pos/1_9.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(DataError, match=r"expected reviews such as .*, got none"):
        load(Config())


def as_published(directory: Path) -> Path:
    """The archive under the name and packed as its authors publish it."""
    path = directory / "imdb" / "aclImdb_v1.tar.gz"
    path.write_bytes(gzip.compress(lzma.decompress((directory / "imdb" / "aclImdb_labelled.tar.xz").read_bytes())))
    return path


def test_the_authors_archive_is_read_as_well(directory: Path) -> None:
    before = load(Config())
    as_published(directory)
    (directory / "imdb" / "aclImdb_labelled.tar.xz").unlink()
    assert load(Config()) == before


@pytest.mark.parametrize("packed", ["xz", "gz"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_archive_is_told_in_one_line(damage: str, packed: str, directory: Path) -> None:
    path = as_published(directory) if packed == "gz" else directory / "imdb" / "aclImdb_labelled.tar.xz"
    path.write_bytes(path.read_bytes()[:400] if damage == "cut" else b"no archive")
    with pytest.raises(DataError, match=r"cannot be read .*; download it again") as error:
        load(Config())
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not STAGED or not (Path(STAGED) / "imdb").exists(), reason="IMDB is not in SACCADE_DATA")
def test_published_sizes() -> None:
    splits = load(Config())
    assert (len(splits.train) + len(splits.valid), len(splits.test)) == (25000, 25000)
    assert sum(pair.target == "positive" for pair in splits.test) == 12500
    assert not any("<br" in pair.input for pair in splits.test)
