"""Of stored examples the same ones are held out as of a list, however many are equal."""

import random
from pathlib import Path

import pytest

from saccade.data import hold_out
from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits
from saccade.data.stored import held_back, store_files
from saccade.data.stored.stored_examples import Store, StoredExamples

from .stores import everything_is_large


def stored(folder: Path, examples: list[Example]) -> StoredExamples:
    folder.mkdir()
    store_files.write(folder, examples, [], [])
    return StoredExamples(Store(folder))


def pairs(count: int, inputs: int, seed: int = 0) -> list[Example]:
    chance = random.Random(seed)
    return [Example(f"input {chance.randrange(inputs)}", f"target {n}", files=("a",), number=n) for n in range(count)]


@pytest.mark.parametrize(
    ("count", "inputs", "share"),
    [
        (300, 10**6, 0.05),
        (300, 250, 0.1),
        (300, 40, 0.1),
        (300, 5, 0.1),
        (30, 2, 0.1),
        (30, 1, 0.1),
        (40, 30, 0.9),
        (2, 9, 0.5),
    ],
)
def test_the_same_examples_are_held_out(
    count: int, inputs: int, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    monkeypatch.setattr(held_back, "ROUNDS", 1.01)  # first looks at about as many as are wanted
    examples = pairs(count, inputs)
    expected = hold_out.hold_out(examples, share, lambda one: one.input.encode())
    for _ in range(2):
        train, valid = held_back.held_back(stored(tmp_path / f"store{_}", examples), share)
        assert (list(train), list(valid)) == expected
        assert Splits(train, valid, []).fingerprint() == Splits(*expected, []).fingerprint()


def test_nothing_is_held_out_where_nothing_is_asked_for(tmp_path: Path) -> None:
    examples = stored(tmp_path / "store", pairs(9, 9))
    train, valid = held_back.held_back(examples, 0.0)
    assert (len(train), len(valid)) == (9, 0)


def test_all_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything_is_large(monkeypatch, tmp_path / "cache")
    examples = stored(tmp_path / "store", pairs(2000, 10**6))
    looked: list[int] = []
    below = held_back._below

    def counted(examples: StoredExamples, share: float) -> Integers:
        rows = below(examples, share)
        looked.append(len(rows))
        return rows

    monkeypatch.setattr(held_back, "_below", counted)
    assert len(held_back.chosen(examples, 20)) == 20
    assert sum(looked) < 400
