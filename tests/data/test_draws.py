"""Random numbers: the same from the same seed, in every version."""

import hashlib

from saccade.data.draws import Draws


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
