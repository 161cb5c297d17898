"""The data sets that saccade knows: the list is sound, and what is here is told truly, plain or packed."""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.data import known as module
from saccade.data.known import Known, KnownFile, MissingData, cache, data_directory, find, known, lookup, status, table
from saccade.errors import DataError, UnknownName, UsageError

ADDRESS = r"(https?://[^#{}\s]+/|pip:|npm:)[^#{}\s]+(#[^{}]+)?"
STAGED = os.environ.get("SACCADE_DATA")
SMALL = 5_000_000
MEMBERS = {"1.txt": b"one", "2.txt": b"two"}
CONTENT = {"a.txt": b"all is here", "deep/b.bin": bytes(range(256)) * 1000}


def known_file(path: str, content: bytes, *addresses: str) -> KnownFile:
    return KnownFile(path, len(content), hashlib.sha256(content).hexdigest(), addresses)


def made(site: str = "") -> Known:
    """A data set of two files, at this site or at none."""
    files = tuple(known_file(path, content, *[f"{site}/{path}"] * bool(site)) for path, content in CONTENT.items())
    return Known("toy", "Two files", "MIT", "https://example.org/toy", files)


def put(directory: Path, *paths: str) -> None:
    for path in paths:
        target = directory / "toy" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(CONTENT[path])


def one_line(error: pytest.ExceptionInfo[DataError]) -> str:
    text = str(error.value)
    assert text
    assert text.isprintable()  # no line break in it
    return text


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and an environment that says nothing about data."""
    for name in ("SACCADE_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


# The list


def test_every_entry_is_sound() -> None:
    for name, item in known().items():
        assert name == item.name
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert item.about.isprintable()
        assert item.licence
        assert bool(item.files) != item.generated
        assert len({file.path for file in item.files}) == len(item.files)
        for file in item.files:
            assert file.bytes > 0
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert all(re.fullmatch(ADDRESS, address) for address in file.addresses)
            assert len(set(file.addresses)) == len(file.addresses)
            assert module.place(item, file, Path("data")).is_relative_to(Path("data") / name)


def test_what_is_on_github_has_a_second_address() -> None:
    """A file of a commit never changes; branches, which do, are no mirror."""
    assert lookup("tinyshakespeare").files[0].addresses == (
        "https://raw.githubusercontent.com/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
        "https://cdn.jsdelivr.net/gh/karpathy/char-rnn@6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
    )
    assert [address for address in lookup("ptb").files[0].addresses if "jsdelivr" in address] == []


def test_no_two_files_were_mixed_up() -> None:
    """Equal hashes mean equal sizes; the tests of bAbI are the same in en and en-10k, all else differs."""
    seen: dict[str, tuple[int, str]] = {}
    for item in known().values():
        for file in item.files:
            size, name = seen.setdefault(file.sha256, (file.bytes, item.name))
            assert (size, name) == (file.bytes, item.name)


def test_the_list_is_a_copy() -> None:
    known().clear()
    assert "mnist" in known()


def test_dates_need_no_download(tmp_path: Path) -> None:
    assert lookup("dates").generated
    assert status(lookup("dates"), tmp_path).state == "here"
    with pytest.raises(UsageError, match="generated"):
        find("dates", "train.tsv", tmp_path)


def test_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'multi30k'"):
        lookup("multi30")


def test_a_data_set_has_the_name_that_recipes_use_too() -> None:
    assert lookup("tiny_shakespeare") is lookup("tinyshakespeare")
    assert lookup("fashion_mnist") is lookup("fashion-mnist")


def test_list_is_read_without_torch_or_network_modules() -> None:
    script = (
        "import sys, saccade.data.known as k; k.known(); print([m for m in ('torch', 'numpy', 'ssl') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Where data is


def test_what_is_given_goes_before_environment_and_cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_directory() == home / ".cache" / "saccade" / "data"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert data_directory() == home / "xdg" / "saccade" / "data"
    monkeypatch.setenv("SACCADE_DATA", str(home / "mine"))
    assert data_directory() == home / "mine"
    assert data_directory("given") == Path("given")
    monkeypatch.setenv("SACCADE_DATA", "")
    assert data_directory("") == home / "xdg" / "saccade" / "data"


def test_tilde_is_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert data_directory("~/data") == tmp_path / "data"


def test_a_home_of_nobody_is_one_line() -> None:
    with pytest.raises(UsageError, match="--data-dir"):
        data_directory("~no-such-user-here/data")


def test_each_platform_has_its_cache(home: Path) -> None:
    assert cache("linux", {"XDG_CACHE_HOME": "relative"}) == home / ".cache"
    assert cache("darwin", {}) == home / "Library" / "Caches"
    assert cache("win32", {}) == home / "AppData" / "Local"
    assert cache("win32", {"LOCALAPPDATA": str(home / "L")}) == home / "L"


# What is there


def test_status_tells_here_missing_and_incomplete(tmp_path: Path) -> None:
    assert status(made(), tmp_path / "nowhere") == module.Status("missing", tuple(CONTENT))
    put(tmp_path, "a.txt")
    assert status(made(), tmp_path) == module.Status("incomplete", ("deep/b.bin",))
    put(tmp_path, "deep/b.bin")
    assert status(made(), tmp_path) == status(made(), tmp_path, verify=True) == module.Status("here")


def test_changed_bytes_are_seen_when_verified(tmp_path: Path) -> None:
    put(tmp_path, *CONTENT)
    (tmp_path / "toy" / "a.txt").write_bytes(b"ALL is here")
    assert status(made(), tmp_path).state == "here"
    assert status(made(), tmp_path, verify=True) == module.Status("damaged", damaged=("a.txt",))


def test_a_cut_file_is_seen_by_its_size_alone(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    (tmp_path / "toy" / "a.txt").write_bytes(b"all")
    assert status(made(), tmp_path) == module.Status("damaged", ("deep/b.bin",), ("a.txt",))


@pytest.mark.parametrize("content", [CONTENT["a.txt"], b"", b"all is here, and more"])
def test_a_gzipped_file_is_known_by_its_content(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, "deep/b.bin")
    path = tmp_path / "toy" / "a.txt.gz"
    path.write_bytes(gzip.compress(content, 1))
    right = module.Status("here") if content == CONTENT["a.txt"] else module.Status("damaged", damaged=("a.txt",))
    assert status(made(), tmp_path) == status(made(), tmp_path, verify=True) == right
    assert module.present(made(), made().files[0], tmp_path) == path


@pytest.mark.parametrize("cut", [1, 4, 30])
def test_a_cut_gzip_is_seen(tmp_path: Path, cut: int) -> None:
    put(tmp_path, "deep/b.bin")
    packed = gzip.compress(CONTENT["a.txt"])
    (tmp_path / "toy" / "a.txt.gz").write_bytes(packed[:-cut])
    assert status(made(), tmp_path).damaged == status(made(), tmp_path, verify=True).damaged == ("a.txt",)


def test_an_archive_is_known_by_its_members_under_either_name(tmp_path: Path) -> None:
    lines = sorted(f"{hashlib.sha256(text).hexdigest()}  {name}\n" for name, text in MEMBERS.items())
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    item = replace(made(), files=(KnownFile("a.zip", 6, digest, members=r"(\d\.txt)$", also="b.zip"),))
    (tmp_path / "toy").mkdir()
    for name in ("a.zip", "b.zip"):
        path = tmp_path / "toy" / name
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in (("deep/2.txt", "two"), ("other", "x" * 100), ("1.txt", "one")):
                archive.writestr(member, text)
        assert status(item, tmp_path, verify=True).state == "here"
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("3.txt", "more than there may be")
        assert (status(item, tmp_path).state, status(item, tmp_path, verify=True).state) == ("here", "damaged")
        path.unlink()


def test_a_directory_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "toy" / "a.txt").mkdir(parents=True)
    assert "a.txt" in status(made(), tmp_path).missing


def test_find_gives_the_path_or_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        find("svt", "lexicon.txt", tmp_path)
    text = one_line(error)
    assert text.startswith(f"svt/lexicon.txt is missing in {tmp_path}; no public address: take lexicon.txt from")
    assert lookup("svt").address in text
    assert "SACCADE_DATA" in text
    (tmp_path / "svt").mkdir()
    for name in ("lexicon.txt.gz", "lexicon.txt"):  # plain goes first
        path = tmp_path / "svt" / name
        path.write_bytes(b"whatever")
        assert find("svt", "lexicon.txt", tmp_path) == path


def test_find_looks_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        find("scan", "LICENSE")


def test_find_names_the_command_where_it_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_read", lambda: {"toy": made("https://example.org")})
    with pytest.raises(MissingData, match="`saccade data get toy`") as error:
        find("toy", "a.txt", tmp_path)
    assert (error.value.item.name, error.value.offered) == ("toy", True)
    monkeypatch.setattr(module, "_read", lambda: {"toy": made()})
    with pytest.raises(MissingData, match=r"or set data\.other=yes") as error:
        find("toy", "a.txt", tmp_path, fix="set data.other=yes")
    assert not error.value.offered


@pytest.mark.parametrize("path", ["t10k", "../mnist/t10k-labels-idx1-ubyte", "/etc/hosts"])
def test_find_refuses_files_that_it_does_not_know(tmp_path: Path, path: str) -> None:
    with pytest.raises(UnknownName, match="file of mnist"):
        find("mnist", path, tmp_path)


def test_table_has_a_row_for_each(tmp_path: Path) -> None:
    (tmp_path / "scan").mkdir()
    (tmp_path / "scan" / "LICENSE").write_bytes(b"x" * next(f.bytes for f in lookup("scan").files if f.path == "LICENSE"))
    rows = {row["name"]: row for row in table(tmp_path)}
    assert list(rows) == list(known())
    assert rows["dates"]["status"] == "generated"
    assert rows["mnist"] | {"about": ""} == {
        "name": "mnist",
        "status": "missing",
        "size": "55.0 MB",
        "licence": lookup("mnist").licence,
        "about": "",
        "where": str(tmp_path / "mnist"),
        "address": "http://yann.lecun.com/exdb/mnist/",
        "files": [file.path for file in lookup("mnist").files],
        "missing": [file.path for file in lookup("mnist").files],
        "damaged": [],
    }
    assert (rows["dates"]["where"], rows["dates"]["files"]) == ("", [])
    assert rows["scan"]["missing"] == [path for path in rows["scan"]["files"] if path != "LICENSE"]
    assert (rows["scan"]["status"], rows["scan"]["where"]) == ("incomplete", str(tmp_path / "scan"))
    assert {row["name"]: row["status"] for row in table(tmp_path, verify=True)}["scan"] == "damaged"
    assert json.loads(json.dumps(list(rows.values()))) == list(rows.values())


@pytest.mark.parametrize(
    "path", ["../a.txt", "/a.txt", "x/../../a.txt", "..\\a.txt", "C:a.txt", "x//a.txt", "", "a\nb", "."]
)
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(DataError, match="may lead out"):
        status(replace(made(), files=(known_file(path, b"a"),)), tmp_path)


def test_another_name_that_leads_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="may lead out"):
        status(replace(made(), files=(KnownFile("a.zip", 1, "", members="(.*)", also="../b.zip"),)), tmp_path)


# The real files


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize("name", [name for name, item in known().items() if not item.generated])
def test_real_files_are_what_the_list_says(name: str) -> None:
    item, directory = lookup(name), Path(STAGED or "")
    if status(item, directory).state == "missing":
        pytest.skip(f"{name} is not in SACCADE_DATA")
    assert status(item, directory) == module.Status("here")
    small = replace(item, files=tuple(file for file in item.files if file.bytes < SMALL))
    assert status(small, directory, verify=True) == module.Status("here")
