"""Sets of digits and their sums: right about themselves, the same from the same seed."""

from pathlib import Path

import pytest

from saccade.data.sets import digit_sums
from saccade.errors import UsageError
from tests import made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made.mnist(tmp_path)
    return tmp_path


def sums(items: str, seed: int = 0) -> digit_sums.Config:
    return digit_sums.Config(items=items, train_size=50, valid_size=9, test_size=4, test_sizes=(5, 30), seed=seed)  # type: ignore[arg-type]


def test_words_add_up() -> None:
    splits = digit_sums.load(sums("words"))
    for pair in [*splits.train, *splits.valid, *splits.test]:
        assert sum(map(int, pair.input.split())) == int(pair.target)
    assert {len(pair.input.split()) for pair in splits.train} <= set(range(1, 11))
    assert [pair.group for pair in splits.test] == ["size 5"] * 4 + ["size 30"] * 4
    assert all(f"size {len(pair.input.split())}" == pair.group for pair in splits.test)
    assert splits.fingerprint() == digit_sums.load(sums("words")).fingerprint()
    assert splits.fingerprint() != digit_sums.load(sums("words", seed=1)).fingerprint()


def test_pictures_add_up(place: Path) -> None:
    splits = digit_sums.load(sums("pictures"))
    for bag in [*splits.train, *splits.valid, *splits.test]:
        shown = (bag.input.items[:, 0, 0] * 255).round()  # made pictures are as bright as their digit
        assert shown.sum() == int(bag.target) == bag.input.marks.sum()
    assert [len(bag.input.items) for bag in splits.test] == [5] * 4 + [30] * 4
    assert [bag.name for bag in splits.test[:2]] == ["0", "1"]
    assert splits.fingerprint() == digit_sums.load(sums("pictures")).fingerprint()


def test_sizes_of_the_test_are_checked() -> None:
    with pytest.raises(UsageError, match="test_sizes"):
        digit_sums.Config(test_sizes=(0, 5))
