"""Damaged checkpoints are found before a number of them is used, whatever was done to which file."""

import hashlib
import json
import os
import random
import resource
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import DataError
from saccade.training.checkpoints import strict_json
from saccade.training.checkpoints.names import pointer_text
from saccade.training.checkpoints.store import Checkpoints
from tests.training.checkpoints.saves import is_whole, save, scratch

FILES = ["model.safetensors", "optimizer.safetensors", "random.safetensors", "state.json", "MANIFEST.json"]
NEWEST, EARLIER = "step-00000003", "step-00000002"
Mutation = tuple[str, Callable[[Path], object]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Steps 1, 2 (the best) and 3."""
    run = tmp_path_factory.mktemp("original") / "run"
    for step in (1, 2, 3):
        save(Checkpoints(run), step, best=step == 2)
    return run


@pytest.fixture
def copy(original: Path) -> Iterator[Path]:
    """The run once more, to be damaged."""
    with scratch() as folder:
        yield shutil.copytree(original, folder / "run")


@pytest.fixture(scope="module", autouse=True)
def memory() -> Iterator[None]:
    """No mutation makes the tests need much memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 100e6


def rewritten(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return mutate


def changed_bytes(size: int, draw: random.Random) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    """Ways in which the bytes of a file go wrong; some may by chance leave it as it was."""
    for k in {0, 1, 7, 8, 9, size // 2, size - 2, size - 1, *(draw.randrange(size) for _ in range(25))}:
        yield f"cut at {k}", lambda data, k=k: data[:k]  # type: ignore[misc]
    for _ in range(80):
        k, bit = draw.randrange(size), draw.randrange(8)
        yield f"bit {bit} of {k}", lambda data, k=k, bit=bit: data[:k] + bytes([data[k] ^ 1 << bit]) + data[k + 1 :]  # type: ignore[misc]
    for k in range(0, size, 4096):
        yield f"zeros from {k}", lambda data, k=k: data[:k] + bytes(len(data[k : k + 4096])) + data[k + 4096 :]  # type: ignore[misc]
    for k in (draw.randrange(size) for _ in range(10)):
        yield f"byte lost at {k}", lambda data, k=k: data[:k] + data[k + 1 :]  # type: ignore[misc]
        yield f"byte more at {k}", lambda data, k=k: data[:k] + b" " + data[k:]  # type: ignore[misc]
        yield f"two bytes swapped at {k}", lambda data, k=k: data[:k] + data[k : k + 2][::-1] + data[k + 2 :]  # type: ignore[misc]
    yield "more at the end", lambda data: data + b"\n"
    yield "other bytes", lambda data: draw.randbytes(len(data))
    yield "twice", lambda data: data + data
    yield "huge header", lambda data: (2**63 - 1).to_bytes(8, "little") + data[8:]
    yield "header one too long", lambda data: (len(data) - 7).to_bytes(8, "little") + data[8:]
    yield "deep JSON", lambda _: b"[" * 100_000 + b"]" * 100_000
    yield "keys twice", lambda _: b'{"step": 3, "step": 2}'


def other_kinds(name: str) -> Iterator[Mutation]:
    """Ways in which a file is no longer a file of this name."""

    def becomes(make: Callable[[Path], object]) -> Callable[[Path], None]:
        def mutate(folder: Path) -> None:
            (folder / name).replace(folder.parent.parent / "taken")
            make(folder / name)

        return mutate

    yield f"{name} deleted", becomes(lambda _: None)
    yield f"{name} a directory", becomes(lambda path: path.mkdir())
    yield f"{name} a link", becomes(lambda path: path.symlink_to(path.parent.parent.parent / "taken"))
    yield f"{name} a link to nothing", becomes(lambda path: path.symlink_to("nothing"))
    yield f"{name} a pipe", becomes(lambda path: os.mkfifo(path))
    yield f"{name} of 4 TB", lambda folder: os.truncate(folder / name, 2**42)
    yield f"{name} renamed", lambda folder: (folder / name).rename(folder / f"{name}.bak")


def exchange(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def mixed_up() -> Iterator[Mutation]:
    """Files in the place of others, and files that do not belong there."""
    for one, other in combinations(FILES, 2):
        yield f"{one} and {other} exchanged", lambda f, a=one, b=other: exchange(f / a, f / b)  # type: ignore[misc]
        yield f"{one} copied to {other}", lambda f, a=one, b=other: shutil.copy(f / a, f / b)  # type: ignore[misc]
    for count in range(1, len(FILES) + 1):
        for names in combinations(FILES, count):

            def earlier(folder: Path, names: tuple[str, ...] = names) -> None:
                for name in names:
                    shutil.copy(folder.parent / EARLIER / name, folder / name)

            yield f"{names} of an earlier step", earlier
    for name in ("model.safetensors.tmp", ".hidden", "model2.safetensors", "weights.bin"):
        yield f"{name} more", lambda folder, name=name: (folder / name).write_bytes(b"")  # type: ignore[misc]
    yield "a directory more", lambda folder: (folder / "more").mkdir()
    yield "emptied", lambda folder: [file.replace(folder.parent.parent / "taken") for file in folder.iterdir()]


def is_same(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    if any((one / n).lstat().st_size != (other / n).stat().st_size for n in names):
        return False
    return all(stat.S_ISREG((one / n).lstat().st_mode) and (one / n).read_bytes() == (other / n).read_bytes() for n in names)


def complaint(checkpoints: Checkpoints, which: Any) -> str:
    with pytest.raises(DataError) as raised:
        checkpoints.load(which)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def apply(original: Path, run: Path, name: str, mutation: Mutation, target: str) -> bool:
    """Carry out a mutation on a copy and hold what `load` does against what it must do; whether it was damage."""
    title, mutate = mutation
    folder, before = run / "checkpoints" / target, original / "checkpoints" / target
    mutate(folder)
    damaged = not is_same(folder, before)
    step = int(target[5:])
    checkpoints = Checkpoints(run)
    found, where = checkpoints.load(), f"{name}: {title}"
    assert is_whole(found), where
    if damaged:
        assert target in complaint(checkpoints, step), where
        assert found.step == (2 if step == 3 else 3), where
        assert len(found.passed_over) == (step == 3), where
        assert all(target in line and "\n" not in line for line in found.passed_over), where
        assert step != 2 or target in complaint(checkpoints, "best"), where
    else:
        assert (found.step, found.passed_over) == (3, []), where
    shutil.rmtree(folder)
    shutil.copytree(before, folder)
    return damaged


def mutations(original: Path, name: str, target: str) -> Iterator[Mutation]:
    size = (original / "checkpoints" / target / name).stat().st_size
    for title, change in changed_bytes(size, random.Random(f"{name} {target}")):
        yield title, rewritten(name, change)
    yield from other_kinds(name)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("target", [NEWEST, EARLIER], ids=["last", "best"])
def test_every_file_every_way(original: Path, copy: Path, name: str, target: str) -> None:
    found = [apply(original, copy, name, mutation, target) for mutation in mutations(original, name, target)]
    assert len(found) > 150
    assert sum(found) > 140, "nearly all must be damage"


def test_files_mixed_up(original: Path, copy: Path) -> None:
    for mutation in mixed_up():
        assert apply(original, copy, "mixed up", mutation, NEWEST), mutation[0]


def test_directories_exchanged(copy: Path) -> None:
    checkpoints = Checkpoints(copy)
    exchange(checkpoints.folder / NEWEST, checkpoints.folder / EARLIER)
    found = checkpoints.load()
    assert (found.step, len(found.passed_over)) == (1, 2)
    assert "belongs to step 2" in complaint(checkpoints, 3)
    assert EARLIER in complaint(checkpoints, "best")


def test_nothing_whole(copy: Path) -> None:
    for file in copy.rglob("state.json"):
        file.write_text("{}")
    assert complaint(Checkpoints(copy), "last").startswith(f"no whole checkpoint in {copy}: ")


def test_newest_directory_is_gone(copy: Path) -> None:
    checkpoints = Checkpoints(copy)
    shutil.rmtree(checkpoints.folder / NEWEST)
    assert checkpoints.load().step == 2
    assert checkpoints.load().passed_over == [f"{checkpoints.folder / NEWEST} is missing"]
    shutil.rmtree(checkpoints.folder / EARLIER)
    assert "BEST names" in complaint(checkpoints, "best")
    (checkpoints.folder / NEWEST).touch()
    assert checkpoints.load().step == 1


@pytest.mark.parametrize("pointer", ["LAST", "BEST"])
def test_damaged_pointer(copy: Path, pointer: str) -> None:
    checkpoints = Checkpoints(copy)
    path = checkpoints.folder / pointer
    text = path.read_bytes()
    changes = list(changed_bytes(len(text), random.Random(pointer)))
    changes += [("wrong name", lambda data: data.replace(b"2", b"1").replace(b"3", b"1"))]
    changes += [("the other's", lambda _: (checkpoints.folder / {"LAST": "BEST"}.get(pointer, "LAST")).read_bytes())]
    changes += [("out of the run", lambda _: pointer_text(pointer, "../../run/checkpoints/step-00000001").encode())]
    for title, change in changes:
        path.write_bytes(change(text))
        found = checkpoints.load()
        assert (found.step, found.passed_over) == (3, []), title
        if pointer == "BEST" and path.read_bytes() != text:
            assert "BEST is damaged" in complaint(checkpoints, "best"), title
        else:
            assert checkpoints.load("best").step == 2, title
    path.unlink()
    assert (checkpoints.load().step, checkpoints.load("best").step) == (3, 2)


def resealed(folder: Path, name: str, data: bytes, **entries: Any) -> None:
    """Put bytes in the place of a file and make the manifest agree, as somebody who means harm would."""
    manifest = json.loads(strict_json.unseal((folder / "MANIFEST.json").read_bytes()))
    (folder / name).write_bytes(data)
    manifest["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    (folder / "MANIFEST.json").write_bytes(strict_json.seal(json.dumps(manifest | entries).encode()))


def header(table: Any, data: bytes = bytes(16)) -> bytes:
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    return len(text).to_bytes(8, "little") + text + data


def weight(**changes: Any) -> dict[str, Any]:
    return {"weight": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} | changes}


HOSTILE_TENSORS = [
    b"",
    b"\xff" * 8,
    b"\xff" * 64,
    header(b"[" * 100_000),
    header(b"{}" + b" " * 10)[:12],
    header(weight(shape=[5])),
    header(weight(shape=[2**62, 4])),
    header(weight(shape=[-4])),
    header(weight(data_offsets=[0, 2**40])),
    header(weight(data_offsets=[16, 0])),
    header(weight(data_offsets=[-16, 0])),
    header(weight(dtype="F128")),
    header(weight(dtype="object")),
    header(weight() | {"other": weight()["weight"]}),
    header(weight(), bytes(15)),
    header(weight(), bytes(17)),
    header([]),
    header({}, b""),
]
HOSTILE_STATES = [
    b"",
    b"[]",
    b"3",
    b"nan",
    b'{"a": NaN}',
    b'{"a": 1e999}',
    b'{"a": 1, "a": 2}',
    b'{"a": ' + b"9" * 5000 + b"}",
    b'{"a": ' + b"[" * 32 + b"]" * 32 + b"}",
    b'{"a":' * 50_000,
    b"\xff\xfe{}",
    b"cos\nsystem\n(S'touch here'\ntR.",
]


@pytest.mark.parametrize(
    ("name", "data"),
    [("model.safetensors", data) for data in HOSTILE_TENSORS] + [("state.json", data) for data in HOSTILE_STATES],
)
def test_hostile_file_that_its_manifest_vouches_for(copy: Path, name: str, data: bytes) -> None:
    checkpoints = Checkpoints(copy)
    resealed(checkpoints.folder / NEWEST, name, data)
    assert name in complaint(checkpoints, 3)
    found = checkpoints.load()
    assert (found.step, len(found.passed_over)) == (2, 1)


@pytest.mark.parametrize(
    "entries",
    [
        {"format": 2},
        {"step": 2},
        {"step": "3"},
        {"serial": None},
        {"files": []},
        {"files": {"../step-00000002/state.json": {"sha256": "", "size": 1}}},
        {"files": {}},
        {"aliases": {"model.safetensors": {"output": "nowhere"}}},
        {"aliases": {"model.safetensors": {"bias": "embedding"}}},
        {"more": 1},
    ],
    ids=str,
)
def test_hostile_manifest(copy: Path, entries: dict[str, Any]) -> None:
    checkpoints = Checkpoints(copy)
    folder = checkpoints.folder / NEWEST
    resealed(folder, "state.json", (folder / "state.json").read_bytes(), **entries)
    assert NEWEST in complaint(checkpoints, 3)
    assert checkpoints.load().step == 2


def test_saving_goes_on_beside_a_damaged_one(copy: Path) -> None:
    checkpoints = Checkpoints(copy, keep=1)
    (checkpoints.folder / NEWEST / "MANIFEST.json").write_text("")
    assert checkpoints.load().step == 2
    save(checkpoints, 2, variant=1)
    assert (checkpoints.load().step, checkpoints.load().passed_over, checkpoints.steps()) == (2, [], [2])
    save(checkpoints, 3, variant=1)
    assert is_whole(checkpoints.load())
    assert checkpoints.load().step == 3
