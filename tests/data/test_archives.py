"""Archives: the same members have the same digest, however they are packed; what is damaged is one line."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from saccade.data.archives import digest, entries
from saccade.errors import DataError

MEMBERS = {"set/a.txt": b"one", "set/deep/b.txt": b"two" * 1000, "readme": b"other"}
PATTERN = r"(?:^|/)set/(.*\.txt)$"
ALL = 3003


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # any of them
        folder = tarfile.TarInfo("set")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_files_come_in_order_and_directories_not_at_all(tmp_path: Path) -> None:
    for path in (zipped(tmp_path / "a", MEMBERS), tarred(tmp_path / "b", MEMBERS)):
        assert [(name, size, read()) for name, size, read in entries(path)] == [
            (name, len(content), content) for name, content in MEMBERS.items()
        ]


def test_a_digest_is_that_of_the_members_alone(tmp_path: Path) -> None:
    turned = {f"top/{name}": content for name, content in reversed(MEMBERS.items())}
    same = {
        digest(zipped(tmp_path / "a.zip", MEMBERS), PATTERN, ALL),
        digest(tarred(tmp_path / "b.tar.gz", turned), PATTERN, ALL),
        digest(tarred(tmp_path / "c.tar.xz", {**MEMBERS, "readme": b"another"}, "w:xz"), PATTERN, ALL),
    }
    assert len(same) == 1
    changed = {**MEMBERS, "set/a.txt": b"One"}
    renamed = {"set/c.txt": b"one", "set/deep/b.txt": b"two" * 1000}
    for number, members in enumerate((changed, renamed)):
        assert digest(zipped(tmp_path / f"{number}", members), PATTERN, ALL) not in same


def test_more_than_is_known_of_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected at most"):
        digest(zipped(tmp_path / "a", MEMBERS), PATTERN, ALL - 1)


@pytest.mark.parametrize("kind", ["text", "cut tar", "cut zip", "bad gzip"])
def test_a_damaged_archive_is_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    whole = tarred(path, MEMBERS).read_bytes() if kind == "cut tar" else zipped(path, MEMBERS).read_bytes()
    packed = bytearray(gzip.compress(b"x" * 1000))
    packed[20] ^= 255
    path.write_bytes({"text": b"<html>", "bad gzip": bytes(packed)}.get(kind, whole[: len(whole) // 2]))
    with pytest.raises(DataError, match="expected a zip or tar archive") as error:
        _ = [read() for _, _, read in entries(path)]
    assert str(error.value).isprintable()
