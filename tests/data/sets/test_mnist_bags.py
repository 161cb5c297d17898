"""Bags of digits, of which one digit makes a bag positive."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.sets import mnist_bags
from saccade.errors import UsageError
from tests import made


def test_bags_of_digits_follow_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.mnist(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    found = mnist_bags.load(mnist_bags.Config(bags=20, test_bags=6, size=4, spread=1))
    assert [bag.target for bag in found.test] == ["positive", "negative"] * 3
    for bag in (*found.train, *found.test):
        assert bag.input.marks is not None
        assert bool(bag.input.marks.any()) == (bag.target == "positive")
        shown = {
            round(float(items.max() * 255)) for items, mark in zip(bag.input.items, bag.input.marks, strict=True) if mark
        }
        assert shown <= {9}  # the made pictures are as bright as their digit
    again = mnist_bags.load(mnist_bags.Config(bags=20, test_bags=6, size=4, spread=1))
    other = mnist_bags.load(mnist_bags.Config(bags=20, test_bags=6, size=4, spread=1, seed=1))
    assert again.fingerprint() == found.fingerprint() != other.fingerprint()
    assert all(np.array_equal(a.input.items, b.input.items) for a, b in zip(found.test, other.test, strict=True))
    with pytest.raises(UsageError, match="digit"):
        mnist_bags.Config(digit=10)


@pytest.mark.parametrize("corpus", ["mnist", "fashion-mnist"])
def test_no_picture_is_both_learned_from_and_chosen_by(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(0)
    images, labels = dice.integers(0, 256, (300, 4, 4), np.uint8), np.arange(300) % 10
    monkeypatch.setattr(mnist_bags, "pictures", lambda name, part: (images, labels))
    found = mnist_bags.load(mnist_bags.Config(corpus=corpus, bags=60, valid_bags=60, test_bags=1))  # type: ignore[arg-type]
    shown = [{item.tobytes() for bag in part for item in bag.input.items} for part in (found.train, found.valid)]
    assert [len(part) for part in (found.train, found.valid)] == [60, 60]
    assert min(map(len, shown)) > 100
    assert not shown[0] & shown[1]
