"""Random numbers for made data: the same from the same seed, on every machine and with every version of numpy."""

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def uniform(philox: np.random.Philox, count: int) -> Floats:
    """Numbers from [0, 1), from raw numbers that are promised never to change."""
    raw: NDArray[np.uint64] = philox.random_raw(count)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


class Draws:
    """A stream of numbers of its own for each seed and purpose."""

    def __init__(self, seed: int, *purpose: int) -> None:
        # The generator's raw numbers are promised never to change, which is not so of what numpy draws from them.
        self._philox = np.random.Philox(np.random.SeedSequence(seed, spawn_key=purpose))

    def uniform(self, *shape: int) -> Floats:
        """Numbers from [0, 1)."""
        return uniform(self._philox, int(np.prod(shape))).reshape(shape)

    def whole(self, low: int, high: int, *shape: int) -> Integers:
        """Whole numbers from low to high, both included."""
        return (low + np.floor(self.uniform(*shape) * (high - low + 1))).astype(np.int64)

    def normal(self, *shape: int) -> Floats:
        """Numbers from the standard normal distribution (Box and Muller 1958)."""
        radius: Floats = np.sqrt(-2 * np.log(1 - self.uniform(*shape)))
        return radius * np.cos(2 * np.pi * self.uniform(*shape))

    def order(self, count: int) -> Integers:
        """So many places in some order."""
        return np.argsort(self.uniform(count), kind="stable")


def drawn_at(places: Integers, count: int, seed: int, purpose: int) -> Floats:
    """So many numbers from [0, 1) for each place, a row each: the same whatever other places are drawn.

    By splitmix64 (Steele, Lea and Flood 2014): a generator for each place would cost more than what is drawn.
    """
    raw = np.random.SeedSequence(seed, spawn_key=(purpose,)).generate_state(1, np.uint64)[0]
    mixed = (places.astype(np.uint64)[:, None] << np.uint64(16)) + np.arange(1, count + 1, dtype=np.uint64)
    mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + raw  # wraps, as meant
    for shift, multiplier in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(multiplier)
    drawn: Floats = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn
