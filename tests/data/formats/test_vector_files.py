"""Files of vectors: what is written is read again, other programs' files too, and what is wrong is told by its line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from saccade.data.formats.vector_files import nearest, read, write
from saccade.errors import DataError, UsageError

WORDS = ["good", "große", "."]
VECTORS = np.array([[1, 2.5], [-3, 1e-7], [0.25, 0]], dtype=np.float32)


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_written_is_read_again(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, WORDS, VECTORS)
    words, found = read(tmp_path / name)
    assert words == WORDS
    np.testing.assert_allclose(found, VECTORS, rtol=1e-5)
    words, found = read(tmp_path / name, {"große", "unknown"})
    assert words == ["große"]
    np.testing.assert_allclose(found, VECTORS[1:2], rtol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "2 3\na 1 2 3\nb 4 5 6\n",
        "a 1 2 3\nb 4 5 6\n",
        "2 3\r\na 1 2 3 \r\nb 4 5 6 \r\n\r\n",  # fastText ends its lines with a space
        "\ufeffa 1 2 3\nb 4 5 6\na 7 8 9\n",
    ],
)
def test_forms_that_other_programs_write(text: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(text.encode())
    words, found = read(tmp_path / "v.txt")
    assert words == ["a", "b"]
    assert found.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_word_may_have_spaces(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("a 1 2\n. . 3 4\n")
    assert read(tmp_path / "v.txt")[0] == ["a", ". ."]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty file"),
        ("a 1 2\nb 1\n", r"v\.txt:2: expected a word and its numbers, 2 of them, got 1"),
        ("2 3\na 1 2 3\nb 4 five 6\n", r"v\.txt:3: .*five"),
        ("a 1 nan\n", r"v\.txt:1: expected finite numbers"),
        ("word\n", r"v\.txt:1: expected a word and its numbers"),
        ("a 1 2\n\xff\xfe 1 2\n", r"v\.txt:2: not UTF-8"),
    ],
)
def test_what_is_wrong_is_told_by_its_line(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=told) as error:
        read(tmp_path / "v.txt")
    assert "\n" not in str(error.value)


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "missing.txt")
    (tmp_path / "v.gz").write_bytes(gzip.compress(b"a 1 2\n" * 99)[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "v.gz")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "no" / "v.txt", WORDS, VECTORS)


def test_nearest_are_those_of_like_direction() -> None:
    words = ["north", "up", "east", "south", "none"]
    vectors = np.array([[0, 1], [0.1, 5], [2, 0], [0, -1], [0, 0]], dtype=np.float32)
    assert [word for word, _ in nearest("north", words, vectors, 4)] == ["up", "east", "none", "south"]
    assert nearest("north", words, vectors, 4)[3][1] == pytest.approx(-1)
