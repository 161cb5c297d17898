"""Clouds of points on the surfaces of solids, made: turned about the vertical axis, scaled, and a little blurred."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from saccade.config import Amount, Count, Positive, Share
from saccade.data.draws import Draws, Floats
from saccade.data.examples import Bag, Example, Splits

INPUT, TARGET = Bag, str


# Corners of solids, and their faces as triangles; all stand on their base, upright.
SQUARE = ((-1, -1), (1, -1), (1, 1), (-1, 1))
BOX = [(0, 1, 2), (0, 2, 3), (4, 5, 6), (4, 6, 7), (0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6)]
SOLIDS = {
    "cube": ([(x, y, z) for z in (-1, 1) for x, y in SQUARE], [*BOX, (3, 0, 4), (3, 4, 7)]),
    "pyramid": ([*((x, y, -1) for x, y in SQUARE), (0, 0, 1)], [*BOX[:2], (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]),
    "tetrahedron": ([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]),
    "octahedron": (
        [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)],
        [(a, (a + 1) % 4, tip) for a in range(4) for tip in (4, 5)],
    ),
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """How many clouds of how many points."""

    points: Positive = 100
    "Points of a cloud."
    train_size: Positive = 4000
    "Training clouds."
    valid_size: Positive = 500
    "Validation clouds."
    test_size: Positive = 1000
    "Test clouds."
    noise: Amount = 0.05
    "Standard deviation of the blur, where a solid is about 2 wide."
    stretch: Share = 0.3
    "By which share a solid may be larger or smaller."
    seed: Count = 0
    "Decides which clouds are made."


def load(config: Config) -> Splits:
    """All three parts."""
    counts = (config.train_size, config.valid_size, config.test_size)
    return Splits(*(list(_clouds(count, config, Draws(config.seed, part))) for part, count in enumerate(counts)))


def _clouds(count: int, config: Config, draws: Draws) -> Iterator[Example]:
    """So many clouds, shapes by turns."""
    names = sorted(SHAPES)
    for number in range(count):
        name = names[number % len(names)]
        points = SHAPES[name](config.points, draws)
        angle, factor = 2 * np.pi * float(draws.uniform(1)[0]), 1 + config.stretch * (2 * float(draws.uniform(1)[0]) - 1)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        blurred = factor * points @ turn.T + config.noise * draws.normal(config.points, 3)
        yield Example(Bag(blurred.astype(np.float32)), name, name=f"{number}")


def sphere(count: int, draws: Draws) -> Floats:
    """Of radius 1."""
    points = draws.normal(count, 3)
    length: Floats = np.linalg.norm(points, axis=1, keepdims=True)
    return points / length


def hemisphere(count: int, draws: Draws) -> Floats:
    """Its upper half, open below, and as high as other solids are."""
    points = sphere(count, draws)
    return np.stack((points[:, 0], points[:, 1], 2 * np.abs(points[:, 2]) - 1), 1)


def disk(count: int, draws: Draws) -> Floats:
    """Flat, of radius 1."""
    return _ring(np.sqrt(draws.uniform(count)), np.zeros(count), draws)


def cylinder(count: int, draws: Draws) -> Floats:
    """Of radius 1 and height 2; a third of its surface are its ends."""
    place, height = draws.uniform(count), 2 * draws.uniform(count) - 1
    ends = place < 1 / 3
    return _ring(np.where(ends, np.sqrt(3 * place), 1), np.where(ends, np.sign(height), height), draws)


def cone(count: int, draws: Draws) -> Floats:
    """Of radius 1 and height 2, standing on its base."""
    place, radius = draws.uniform(count), np.sqrt(draws.uniform(count))
    base = place < 1 / (1 + 5**0.5)
    return _ring(radius, np.where(base, -1, 1 - 2 * radius), draws)


def torus(count: int, draws: Draws) -> Floats:
    """A ring of radius 0.7 and a tube of radius 0.3, lying."""
    angle = 2 * np.pi * draws.uniform(count)
    return _ring(0.7 + 0.3 * np.cos(angle), 0.3 * np.sin(angle), draws)


def solid(name: str, count: int, draws: Draws) -> Floats:
    """A solid of triangles, each with as many points as its area asks for."""
    corners, faces = SOLIDS[name]
    a, b, c = np.array(corners, dtype=np.float64)[np.array(faces)].transpose(1, 0, 2)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    which = np.searchsorted(areas.cumsum() / areas.sum(), draws.uniform(count), side="right").clip(max=len(areas) - 1)
    u, v = np.sqrt(draws.uniform(count, 1)), draws.uniform(count, 1)
    points: Floats = (1 - u) * a[which] + u * (1 - v) * b[which] + u * v * c[which]
    return points


def _ring(radius: Floats, height: Floats, draws: Draws) -> Floats:
    """Points at these distances from the vertical axis, all around it."""
    angle = 2 * np.pi * draws.uniform(len(radius))
    return np.stack((radius * np.cos(angle), radius * np.sin(angle), height), 1)


def _solid(name: str) -> Callable[[int, Draws], Floats]:
    return lambda count, draws: solid(name, count, draws)


SHAPES: dict[str, Callable[[int, Draws], Floats]] = {
    shape.__name__: shape for shape in (sphere, hemisphere, disk, cylinder, cone, torus)
} | {name: _solid(name) for name in SOLIDS}
