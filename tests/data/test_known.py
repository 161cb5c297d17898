"""The data sets that saccade knows: the list is sound, what is here is told truly, what is fetched is whole or absent."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from saccade.data import known as module
from saccade.data.known import Known, KnownFile, cache, data_directory, find, get, known, lookup, status, table
from saccade.errors import DataError, UnknownName, UsageError

STAGED = os.environ.get("SACCADE_DATA")
SMALL = 5_000_000
CONTENT = {"a.txt": b"all is here", "deep/b.bin": bytes(range(256)) * 1000}


def quiet(path: str, done: int, total: int) -> None:
    """Reports nothing."""


def known_file(path: str, content: bytes, url: str = "") -> KnownFile:
    return KnownFile(path, len(content), hashlib.sha256(content).hexdigest(), url)


def made(site: str = "") -> Known:
    """A data set of two files, at this site or at none."""
    files = tuple(known_file(path, content, site and f"{site}/{path}") for path, content in CONTENT.items())
    return Known("toy", "Two files", "MIT", "https://example.org/toy", files)


def put(directory: Path, *paths: str) -> None:
    for path in paths:
        target = directory / "toy" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(CONTENT[path])


def tree(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def one_line(error: pytest.ExceptionInfo[DataError]) -> str:
    text = str(error.value)
    assert text
    assert text.isprintable()  # no line break in it
    return text


class Site(ThreadingHTTPServer):
    """A server on this machine that counts what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.content = dict(CONTENT)
        self.announced: dict[str, int] = {}
        self.redirect = ""
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        self.server.asked.append(path)
        if path not in self.server.content:
            self.send_error(404)
        elif self.server.redirect:
            self.send_response(302)
            self.send_header("Location", self.server.redirect)
            self.end_headers()
        else:
            content = self.server.content[path]
            self.send_response(200)
            self.send_header("Content-Length", str(self.server.announced.get(path, len(content))))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # whoever has had enough hangs up
                self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


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
            assert not file.url or file.url.startswith(("http://", "https://"))
            assert module.place(item, file, Path("data")).is_relative_to(Path("data") / name)


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
    assert get(lookup("dates"), tmp_path, quiet) == []
    assert tree(tmp_path) == set()
    with pytest.raises(UsageError, match="generated"):
        find("dates", "train.tsv", tmp_path)


def test_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'multi30k'"):
        lookup("multi30")


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


def test_a_directory_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "toy" / "a.txt").mkdir(parents=True)
    assert "a.txt" in status(made(), tmp_path).missing


def test_find_gives_the_path_or_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        find("mnist", "t10k-labels-idx1-ubyte.gz", tmp_path)
    text = one_line(error)
    assert text.startswith(f"mnist/t10k-labels-idx1-ubyte.gz is missing in {tmp_path}")
    assert lookup("mnist").address in text
    assert "SACCADE_DATA" in text
    path = tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path.parent.mkdir()
    path.write_bytes(b"whatever")
    assert find("mnist", "t10k-labels-idx1-ubyte.gz", tmp_path) == path


def test_find_looks_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        find("scan", "LICENSE")


def test_find_names_the_command_where_it_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_read", lambda: {"toy": made("https://example.org")})
    with pytest.raises(DataError, match="`saccade data get toy`"):
        find("toy", "a.txt", tmp_path)


@pytest.mark.parametrize("path", ["t10k", "../mnist/t10k-labels-idx1-ubyte.gz", "/etc/hosts"])
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
        "size": "11.4 MB",
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


# Fetching


def test_get_fetches_what_is_missing(site: Site, tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    paths = get(made(site.address), tmp_path, lambda *report: reports.append(report))
    assert paths == [tmp_path / "toy" / path for path in CONTENT]
    assert tree(tmp_path) == {f"toy/{path}" for path in CONTENT}
    assert status(made(), tmp_path, verify=True).state == "here"
    size = len(CONTENT["deep/b.bin"])
    progress = [done for path, done, total in reports if path == "deep/b.bin" and total == size]
    assert progress == sorted(progress)
    assert len(progress) > 1
    assert progress[-1] == size


def test_get_leaves_good_files_alone(site: Site, tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    before = (tmp_path / "toy" / "a.txt").stat()
    assert get(made(site.address), tmp_path, quiet) == [tmp_path / "toy" / "deep" / "b.bin"]
    assert site.asked == ["deep/b.bin"]
    after = (tmp_path / "toy" / "a.txt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert get(made(site.address), tmp_path, quiet) == []
    assert site.asked == ["deep/b.bin"]


def test_get_replaces_damaged_files(site: Site, tmp_path: Path) -> None:
    put(tmp_path, *CONTENT)
    (tmp_path / "toy" / "a.txt").write_bytes(b"ALL is here")
    assert get(made(site.address), tmp_path, quiet) == [tmp_path / "toy" / "a.txt"]
    assert (tmp_path / "toy" / "a.txt").read_bytes() == CONTENT["a.txt"]


def refused(item: Known, directory: Path, *what: str) -> None:
    """Fetching fails in one line that has these words, and leaves no file behind."""
    before = tree(directory)
    with pytest.raises(DataError) as error:
        get(item, directory, quiet)
    text = one_line(error)
    assert all(each in text for each in what), text
    assert tree(directory) == before


def test_another_checksum_is_refused(site: Site, tmp_path: Path) -> None:
    site.content["a.txt"] = b"ALL is here"
    refused(made(site.address), tmp_path, f"{site.address}/a.txt", "expected SHA-256", made().files[0].sha256)


def test_a_refused_download_leaves_what_was_there(site: Site, tmp_path: Path) -> None:
    put(tmp_path, "deep/b.bin")
    (tmp_path / "toy" / "a.txt").write_bytes(b"mine")
    site.content["a.txt"] = b"ALL is here"
    refused(made(site.address), tmp_path, "SHA-256")
    assert (tmp_path / "toy" / "a.txt").read_bytes() == b"mine"


def test_what_the_server_lacks_is_named(site: Site, tmp_path: Path) -> None:
    del site.content["a.txt"]
    refused(made(site.address), tmp_path, f"{site.address}/a.txt", "404")


def test_a_body_cut_short_is_refused(site: Site, tmp_path: Path) -> None:
    site.content["a.txt"] = b"all is"
    site.announced["a.txt"] = len(CONTENT["a.txt"])
    refused(made(site.address), tmp_path, f"{site.address}/a.txt")


def test_too_few_and_too_many_bytes_are_refused(site: Site, tmp_path: Path) -> None:
    site.content["a.txt"] = b"all"
    refused(made(site.address), tmp_path, "expected 11 bytes, got 3")
    site.content["a.txt"] = bytes(10_000_000)
    refused(made(site.address), tmp_path, "expected 11 bytes, got more")


def test_a_server_that_is_not_there_is_one_line(site: Site, tmp_path: Path) -> None:
    address = site.address
    site.shutdown()
    site.server_close()
    refused(made(address), tmp_path, address, "cannot be downloaded", "refused")


def test_a_silent_server_is_given_up(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.1)
    wake = threading.Event()
    monkeypatch.setattr(Answer, "do_GET", lambda self: wake.wait(10))
    refused(made(site.address), tmp_path, "timed out")
    wake.set()


@pytest.mark.parametrize(("kind", "why"), [("ftp", "unknown url type: ftp"), ("file", "not allowed")])
def test_a_redirect_leads_only_to_the_web(site: Site, tmp_path: Path, kind: str, why: str) -> None:
    (tmp_path / "a.txt").write_bytes(CONTENT["a.txt"])
    site.redirect = f"{kind}://127.0.0.1{tmp_path.as_posix()}/a.txt"
    refused(made(site.address), tmp_path, "cannot be downloaded", why)


def test_files_of_this_machine_only_when_asked_for(tmp_path: Path) -> None:
    put(tmp_path / "site", *CONTENT)
    item = made((tmp_path / "site" / "toy").as_uri())
    refused(item, tmp_path, "expected an address of http or https, got 'file'")
    assert len(get(item, tmp_path, quiet, schemes=("file",))) == 2
    assert status(item, tmp_path, verify=True).state == "here"


def test_an_interruption_leaves_nothing_half_done(site: Site, tmp_path: Path) -> None:
    def interrupt(path: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(made(site.address), tmp_path, interrupt)
    assert tree(tmp_path) == set()


def test_a_place_that_cannot_be_written_is_one_line(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    refused(made(site.address), tmp_path / "file", "cannot be written", "--data-dir")


def test_where_no_file_is_offered_the_page_is_named(tmp_path: Path) -> None:
    refused(made(), tmp_path, "toy: 2 of 2 files", "download it from https://example.org/toy", f"into {tmp_path / 'toy'}")
    put(tmp_path, "a.txt")
    refused(made(), tmp_path, "1 of 2 files", "put deep/b.bin into")


def test_many_files_are_not_all_named(tmp_path: Path) -> None:
    refused(lookup("babi"), tmp_path, "82 of 82 files", "and 79 more into")


def test_what_is_offered_is_fetched_even_if_the_rest_is_not(site: Site, tmp_path: Path) -> None:
    offered, by_hand = made(site.address).files[0], made().files[1]
    item = Known("toy", "Two files", "MIT", "", (offered, by_hand))
    with pytest.raises(DataError, match=r"no official address is known.*put deep/b\.bin into"):
        get(item, tmp_path, quiet)
    assert tree(tmp_path) == {"toy/a.txt"}


@pytest.mark.parametrize(
    "path", ["../a.txt", "/a.txt", "x/../../a.txt", "..\\a.txt", "C:a.txt", "x//a.txt", "", "a\nb", "."]
)
def test_a_path_that_leads_out_is_refused(site: Site, tmp_path: Path, path: str) -> None:
    item = Known("toy", "", "MIT", "", (known_file(path, CONTENT["a.txt"], f"{site.address}/a.txt"),))
    refused(item, tmp_path / "data", "may lead out")
    assert site.asked == []
    assert tree(tmp_path) == set()
    with pytest.raises(DataError, match="may lead out"):
        status(item, tmp_path)


# The real files


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize("name", [name for name, item in known().items() if not item.generated])
def test_real_files_are_what_the_list_says(name: str) -> None:
    item, directory = lookup(name), Path(STAGED or "")
    if status(item, directory).state == "missing":
        pytest.skip(f"{name} is not in SACCADE_DATA")
    assert status(item, directory) == module.Status("here")
    small = Known(name, "", "", "", tuple(file for file in item.files if file.bytes < SMALL))
    assert status(small, directory, verify=True) == module.Status("here")
