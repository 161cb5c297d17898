"""Vectors learned from texts: related words come near, and nothing but texts and seed decides."""

import numpy as np
import pytest
import torch

from saccade.data.formats.vector_files import nearest
from saccade.errors import DataError
from saccade.layers.skip_gram import TABLE, Config, chances, learn, shares

ANIMALS, METALS, REST = range(4, 8), range(8, 12), (12, 13)
SIZE = 16


def toy(texts: int = 300, seed: int = 0) -> list[list[int]]:
    """Texts about animals or about metals, with words between that go with both."""
    dice = np.random.default_rng(seed)
    return [
        [int(word) for _ in range(6) for word in (dice.choice(ANIMALS if text % 2 else METALS), dice.choice(REST))]
        for text in range(texts)
    ]


def test_related_words_come_near() -> None:
    learned = learn(toy(), SIZE, Config(width=12, epochs=8, sample=0.0, rate=0.1)).numpy()
    names = [str(word) for word in range(SIZE)]
    for group in (ANIMALS, METALS):
        for word in group:
            near = {int(name) for name, _ in nearest(str(word), names, learned, 3)}
            assert near == set(group) - {word}


def test_the_same_texts_give_the_same_bits_and_another_seed_others() -> None:
    one, again, other = (learn(toy(40), SIZE, Config(width=10, epochs=2, seed=seed)) for seed in (3, 3, 4))
    assert torch.equal(one, again)
    assert not torch.allclose(one, other)


def test_without_kernels_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(width=9, epochs=2)
    fast = learn(toy(8), SIZE, config)
    monkeypatch.setenv("SACCADE_KERNELS", "off")
    torch.testing.assert_close(learn(toy(8), SIZE, config), fast, atol=1e-5, rtol=1e-4)


def test_words_that_do_not_occur_stay_at_zero() -> None:
    learned = learn(toy(20), SIZE, Config(width=5, epochs=1))
    assert not learned[[0, 3, 14, 15]].any()
    assert learned[[*ANIMALS, *METALS, *REST]].abs().sum(1).min() > 0


def test_words_are_no_neighbors_across_texts() -> None:
    """Of texts of one word each there are no pairs: vectors stay what chance gave them."""
    config = Config(width=6, epochs=1, sample=0.0)
    rows = [[word] for word in ANIMALS]
    first = shares(chances(config.seed, 0, 0, SIZE * 6)).reshape(SIZE, 6)[list(ANIMALS)]
    np.testing.assert_allclose(learn(rows, SIZE, config)[list(ANIMALS)].numpy(), (first - 0.5) / 6, rtol=1e-6)


def test_it_tells_how_far_it_is_and_loses_less() -> None:
    heard: list[tuple[int, int, float]] = []
    learn(toy(100), SIZE, Config(width=10, epochs=6, rate=0.1), lambda *told: heard.append(told))
    assert [total for _, total, _ in heard] == [7200] * 6
    assert [done for done, _, _ in heard] == [1200 * epoch for epoch in range(6)]
    assert heard[-1][2] < heard[0][2]


def test_chance_is_a_function_of_its_place() -> None:
    whole = chances(5, 2, 0, 1000)
    assert np.array_equal(chances(5, 2, 400, 100), whole[400:500])
    assert not np.intersect1d(whole, chances(5, 3, 0, 1000)).size
    assert not np.intersect1d(whole, chances(6, 2, 0, 1000)).size
    assert abs(shares(whole).mean() - 0.5) < 0.05


def test_frequent_words_are_left_out_now_and_then() -> None:
    from saccade.layers.skip_gram import _kept, _laid_out

    words = np.array([4] * 9000 + [5] * 10)
    counts = np.bincount(words, minlength=SIZE)
    kept = words[_kept(words, counts, Config(sample=0.01), 0)]
    assert (kept == 4).sum() < 2000
    assert (kept == 5).sum() == 10
    places = _laid_out(counts.astype(np.float64) ** 0.75)
    assert abs(places.sum() - TABLE) <= 2
    assert places[5] / places[4] == pytest.approx((10 / 9000) ** 0.75, rel=0.01)


def test_nothing_teaches_nothing() -> None:
    with pytest.raises(DataError, match="nothing to learn vectors from"):
        learn([[], []], SIZE, Config())
