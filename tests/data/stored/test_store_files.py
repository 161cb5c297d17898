"""A long text that is written block by block is stored like an example that has it whole."""

from pathlib import Path

import pytest

from saccade.data.examples import Example
from saccade.data.stored import store_files
from saccade.data.stored.store_files import INPUT, TARGET, LongText, write
from saccade.data.stored.stored_examples import Store, StoredExamples


def stored(folder: Path, examples: list[Example | LongText], key: int) -> StoredExamples:
    folder.mkdir()
    write(folder, examples, [], [], key)
    return StoredExamples(Store(folder))


@pytest.mark.parametrize("together", [1, 2, 100])
def test_in_blocks_is_as_whole(together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_files, "TOGETHER", together)
    wholes = [Example("", text, files=("my 3",)) for text in ("a\0bc", "", "\0", "a\0bc")]
    parts = [LongText([one.target[:1].encode(), one.target[1:].encode()], one.files) for one in wholes]
    whole, blocks = stored(tmp_path / "whole", [*wholes], TARGET), stored(tmp_path / "blocks", [*parts], TARGET)
    assert list(whole) == list(blocks) == wholes
    assert [one.where() for one in blocks] == ["my 3"] * 4
    assert whole.fingerprint == blocks.fingerprint
    assert whole.store.hashes.tolist() == blocks.store.hashes.tolist()
    assert len({*whole.store.hashes.tolist()}) == 3
    assert len({*stored(tmp_path / "inputs", [*wholes], INPUT).store.hashes.tolist()}) == 1
    assert list(whole.keys) == ["a\0bc", "", "\0", "a\0bc"]
