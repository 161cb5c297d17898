"""The table of defects fits the source, and the command that tries them tells what is caught from what is not."""

import json
from pathlib import Path

import pytest

from . import __main__ as command
from .table import REPOSITORY, Defect, defects, stale
from .trial import Trial

LEAST = 100  # entries
ROOMS = {path.name for path in (REPOSITORY / "src" / "saccade").iterdir() if (path / "__init__.py").is_file()}
CHEAP = "config/default-lost"

pytestmark = pytest.mark.skipif(not (REPOSITORY / "scripts").exists(), reason="installed without the repository")


def entry(**keys: str) -> Defect:
    given = {"room": "config", "name": "a", "file": "config.py", "old": "C = TypeVar", "new": "D = TypeVar"}
    return Defect(**{**given, "test": "tests/test_config.py", "means": "x", **keys})


def trial(verdict: str, survives: str = "") -> Trial:
    return Trial(entry(survives=survives), verdict, 1.0, "told")  # type: ignore[arg-type]


def test_every_defect_can_be_put_into_the_source() -> None:
    assert stale(defects()) == []


def test_there_are_defects_of_every_room() -> None:
    found = defects()
    assert len(found) >= LEAST
    assert len({one.title for one in found}) == len(found)
    assert {one.room for one in found} >= ROOMS - {"recipes"}  # which hold no numbers
    assert all(one.file.startswith(one.room) and one.old != one.new for one in found)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"old": "nowhere to be found"}, "config/a: expected 'nowhere to be found' once in config.py, got it 0 times"),
        ({"old": "def "}, "config/a: expected 'def ' once in config.py, got it "),
        ({"file": "gone.py"}, "config/a: expected 'C = TypeVar' once in gone.py, got it 0 times"),
        ({"test": "tests/test_gone.py::test_a"}, "config/a: expected a test file, got tests/test_gone.py::test_a"),
        ({"test": "tests/test_config.py::test_gone"}, "config/a: expected a test of tests/test_config.py, got test_gone"),
        ({"new": "C = = TypeVar"}, "config/a: expected Python, got invalid syntax"),
    ],
)
def test_an_entry_that_does_not_fit_is_told_by_its_name(keys: dict[str, str], told: str) -> None:
    (line,) = stale([entry(**keys)])
    assert line.startswith(told)
    assert line.endswith("mend the entry")
    assert stale([entry()]) == []


def test_a_defect_is_caught_in_a_copy_and_the_source_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    source = REPOSITORY / "src" / "saccade" / "config.py"
    before = source.read_bytes(), source.stat().st_mtime_ns
    assert command.main(["--only", CHEAP, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["caught"], told["all"]) == (1, 1)
    assert [(row["name"], row["verdict"]) for row in told["defects"]] == [(CHEAP, "caught")]
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before


def test_what_survives_is_listed_with_its_reason() -> None:
    told = command.report([trial("caught"), trial("survived", "it is the same number"), trial("no verdict")], 90)
    assert "survived: config/a (tests/test_config.py)\n  x\n  it is the same number" in told
    assert "no verdict: config/a" in told
    assert "no reason is given" in told
    assert told.endswith("1 of 3 caught (33.3%) in 1.5 minutes")


def test_it_fails_where_too_little_is_caught_or_a_survivor_is() -> None:
    assert command.wrong([trial("caught")] * 19 + [trial("survived")]) == []
    assert command.wrong([trial("caught")] * 18 + [trial("survived")]) == [
        "expected at least 95% caught, got 18 of 19; strengthen the tests"
    ]
    assert command.wrong([trial("caught", "a reason")]) == ["config/a: caught, though it is said to survive; mend the entry"]


def test_some_are_chosen_by_name_or_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "kernels/*", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len([one for one in defects() if one.room == "kernels"])
    assert command.main(["--only", "masks.py", "--list"]) == 0
    assert "causal-sees-the-next" in capsys.readouterr().out
    assert command.main(["--only", "no such defect"]) == 2
    assert command.main(["--jobs", "0"]) == 2


def test_an_unknown_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[[defect]]\nname = "a"\nfil = "config.py"\n')
    with pytest.raises(Exception, match=r"'fil'.*did you mean 'file'"):
        defects(tmp_path)
