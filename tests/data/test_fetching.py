"""Downloads: whole and verified or not there at all, whatever the network, the server and the disk do."""

import errno
import gzip
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import saccade
from saccade import lock
from saccade.data import fetching
from saccade.data.fetching import Report, get
from saccade.data.known import Known, KnownFile, known, lookup, present, status
from saccade.errors import DataError
from saccade.lock import locked
from tests.data.test_archives import tarred, zipped
from tests.data.test_known import CONTENT, known_file, made, one_line, put
from tests.site import Site, serving

STAGED = os.environ.get("SACCADE_DATA")
QUICK = 60_000_000  # bytes of a data set that arrives in about a second
NAMES = [name for name, item in known().items() if 0 < sum(file.bytes for file in item.files if file.addresses) < QUICK]
LARGE = "deep/b.bin"
SIZE = len(CONTENT[LARGE])


def quiet(path: str, done: int, total: int) -> None:
    """Reports nothing."""


def tree(directory: Path) -> set[str]:
    """All files but what waits to be gone on with."""
    paths = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    return {path for path in paths if "/.part-" not in path}


def partials(directory: Path) -> list[Path]:
    return list(directory.rglob(".part-*"))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("SACCADE_MIRROR", raising=False)
    monkeypatch.setattr(fetching, "PAUSE", 0.0)
    with serving(CONTENT) as server:
        yield server


def refused(item: Known, directory: Path, *what: str) -> None:
    """Fetching fails in one line that has these words, and leaves no file behind."""
    before = tree(directory)
    with pytest.raises(DataError) as error:
        get(item, directory, quiet)
    text = one_line(error)
    assert all(each in text for each in what), text
    assert tree(directory) == before


# What is fetched


def test_get_fetches_what_is_missing(site: Site, tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    paths = get(made(site.address), tmp_path, lambda *report: reports.append(report))
    assert paths == [tmp_path / "toy" / path for path in CONTENT]
    assert tree(tmp_path) == {f"toy/{path}" for path in CONTENT}
    assert partials(tmp_path) == []
    assert status(made(), tmp_path, verify=True).state == "here"
    progress = [done for path, done, total in reports if path == LARGE and total == SIZE]
    assert progress == sorted(progress)
    assert len(progress) > 1
    assert progress[-1] == SIZE
    assert site.agents == {f"saccade/{saccade.__version__}"}


def test_get_leaves_good_files_alone(site: Site, tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    before = (tmp_path / "toy" / "a.txt").stat()
    assert get(made(site.address), tmp_path, quiet) == [tmp_path / "toy" / "deep" / "b.bin"]
    assert site.asked == [LARGE]
    after = (tmp_path / "toy" / "a.txt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert get(made(site.address), tmp_path, quiet) == []
    assert site.asked == [LARGE]


def test_generated_data_need_no_download(tmp_path: Path) -> None:
    assert get(lookup("dates"), tmp_path, quiet) == []
    assert list(tmp_path.iterdir()) == []


def test_get_replaces_damaged_files_under_either_name(site: Site, tmp_path: Path) -> None:
    put(tmp_path, *CONTENT)
    (tmp_path / "toy" / "a.txt").write_bytes(b"ALL is here")
    assert get(made(site.address), tmp_path, quiet) == [tmp_path / "toy" / "a.txt"]
    assert (tmp_path / "toy" / "a.txt").read_bytes() == CONTENT["a.txt"]
    (tmp_path / "toy" / "a.txt").write_bytes(b"ALL is here")
    site.content["a.txt.gz"] = gzip.compress(CONTENT["a.txt"])
    item = replace(made(), files=(known_file("a.txt", CONTENT["a.txt"], f"{site.address}/a.txt.gz"),))
    assert get(item, tmp_path, quiet) == [tmp_path / "toy" / "a.txt.gz"]
    assert not (tmp_path / "toy" / "a.txt").exists()  # which would be found first


def test_a_gzipped_file_is_verified_by_its_content(site: Site, tmp_path: Path) -> None:
    item = replace(made(), files=(known_file("a.txt", CONTENT["a.txt"], f"{site.address}/a.txt.gz"),))
    for level in (1, 9):
        site.content["a.txt.gz"] = gzip.compress(CONTENT["a.txt"], level)
        (path,) = get(item, tmp_path / str(level), quiet)
        assert path.read_bytes() == site.content["a.txt.gz"]
        assert status(item, tmp_path / str(level), verify=True).state == "here"
    site.content["a.txt.gz"] = gzip.compress(b"ALL is here")
    refused(item, tmp_path / "other", "expected content of SHA-256")
    site.content["a.txt.gz"] = b"<html>"
    refused(item, tmp_path / "other", "got nothing of it")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_members_come_from_one_download_of_their_archive(site: Site, tmp_path: Path, kind: str) -> None:
    members = {f"top/{path}": content for path, content in CONTENT.items()}
    packed = (zipped if kind == "zip" else tarred)(tmp_path / "made", members)
    site.content["all.pack"] = packed.read_bytes()
    files = tuple(known_file(path, text, f"{site.address}/all.pack#top/{path}") for path, text in CONTENT.items())
    item = replace(made(), files=files)
    get(item, tmp_path / "data", quiet)
    assert site.asked == ["all.pack"]
    assert tree(tmp_path / "data") == {f"toy/{path}" for path in CONTENT}
    assert partials(tmp_path) == []
    assert status(item, tmp_path / "data", verify=True).state == "here"
    lacking = replace(item, files=(known_file("c", b"c", f"{site.address}/all.pack#top/c"),))
    refused(lacking, tmp_path / "other", "all.pack#top/c", "got nothing of it")
    assert partials(tmp_path) == []


def test_an_archive_whose_members_count_stays_packed(site: Site, tmp_path: Path) -> None:
    site.content["all.zip"] = zipped(tmp_path / "made", CONTENT).read_bytes()
    rows = sorted(f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in CONTENT.items())
    size, sha256 = sum(map(len, CONTENT.values())), hashlib.sha256("".join(rows).encode()).hexdigest()
    item = replace(made(), files=(KnownFile("mine.zip", size, sha256, (f"{site.address}/all.zip",), "(.*)"),))
    (path,) = get(item, tmp_path / "data", quiet)
    assert path.read_bytes() == site.content["all.zip"]
    assert status(item, tmp_path / "data", verify=True).state == "here"


# Networks


def test_what_was_cut_goes_on_where_it_was(site: Site, tmp_path: Path) -> None:
    site.cuts[LARGE] = [100_000, 50_000]
    get(made(site.address), tmp_path, quiet)
    assert site.began == ["", "", "bytes=100000-", "bytes=150000-"]
    assert (tmp_path / "toy" / LARGE).read_bytes() == CONTENT[LARGE]


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def interrupted_at(size: int) -> Report:
    """A report that is broken off when so much has arrived."""
    return lambda path, done, total: interrupt() if done >= size else None


def test_ctrl_c_loses_nothing(site: Site, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        get(made(site.address), tmp_path, interrupted_at(100_000))
    assert tree(tmp_path) == {"toy/a.txt"}
    (partial,) = partials(tmp_path)
    size = partial.stat().st_size
    assert 0 < size < SIZE
    get(made(site.address), tmp_path, quiet)
    assert site.began[-1] == f"bytes={size}-"
    assert (tmp_path / "toy" / LARGE).read_bytes() == CONTENT[LARGE]


def test_an_archive_outlives_ctrl_c(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.content["all.zip"] = zipped(tmp_path / "made", CONTENT).read_bytes()
    files = tuple(known_file(path, text, f"{site.address}/all.zip#{path}") for path, text in CONTENT.items())
    with monkeypatch.context() as patch:
        patch.setattr(fetching, "_written", interrupt)
        with pytest.raises(KeyboardInterrupt):
            get(replace(made(), files=files), tmp_path / "data", quiet)
    get(replace(made(), files=files), tmp_path / "data", quiet)
    assert site.began == ["", f"bytes={len(site.content['all.zip'])}-"]  # to which the answer is that this is all
    assert tree(tmp_path / "data") == {f"toy/{path}" for path in CONTENT}


def test_a_damaged_archive_is_downloaded_again(site: Site, tmp_path: Path) -> None:
    site.content["all.zip"] = zipped(tmp_path / "made", CONTENT).read_bytes()
    item = replace(made(), files=(known_file("a.txt", CONTENT["a.txt"], f"{site.address}/all.zip#a.txt"),))
    with pytest.raises(KeyboardInterrupt):
        get(item, tmp_path / "data", interrupted_at(1))
    (partial,) = partials(tmp_path)
    partial.write_bytes(bytes(len(site.content["all.zip"])))
    get(item, tmp_path / "data", quiet)
    assert tree(tmp_path / "data") == {"toy/a.txt"}
    assert partials(tmp_path) == []
    site.content["all.zip"] = b"<html>"
    refused(item, tmp_path / "other", "expected a zip or tar archive")
    assert partials(tmp_path) == []


@pytest.mark.parametrize("rest", [b"other" * 100, b"other" * SIZE], ids=["shorter", "longer"])
@pytest.mark.parametrize("ranges", [True, False])
def test_what_is_left_of_another_edition_is_not_used(site: Site, tmp_path: Path, rest: bytes, ranges: bool) -> None:
    site.ranges = ranges
    put(tmp_path, "a.txt")
    with pytest.raises(KeyboardInterrupt):
        get(made(site.address), tmp_path, interrupted_at(1))
    (partial,) = partials(tmp_path)
    partial.write_bytes(rest)
    get(made(site.address), tmp_path, quiet)
    assert (tmp_path / "toy" / LARGE).read_bytes() == CONTENT[LARGE]
    assert partials(tmp_path) == []


def test_a_server_without_ranges_sends_all_again(site: Site, tmp_path: Path) -> None:
    site.ranges, site.cuts[LARGE] = False, [100_000]
    get(made(site.address), tmp_path, quiet)
    assert (tmp_path / "toy" / LARGE).read_bytes() == CONTENT[LARGE]


def test_a_stalled_server_is_asked_again(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT", 0.1)
    site.stalls, site.cuts[LARGE] = True, [70_000]
    get(made(site.address), tmp_path, quiet)
    assert site.began[-1] == "bytes=70000-"
    site.cuts["a.txt"] = [3] * 10
    refused(made(site.address), tmp_path / "other", f"{site.address}/a.txt", "timed out")


@pytest.mark.parametrize("codes", [[503], [429, 500]])
def test_a_busy_server_is_asked_again(site: Site, tmp_path: Path, codes: list[int]) -> None:
    site.codes["a.txt"] = list(codes)
    get(made(site.address), tmp_path, quiet)
    assert site.asked == ["a.txt"] * (len(codes) + 1) + [LARGE]


def test_pauses_double(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(fetching, "PAUSE", 1.0)
    monkeypatch.setattr(time, "sleep", pauses.append)
    site.codes["a.txt"] = [503] * 3
    refused(made(site.address), tmp_path, "503")
    assert pauses == [1.0, 2.0]


@pytest.mark.parametrize("code", [403, 404, 410])
def test_what_the_server_refuses_is_not_asked_again(site: Site, tmp_path: Path, code: int) -> None:
    site.codes["a.txt"] = [code]
    refused(made(site.address), tmp_path, f"{site.address}/a.txt", f"({code} ")
    assert site.asked == ["a.txt"]
    assert partials(tmp_path) == []


def test_a_server_that_is_not_there_is_one_line(site: Site, tmp_path: Path) -> None:
    address = site.address
    site.shutdown()
    site.server_close()
    refused(made(address), tmp_path, address, "cannot be downloaded", "refused")


def test_a_redirect_is_followed_and_resumed(site: Site, tmp_path: Path) -> None:
    site.redirect, site.cuts[LARGE] = f"{site.address}/moved/", [1000]
    get(made(site.address), tmp_path, quiet)
    assert site.began[-1] == "bytes=1000-"
    assert status(made(), tmp_path, verify=True).state == "here"


@pytest.mark.parametrize(("kind", "why"), [("ftp", "unknown url type: ftp"), ("file", "not allowed")])
def test_a_redirect_leads_only_to_the_web(site: Site, tmp_path: Path, kind: str, why: str) -> None:
    (tmp_path / "a.txt").write_bytes(CONTENT["a.txt"])
    site.redirect = f"{kind}://127.0.0.1{tmp_path.as_posix()}/"
    refused(made(site.address), tmp_path, "cannot be downloaded", why)


def test_an_address_is_of_the_web(tmp_path: Path) -> None:
    put(tmp_path / "site", *CONTENT)
    refused(made((tmp_path / "site" / "toy").as_uri()), tmp_path, "expected an address of http or https, got 'file'")


# Contents


def test_another_content_is_refused(site: Site, tmp_path: Path) -> None:
    site.content["a.txt"] = b"ALL is here"
    refused(made(site.address), tmp_path, f"{site.address}/a.txt", "expected content of SHA-256", made().files[0].sha256)
    assert site.asked == ["a.txt"]
    assert partials(tmp_path) == []


def test_a_refused_download_leaves_what_was_there(site: Site, tmp_path: Path) -> None:
    put(tmp_path, LARGE)
    (tmp_path / "toy" / "a.txt").write_bytes(b"mine")
    site.content["a.txt"] = b"ALL is here"
    refused(made(site.address), tmp_path, "SHA-256")
    assert (tmp_path / "toy" / "a.txt").read_bytes() == b"mine"


@pytest.mark.parametrize("lengths", [True, False])
def test_too_few_and_too_many_bytes_are_refused(site: Site, tmp_path: Path, lengths: bool) -> None:
    site.lengths = lengths
    site.content["a.txt"] = b"all"
    refused(made(site.address), tmp_path, "SHA-256")
    site.content["a.txt"] = bytes(10_000_000)
    refused(made(site.address), tmp_path, "expected at most", "got more")
    assert partials(tmp_path) == []


# Mirrors


def test_the_next_address_is_tried(site: Site, tmp_path: Path) -> None:
    site.content["second/a.txt"] = CONTENT["a.txt"]
    site.content["first/a.txt"] = b"ALL is here"
    bases = ("first", "none", "second")
    files = (known_file("a.txt", CONTENT["a.txt"], *(f"{site.address}/{base}/a.txt" for base in bases)),)
    get(replace(made(), files=files), tmp_path, quiet)
    assert site.asked == [f"{base}/a.txt" for base in bases]
    assert tree(tmp_path) == {"toy/a.txt"}
    del site.content["second/a.txt"]
    refused(replace(made(), files=files), tmp_path / "other", "first/a.txt", "2 other addresses failed, too")
    two = (known_file("a.txt", CONTENT["a.txt"], *(f"{site.address}/{base}/a.txt" for base in bases[:2])),)
    refused(replace(made(), files=two), tmp_path / "third", "first/a.txt", "1 other address failed, too")


def test_a_host_that_is_down_is_asked_last(site: Site, tmp_path: Path) -> None:
    down = site.address.replace("127.0.0.1", "localhost")
    site.codes["a.txt"] = [503] * 3
    files = tuple(known_file(path, text, f"{down}/{path}", f"{site.address}/{path}") for path, text in CONTENT.items())
    get(replace(made(), files=files), tmp_path, quiet)
    assert site.asked == [*["a.txt"] * 4, LARGE]
    assert partials(tmp_path) == []


def test_a_mirror_is_asked_instead_of_all_addresses(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_MIRROR", f"{site.address}/copy/")
    for path, content in CONTENT.items():
        site.content[f"copy/example.org/{path}"] = content
    get(made("https://example.org"), tmp_path, quiet)
    assert site.asked == [f"copy/example.org/{path}" for path in CONTENT]
    monkeypatch.setenv("SACCADE_MIRROR", "/mnt/mirror")
    refused(made("https://example.org"), tmp_path / "other", "expected an address of http or https")


def test_the_proxy_of_the_environment_is_used(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", site.address)
    for path, content in CONTENT.items():
        site.content[f"http://example.org/{path}"] = content  # what a proxy is asked for
    get(made("http://example.org"), tmp_path, quiet)
    assert site.asked == [f"http://example.org/{path}" for path in CONTENT]


# Disks and processes


def test_a_place_that_cannot_be_written_is_one_line(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Exception, match="directory"):
        get(made(site.address), tmp_path / "file", quiet)


def test_a_full_disk_is_one_line(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        refused(made(site.address), tmp_path, "No space left on device", "free some space", "what has arrived is kept")
    assert len(partials(tmp_path)) == 1
    get(made(site.address), tmp_path, quiet)
    assert status(made(), tmp_path, verify=True).state == "here"


def test_two_at_once_download_once(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "TURN", 0.01)
    held, first = threading.Event(), threading.Event()

    def slow(path: str, done: int, total: int) -> None:
        held.set()
        first.wait(10)

    item = made(site.address)
    threads = [threading.Thread(target=get, args=(item, tmp_path, report)) for report in (slow, quiet)]
    threads[0].start()
    held.wait(10)
    threads[1].start()
    first.set()
    for thread in threads:
        thread.join()
    assert site.asked == list(CONTENT)
    assert tree(tmp_path) == {f"toy/{path}" for path in CONTENT}


def test_a_process_waits_for_another(site: Site, tmp_path: Path) -> None:
    script = (
        "import sys, hashlib, pathlib; from saccade.data import fetching, known\n"
        "item = known.Known('toy', '', '', '', (known.KnownFile('a.txt', int(sys.argv[3]), sys.argv[4], (sys.argv[2],)),))\n"
        "print(fetching.get(item, pathlib.Path(sys.argv[1]), lambda *report: None))"
    )
    file = made().files[0]
    words = [str(tmp_path), f"{site.address}/a.txt", str(file.bytes), file.sha256]
    with locked(tmp_path / "toy"):
        other = subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.0)
        assert site.asked == []
    out, _ = other.communicate(timeout=30)
    assert "a.txt" in out
    assert (tmp_path / "toy" / "a.txt").read_bytes() == CONTENT["a.txt"]


# The real files


def published(item: Known, directory: Path, scratch: Path) -> dict[str, bytes]:
    """What the last address of each file offers, made from the files that are here: gzipped, or members of an archive."""
    found: dict[str, bytes] = {}
    archives: dict[str, dict[str, bytes]] = {}
    for file in (file for file in item.files if file.addresses):
        url, _, member = fetching.below(file.addresses[-1]).partition("#")
        path = present(item, file, directory)
        assert path is not None
        packed, wanted = path.name != Path(file.path).name, url.endswith(".gz") and not (member or file.members)
        content = path.read_bytes() if packed == wanted or file.members else gzip.decompress(path.read_bytes())
        if member:
            archives.setdefault(url, {})[member] = content
        else:
            found[url] = content
    for number, (url, members) in enumerate(archives.items()):
        path = scratch / str(number)
        found[url] = (zipped(path, members) if url.startswith("pip/") else tarred(path, members, "w")).read_bytes()
    return found


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_arrives(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    item = lookup(name)
    if status(item, Path(STAGED or "")).state != "here":
        pytest.skip(f"{name} is not in SACCADE_DATA")
    monkeypatch.setenv("SACCADE_MIRROR", site.address)
    site.content = published(item, Path(STAGED or ""), tmp_path)
    get(item, tmp_path / "data", quiet)
    offered = replace(item, files=tuple(file for file in item.files if file.addresses))
    assert status(offered, tmp_path / "data").state == "here"
    assert partials(tmp_path) == []
