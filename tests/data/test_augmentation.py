"""What is done to training pictures: a window scaled up, a mirror, colors; shapes and bytes stay."""

import numpy as np
import pytest

from saccade.data.augmentation import Config, augmented, colored, cropped

DICE = np.random.default_rng(0)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_window_is_scaled_up(channels: int) -> None:
    pixels = np.zeros((8, 12, channels), np.uint8)
    pixels[4:, 6:] = 200
    corner = cropped(pixels, 0.5, 1.0, 1.0)
    assert corner.shape == pixels.shape
    assert (corner[1:, 1:] == 200).all()
    assert not cropped(pixels, 0.5, 0.0, 0.0)[:7, :11].any()
    assert np.array_equal(cropped(pixels, 1.0, 0.3, 0.7), pixels)


def test_colors_change_as_told() -> None:
    pixels = DICE.integers(60, 120, (6, 7, 3), dtype=np.uint8)
    assert np.abs(colored(pixels, 1, 1, 1).astype(int) - pixels).max() <= 1
    assert np.abs(colored(pixels, 2, 1, 1).astype(int) - 2 * pixels.astype(int)).max() <= 1
    assert colored(pixels, 1, 0.5, 1).std() == pytest.approx(pixels.std() / 2, rel=0.1)
    gray = colored(pixels, 1, 1, 0).astype(int)
    assert np.ptp(gray, axis=-1).max() <= 1
    white = np.full((2, 2, 1), 250, np.uint8)
    assert (colored(white, 1.5, 1, 1) == 255).all()


def test_nothing_is_done_that_was_not_asked_for() -> None:
    pixels = DICE.integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)
    assert np.array_equal(augmented(pixels, Config(), 0, 0, range(5)), pixels)
    assert not Config().augments
    assert np.array_equal(augmented(pixels, Config(flip=0.999999), 0, 0, range(5)), pixels[:, :, ::-1])


def test_half_of_the_pictures_are_mirrored() -> None:
    pixels = np.zeros((400, 1, 2, 1), np.uint8)
    pixels[:, 0, 0] = 1
    mirrored = augmented(pixels, Config(flip=0.5), 1, 2, range(400))[:, 0, 1, 0].mean()
    assert 0.4 < mirrored < 0.6
