"""What is prepared is there whole or not at all, made once, and told of while it is made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from saccade.data.stored import preparations
from saccade.data.stored.preparations import followed, name_of, prepared, told_of_preparing
from saccade.errors import SaccadeError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"all")


def test_it_is_made_once(cache: Path) -> None:
    assert (prepared("one", write) / "a.bin").read_bytes() == b"all"
    assert prepared("one", lambda folder: pytest.fail("made again")) == cache / "one"


def test_what_fails_leaves_nothing_and_what_was_killed_is_made_anew(cache: Path) -> None:
    def fail(folder: Path) -> None:
        write(folder)
        raise SaccadeError("bad line")

    with pytest.raises(SaccadeError, match="bad line"):
        prepared("one", fail)
    assert not (cache / "one").exists()
    (cache / "one.making" / "new").mkdir(parents=True)
    (cache / "one.making" / "new" / "half.bin").write_bytes(b"half")
    assert [file.name for file in prepared("one", write).iterdir()] == ["a.bin"]


def test_a_full_disk_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(folder: Path) -> None:
        raise OSError(28, "No space left on device", str(folder / "a.bin"))

    with pytest.raises(SaccadeError, match=r"a\.bin: cannot be written \(No space left.*SACCADE_CACHE"):
        prepared("one", fail)
    with pytest.raises(SaccadeError, match=r"not enough space in .*SACCADE_CACHE"):
        preparations.require_room(1 << 62)


def test_of_two_processes_one_makes_it(cache: Path) -> None:
    script = (
        "import pathlib, sys, time\n"
        "from saccade.data.stored.preparations import prepared\n"
        "def make(folder):\n"
        "    time.sleep(0.5)\n"
        "    (folder / 'a.bin').write_bytes(b'')\n"
        "    print('made')\n"
        "print(prepared('one', make).is_dir())\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=60)[0].split() for process in both]
    assert sorted(told, key=len) == [["True"], ["made", "True"]]


def test_what_nobody_has_opened_for_long_is_removed(cache: Path) -> None:
    prepared("old", write)
    prepared("used", write)
    os.utime(cache / "old", (0, 0))
    os.utime(cache / "used", (0, 0))
    prepared("used", write)
    prepared("new", write)
    assert {place.name for place in cache.iterdir() if not place.name.endswith(".making")} == {"used", "new"}


def test_names_depend_on_every_fact() -> None:
    names = {name_of("a", 1, "x"), name_of("a", 1, "y"), name_of("a", 2, "x"), name_of("b", 1, "x")}
    assert len(names) == 4
    assert name_of("a", 1, "x") in names


def test_the_listener_hears_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparations, "OFTEN", 0.0)
    heard: list[tuple[str, int, int]] = []
    with told_of_preparing(lambda *told: heard.append(told)):
        assert list(followed("abc", "reading", 6, lambda item: 2)) == ["a", "b", "c"]
    assert heard == [("reading", 2, 6), ("reading", 4, 6), ("reading", 6, 6), ("reading", 6, 6)]
    list(followed("abc", "reading", 6))
    assert len(heard) == 4
