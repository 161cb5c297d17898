"""Tokens are readable, patches lie on the picture, frames are told by their time."""

import numpy as np
import pytest
import torch

from saccade.inside.places import frame_axis, grid_of, group_size, patch_axis, readable, token_axis

from .families import tokenizer


@pytest.mark.parametrize(
    ("tokens", "byte_level", "labels"),
    [
        (
            ["hello", "Ġwörld".replace("ö", "Ã¶"), "Ġ", "æ", "¼", "¢"],
            True,
            ["hello", " wörld", " ", "\\xe6", "\\xbc", "\\xa2"],
        ),
        (["▁The", "▁cat", "s", "<0xE4>", "</s>"], False, [" The", " cat", "s", "\\xe4", "</s>"]),
        (["[CLS]", "play", "##ing"], False, ["[CLS]", "play", "##ing"]),
    ],
)
def test_tokens_are_readable(tokens: list[str], byte_level: bool, labels: list[str]) -> None:
    assert readable(tokens, byte_level) == labels


def test_an_id_that_the_tokenizer_does_not_have_is_its_number() -> None:
    own = tokenizer()
    assert list(token_axis(own, [*own("the")["input_ids"], len(own)]).labels) == ["the", f"<{len(own)}>"]


def test_unknown_tokens_are_marked() -> None:
    axis = token_axis(tokenizer(), tokenizer()("the dog sat")["input_ids"])
    assert (axis.labels, axis.unknown) == (["the", "[UNK]", "sat"], [1])


@pytest.mark.parametrize(
    ("places", "size", "found"),
    [
        (197, (224, 224), (1, (14, 14))),
        (16, (16, 16), (0, (4, 4))),
        (201, (224, 224), (5, (14, 14))),
        (9, (32, 64), (1, (2, 4))),
        (3, (7, 5), None),
    ],
)
def test_the_grid_of_patches(places: int, size: tuple[int, int], found: object) -> None:
    assert grid_of(places, *size) == found


def test_the_picture_is_there_whatever_its_scale() -> None:
    pixels = torch.zeros(3, 4, 8) - 2.0
    pixels[:, :2] = 3.0
    axis = patch_axis(pixels, (2, 4))
    assert axis.image is not None
    assert axis.image.shape == (4, 8, 3)
    assert np.unique(axis.image).tolist() == [0, 255]
    assert len(axis.labels) == 8


def test_frames_have_times_and_many_are_taken_together() -> None:
    assert list(frame_axis(3).labels) == ["0.00 s", "0.02 s", "0.04 s"]
    assert group_size(1500) == 5
    assert frame_axis(1500).labels[1] == "0.10 s"
