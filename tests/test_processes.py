"""One process among several: alone it is the first of one; what others fail by is told, with their ranks."""

import json

import pytest
from torch._C._distributed_c10d import HashStore

from saccade import processes
from saccade.errors import DataError, SaccadeError
from saccade.processes import NotStarted, RankLost


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> HashStore:
    """This process as rank 1 of 3, which can leave messages."""
    shared = HashStore()
    for name, value in {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "3", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    for name, number in {"PATIENCE": 0.3, "HEARD": 0.0}.items():
        monkeypatch.setattr(processes, name, number)
    monkeypatch.setattr(processes, "_store", shared)
    return shared


@pytest.fixture
def connected(store: HashStore, monkeypatch: pytest.MonkeyPatch) -> HashStore:
    """The same, connected with the others."""
    monkeypatch.setattr(processes, "_connected", True)
    return store


def test_alone_everything_stays_as_it_is() -> None:
    assert (processes.launched(), processes.own(), processes.local(), processes.restarted()) == (1, 0, None, False)
    with processes.joined():
        processes.connect(1.0)
        processes.announce("run", "x")
        assert (processes.rank(), processes.size()) == (0, 1)
        assert processes.everyone("a") == ["a"]
        assert processes.total([1.5, 2.0]) == [1.5, 2.0]
        assert list(processes.share("abc")) == processes.whole("abc") == ["a", "b", "c"]
    error = RuntimeError("gloo: Connection closed by peer")
    assert processes.explained(error, 3) is error


def test_torchrun_says_which_one_it_is(store: HashStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (processes.launched(), processes.own(), processes.local(), processes.restarted()) == (3, 1, 1, False)
    assert (processes.rank(), processes.size()) == (0, 1)  # before it is connected
    monkeypatch.setattr(processes, "_connected", True)
    assert (processes.rank(), processes.size()) == (1, 3)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert processes.restarted()


@pytest.mark.parametrize("count", range(8))
def test_parts_make_the_whole_in_its_order(count: int, connected: HashStore, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []
    for rank in range(3):
        monkeypatch.setattr(processes, "rank", lambda rank=rank: rank)
        parts.append(processes.share(range(count)))
    monkeypatch.setattr(processes, "everyone", lambda own: parts)
    assert processes.whole(parts[1]) == list(range(count))


def test_who_does_not_answer_is_named(connected: HashStore) -> None:
    connected.set("living/7/0", "")
    found = processes.explained(RuntimeError("Connection closed by peer"), 7)
    assert isinstance(found, RankLost)
    assert str(found) == "rank 2 of 3 ended or did not answer at step 7"
    assert connected.check(["living/7/1"])
    own = ValueError("Connection closed by peer")
    assert processes.explained(own, 7) is own
    own_too = RuntimeError("size mismatch")
    assert processes.explained(own_too, 7) is own_too


def test_what_another_failed_by_is_told(connected: HashStore) -> None:
    connected.set("living/7/0", "")
    connected.set("failed/2", json.dumps(["out of memory", 1]))
    found = processes.explained(RuntimeError("gloo"), 7)
    assert str(found) == "rank 2 failed at step 7: out of memory"


def test_all_that_live_have_lost_touch(connected: HashStore) -> None:
    for rank in (0, 2):
        connected.set(f"living/7/{rank}", "")
    found = processes.explained(RuntimeError("Timed out waiting 8000ms\nmore"), 7)
    assert str(found) == "the processes lost touch with each other at step 7 (Timed out waiting 8000ms)"


@pytest.mark.parametrize(
    ("first", "agreed"),
    [
        ("no such key", True),
        ("rank 1 could not start: no such key", True),
        ("no", True),
        ("out of memory", False),
        ("", False),
    ],
)
def test_what_the_first_tells_others_do_not(first: str, agreed: bool, store: HashStore) -> None:
    if first:
        store.set("failed/0", json.dumps([first, 2]))
    error = SaccadeError("no such key")
    processes._tell(error)
    assert error.agreed == agreed
    assert json.loads(store.get("failed/1")) == json.loads(store.get("ready/1")) == ["no such key", 1]


def test_one_that_cannot_start_ends_all(store: HashStore) -> None:
    store.set("ready/0", "")
    store.set("ready/2", json.dumps(["the data is gone", 3]))
    with pytest.raises(NotStarted, match=r"^rank 2 could not start: the data is gone$") as error:
        processes.connect(1.0)
    assert error.value.exit_code == 3
    assert isinstance(error.value, DataError)


def test_who_waits_for_the_first_hears_that_it_failed(store: HashStore) -> None:
    store.set("run", "here")
    assert processes.awaited("run") == "here"
    store.set("failed/0", json.dumps(["no such key", 2]))
    with pytest.raises(NotStarted, match=r"^rank 0 could not start: no such key$") as error:
        processes.awaited("more")
    assert error.value.exit_code == 2
