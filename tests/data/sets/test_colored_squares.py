"""Made squares: what is asked about them is true, whatever the seed, and without seeing nobody knows."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from saccade.data.sets.colored_squares import COLORS, DIRECTIONS, SIDE, Config, load
from saccade.errors import UsageError

SMALL: dict[str, Any] = {"train_size": 30, "valid_size": 5, "test_size": 20}


def center(pixels: Any, color: str) -> Any:
    """The middle of a square, x before y."""
    rows, columns = np.nonzero((pixels == COLORS[color]).all(-1))
    assert len(rows) == SIDE**2, color
    return np.array([columns.mean(), rows.mean()])


@pytest.mark.parametrize("task", ["absolute", "relative"])
@pytest.mark.parametrize("others", [0, 4])
@pytest.mark.parametrize("seed", [0, 7])
def test_answers_are_true(task: Any, others: int, seed: int) -> None:
    splits = load(Config(task=task, others=others, seed=seed, **SMALL))
    assert [len(part) for _, part in splits.parts()] == [120, 20, 80]
    for one in splits.test:
        words, pixels = str(one.input).split(), one.input.picture.pixels
        behind = center(pixels, words[-3]) if task == "relative" else np.array([15.5, 15.5])
        step = center(pixels, words[3]) - behind
        forward = step @ np.array(DIRECTIONS[one.group])
        others_forward = [step @ np.array(way) for name, way in DIRECTIONS.items() if name != one.group]
        assert one.group in words
        assert (forward > max(others_forward)) == (one.target == "yes")
    colors = {str(one.input).split()[3] for one in splits.train}
    assert (colors == {"red"}) == (others == 0)


def test_a_quarter_of_the_answers_is_yes_for_every_picture() -> None:
    splits = load(Config(**SMALL))
    by_picture = Counter(one.name for one in splits.train if one.target == "yes")
    assert by_picture == {f"{number}": 1 for number in range(30)}
    assert len({one.group for one in splits.train if one.target == "yes"}) == 4


def test_parts_and_seeds_differ_and_are_the_same_again() -> None:
    one, same, other = (load(Config(seed=seed, **SMALL)).fingerprint() for seed in (0, 0, 1))
    assert one == same
    assert one != other
    assert len({*one.values()}) == 3
    assert (load(Config(blank=True, **SMALL)).train[0].input.picture.pixels == 255).all()


@pytest.mark.parametrize("wrong", [{"others": 7}, {"size": 20}])
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected at"):
        Config(**wrong)
