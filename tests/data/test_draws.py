"""Random numbers: the same from the same seed, in every version."""

import hashlib

import numpy as np

from saccade.data.draws import Draws, drawn_at


def test_numbers_are_drawn_the_same_way_every_time() -> None:
    draws = Draws(3, 1)
    assert draws.whole(0, 9, 6).tolist() == Draws(3, 1).whole(0, 9, 6).tolist()
    assert Draws(3, 1).uniform(4).tolist() != Draws(3, 2).uniform(4).tolist()
    drawn = Draws(0).whole(2, 4, 3000)
    assert sorted(set(drawn.tolist())) == [2, 3, 4]
    normal = Draws(0).normal(4000)
    assert (abs(normal.mean()) < 0.06, abs(normal.std() - 1) < 0.05) == (True, True)
    assert sorted(Draws(0).order(9).tolist()) == list(range(9))
    # What was drawn in one version is drawn in all: runs made before would not resume otherwise.
    assert hashlib.sha256(Draws(0, 1).uniform(100).tobytes()).hexdigest()[:8] == "59a329e1"


def test_numbers_of_a_place_do_not_depend_on_the_others() -> None:
    places = np.arange(5000)
    drawn = drawn_at(places, 4, 7, 1)
    assert np.array_equal(drawn_at(places[[9, 3, 4000]], 4, 7, 1), drawn[[9, 3, 4000]])
    assert np.array_equal(drawn_at(places, 2, 7, 1), drawn[:, :2])
    for other in (drawn_at(places, 4, 8, 1), drawn_at(places, 4, 7, 2)):
        assert not np.isin(other, drawn).any()
    assert 0 <= drawn.min() < drawn.max() < 1
    assert np.abs(np.histogram(drawn, 10, (0, 1))[0] / drawn.size - 0.1).max() < 0.01
    neighbors = np.concatenate((drawn[:-1], drawn[1:]), 1)
    assert np.abs(np.corrcoef(neighbors.T) - np.eye(8)).max() < 0.06
    assert hashlib.sha256(drawn_at(places, 4, 0, 0).tobytes()).hexdigest()[:8] == "3178c757"
