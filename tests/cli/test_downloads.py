"""Data from the command line: got when asked for, offered when a training lacks it, and nothing without a word."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from saccade.cli import downloads
from saccade.data import fetching, known
from saccade.data.known import Known
from tests.data.test_known import known_file
from tests.site import Site, serving

from .commands import here

pytestmark = pytest.mark.usefixtures("put_back")
TEXT = "".join(f"to be or not to be, that is question {number}\n" for number in range(400)).encode()
TRAIN = (
    "train gpt-shakespeare -o run model.num_layers=1 model.num_heads=1 model.hidden_size=8 writer.context_length=8"
    " train.steps=1 train.batch_size=2 train.threads=1"
)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    """A site that has the text, and an empty data directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("SACCADE_MIRROR", raising=False)
    monkeypatch.setattr(fetching, "PAUSE", 0.0)
    with serving({"input.txt": TEXT}) as server:
        files = (known_file("input.txt", TEXT, f"{server.address}/input.txt"),)
        item = Known("tinyshakespeare", "A text", "public domain", "https://example.org/text", files)
        by_hand = Known("scan", "Commands", "BSD", "https://example.org/scan", (known_file("a", b"a"),), note="shrunk")
        half = Known("mil", "Bags", "own terms", "", (*files, *by_hand.files), note="the rest was converted")
        monkeypatch.setattr(known, "_read", lambda: {each.name: each for each in (item, by_hand, half)})
        yield server


def answered(monkeypatch: pytest.MonkeyPatch, answer: bool) -> list[str]:
    """Somebody at a terminal who says this to every question."""
    questions: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        questions.append(question)
        return answer

    monkeypatch.setattr(downloads, "sys", SimpleNamespace(stdin=_Terminal(), stderr=sys.stderr))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "confirm", confirm)
    return questions


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_get_names_the_licence_once_and_the_files(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    site.cuts["input.txt"] = [100] * fetching.TRIES
    cut = here("data get tinyshakespeare", capsys)
    assert (cut.code, cut.err.splitlines()[0]) == (3, "licence of tinyshakespeare: public domain (https://example.org/text)")
    answer = here("data get tinyshakespeare", capsys)
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'data' / 'tinyshakespeare' / 'input.txt'}\n")
    assert answer.err == ""
    again = here("data get tinyshakespeare", capsys)
    assert (again.code, again.err) == (0, "")
    assert "nothing to download" in again.out
    assert site.began == ["", "bytes=100-", "bytes=200-", "bytes=300-"]


@pytest.mark.usefixtures("site")
def test_what_has_no_public_address_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = here("data get scan", capsys)
    where = tmp_path / "data" / "scan"
    line = f"scan: no public address: take a from https://example.org/scan (shrunk) and put it into {where}"
    assert (answer.code, answer.out, answer.err) == (3, "", f"saccade: {line}\n")
    part = here("data get mil", capsys)  # the rest of it is got
    assert part.code == 0
    assert part.out.endswith("input.txt\n")
    assert part.err.splitlines()[1].startswith("mil: no public address: take a from its authors")


def test_a_failed_download_is_one_line(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.content.clear()
    answer = here("data get tinyshakespeare", capsys)
    assert (answer.code, answer.out) == (3, "")
    line = answer.err.splitlines()[-1]
    assert "404" in line
    folder = known.data_directory() / "tinyshakespeare"
    assert line.endswith(
        f"; or put input.txt into {folder} by hand, plain or gzipped; --data-dir or SACCADE_DATA names another directory"
    )


def test_training_without_data_names_the_command(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = here(TRAIN, capsys)
    assert (answer.code, site.asked) == (3, [])
    assert answer.err.count("\n") == 1
    assert "run `saccade data get tinyshakespeare`" in answer.err
    assert "; --yes downloads it on the way" in answer.err
    assert not (tmp_path / "run").exists()


def test_yes_gets_the_data_and_trains(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = here(f"{TRAIN} --yes", capsys)
    assert (answer.code, site.asked) == (0, ["input.txt"])
    assert "licence of tinyshakespeare: public domain" in answer.err
    assert (tmp_path / "run" / "config.toml").exists()


@pytest.mark.parametrize("agreed", [True, False])
def test_a_terminal_is_asked(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, agreed: bool
) -> None:
    questions = answered(monkeypatch, agreed)
    answer = here(TRAIN, capsys)
    assert questions == [f"tinyshakespeare is not in {tmp_path / 'data'}: download it (16.3 kB unpacked)?"]
    assert (answer.code, site.asked) == ((0, ["input.txt"]) if agreed else (3, []))
    assert answer.err.count("licence of tinyshakespeare: public domain") == 1


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_who_wants_no_talk_is_not_asked(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    questions = answered(monkeypatch, True)
    assert here(f"{TRAIN} {option}", capsys).code == 3
    assert (questions, site.asked) == ([], [])
