"""Nothing is renamed into its place before it is on the disk, and no name is relied on before its directory is."""

import os
from pathlib import Path
from typing import Any

import pytest

from saccade.durable_files import replacing
from saccade.errors import UsageError
from saccade.training.progress import Quiet
from saccade.training.train import train

from .training.runs import tiny

pytestmark = pytest.mark.usefixtures("put_back")
RUN = {"config.toml", "configs.jsonl", "env.json", "log.jsonl"}
WRITTEN = RUN | {"tokenizer.json", "target.tokenizer.json", "LAST", "BEST"}
CHECKPOINT = {"model.safetensors", "optimizer.safetensors", "random.safetensors", "state.json", "MANIFEST.json"}


class Recorded:
    """What was put on the disk, and what was renamed, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, Path, Path]] = []
        fsync, self.real = os.fsync, {name: getattr(os, name) for name in ("replace", "rename")}

        def sync(descriptor: int) -> None:
            path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
            fsync(descriptor)
            self.calls.append(("sync", path, path))

        monkeypatch.setattr(os, "fsync", sync)
        for name in self.real:
            monkeypatch.setattr(os, name, self.moved(name))

    def moved(self, name: str) -> Any:
        def move(source: Any, target: Any, **options: Any) -> None:
            goes = Path(target).name.startswith((".del-", ".old-"))
            for path in sorted(Path(source).rglob("*")) if Path(source).is_dir() and not goes else []:
                self.calls.append(("holds", Path(source).resolve(), path.resolve()))
            self.calls.append(("move", Path(source).resolve(), Path(target).absolute()))
            self.real[name](source, target, **options)

        return move


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("again", [False, True], ids=["new", "fresh"])
def test_every_file_is_on_the_disk_before_it_has_its_name(
    again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tiny("train.steps=4", "train.save_every=2", "train.valid_every=4")
    if again:
        train(tmp_path, settings, Quiet())
    with monkeypatch.context() as patch:
        recorded = Recorded(patch)
        train(tmp_path, settings, Quiet(), fresh=again)
    seen: set[Path] = set()
    unsynced: set[Path] = set()  # directories whose names have changed
    named: set[str] = set()
    for what, path, target in recorded.calls:
        if what == "sync":
            seen.add(path)
            unsynced.discard(path)
        elif what == "holds":
            assert target in seen or target.is_dir(), f"{target} was not on the disk when {path} was renamed"
            named.add(target.name)
        else:
            gone = target.name.startswith((".del-", ".old-"))
            whole = path.name in ("checkpoints", ".fresh")  # whose names were put on the disk one by one
            assert path in seen or gone or whole, f"{path} was not on the disk when it became {target}"
            named.add(target.name)
            unsynced.add(target.parent)
            seen |= {target / one.relative_to(path) for one in seen if one.is_relative_to(path)}
    assert named >= WRITTEN | CHECKPOINT
    assert unsynced == set(), "names that a power cut would take back"


def test_a_file_written_piece_by_piece_takes_its_place_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("no bytes")  # type: ignore[call-overload]
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"new ")
        assert path.read_bytes() == b"old"
        file.write(b"content")
    assert path.read_bytes() == b"new content"
    assert [one.name for one in tmp_path.iterdir()] == ["a.bin"]
    with pytest.raises(UsageError, match=r"nowhere/b: cannot be written"), replacing(tmp_path / "nowhere" / "b"):
        pass
