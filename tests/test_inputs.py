"""What is read: no pipe, socket, directory or device where a file is expected, no bomb, no line without an end."""

import gzip
import os
import signal
import socket
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from saccade import config, inputs
from saccade.cli import result_tables, vectors, verbs
from saccade.data import known
from saccade.data.formats import bag_files, graph_files, image_files, text_files, vector_files
from saccade.data.sets import imdb, tatoeba
from saccade.errors import DataError, UsageError
from saccade.exchange import importing, sentencepiece

KINDS = {"pipe": "a pipe", "socket": "a socket", "folder": "a directory", "device": "a device"}
# What reads a file, and the name that it must have.
READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "texts": ("my.tsv", lambda path: text_files.read(str(path), text_files.Config())),
    "packed texts": ("my.tsv.gz", lambda path: text_files.read(str(path), text_files.Config())),
    "parallel texts": ("my.de", lambda path: text_files.read(f"{path},{path}", text_files.Config())),
    "nodes": ("nodes.csv", lambda path: graph_files.load(graph_files.Config(nodes=str(path), edges=str(path)))),
    "a picture": ("my.png", lambda path: image_files.opened(path, 3)),
    "vectors": ("vectors.txt", lambda path: vector_files.read(path)),
    "texts for vectors": ("texts.txt", lambda path: list(vectors._lines(path))),
    "a config": ("my.toml", lambda path: config.read(path)),
    "a page": ("page.md", lambda path: result_tables.check(path, "title")),
    "a config of Marian": ("config.json", lambda path: importing.import_model(path.parent, path.parent / "run")),
    "pieces": ("source.spm", lambda path: sentencepiece.backend(path)),
}


@contextmanager
def soon() -> Iterator[None]:
    """Five seconds; a pipe that nobody writes into would be waited for to the end of days."""

    def over(*ignored: object) -> None:
        raise TimeoutError("it waits for something that does not come")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(5)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def put(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something of this kind that is no regular file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        monkeypatch.chdir(path.parent)  # the name of a socket may not be long
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have names only there")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_at_once(
    reader: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, read = READERS[reader]
    put(kind, tmp_path / name, monkeypatch)
    with soon(), pytest.raises(DataError, match=f"{name}: expected a file, got {KINDS[kind]}; ") as told:
        read(tmp_path / name)
    assert "\n" not in str(told.value)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices have names only there")
@pytest.mark.parametrize("kind", ["socket", "folder", "device"])
def test_input_lines_come_from_no_device(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(kind, tmp_path / "in.txt", monkeypatch)
    with soon(), pytest.raises(DataError, match=r"in\.txt: expected a file, got a .*; name a text file, or -"):
        verbs.opened(str(tmp_path / "in.txt"))


@pytest.mark.skipif(os.name != "posix", reason="pipes have names only there")
def test_input_lines_may_come_through_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # opened for both: nobody is waited for
    os.write(writer, b"one\ntwo\n")
    with soon(), verbs.opened(str(tmp_path / "pipe")) as stream:
        os.close(writer)
        assert list(stream) == [b"one\n", b"two\n"]


# What unpacks


def bomb() -> bytes:
    """A megabyte in one thousand bytes."""
    return gzip.compress(bytes(1_000_000))


def picture(path: Path) -> None:
    Image.new("L", (500, 500)).save(path)


def archive(path: Path, member: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(member, bytes(1_000_000))


UNPACKERS: dict[str, tuple[str, Callable[[Path], Any], Callable[[Path], Any]]] = {
    "texts": ("my.tsv.gz", lambda path: path.write_bytes(bomb()), READERS["texts"][1]),
    "vectors": ("vectors.txt.gz", lambda path: path.write_bytes(bomb()), READERS["vectors"][1]),
    "texts for vectors": ("t.txt.gz", lambda path: path.write_bytes(bomb()), READERS["texts for vectors"][1]),
    "known": ("known.gz", lambda path: path.write_bytes(bomb()), known.unzipped),
    "zip": ("deu-eng.zip", lambda path: archive(path, "deu.txt"), lambda path: tatoeba._text(path, "deu.txt")),
    "picture": ("my.png", picture, lambda path: image_files.opened(path, 1)),
    "tiles": ("my.png", picture, lambda path: bag_files.named(str(path), (28, 28))),
}


@pytest.mark.parametrize("name", UNPACKERS)
def test_a_bomb_is_refused_and_the_bound_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, make, read = UNPACKERS[name]
    make(tmp_path / file)
    monkeypatch.setenv("SACCADE_UNPACKED", "1e5")
    with pytest.raises(DataError, match=f"{file}: expected at most 100.0 kB when unpacked .* set SACCADE_UNPACKED=") as told:
        read(tmp_path / file)
    assert "\n" not in str(told.value)


def test_an_archive_of_reviews_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lzma

    path = tmp_path / "aclImdb_labelled.tar.xz"
    path.write_bytes(lzma.compress(bytes(1_000_000)))
    monkeypatch.setenv("SACCADE_UNPACKED", "5000")
    with pytest.raises(DataError, match=r"expected at most 5\.0 kB when unpacked"):
        list(imdb._reviews(path))


def test_what_a_packed_file_may_become_grows_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACCADE_UNPACKED", raising=False)
    assert inputs.most_unpacked(400_000) == 256_000_000  # and not the 1.5 GB that a bomb of this size becomes
    assert inputs.most_unpacked(2_000_000_000) == 200_000_000_000  # published vectors of words
    monkeypatch.setenv("SACCADE_UNPACKED", "2e9")
    assert inputs.most_unpacked(400_000) == 2_000_000_000
    monkeypatch.setenv("SACCADE_UNPACKED", "much")
    with pytest.raises(UsageError, match="SACCADE_UNPACKED: expected a number of bytes, such as 4e9, got 'much'"):
        inputs.most_unpacked(1)


def test_within_the_bound_all_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.gz").write_bytes(bomb())
    monkeypatch.setenv("SACCADE_UNPACKED", "1000000")
    assert inputs.content(tmp_path / "x.gz") == bytes(1_000_000)
    with inputs.opened(tmp_path / "x.gz") as file:
        assert file.read(10) == bytes(10)


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LONGEST_LINE", 10)
    assert list(inputs.lines(BytesIO(b"0123456789\nx\n"), "in")) == [b"0123456789\n", b"x\n"]
    with pytest.raises(DataError, match=r"in:2: expected a line of at most 10 bytes"):
        list(inputs.lines(BytesIO(b"x\n0123456789abc\n"), "in"))
