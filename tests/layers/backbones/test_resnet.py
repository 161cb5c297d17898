"""ResNet: the features of `transformers` from the same parameters."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import ResNetConfig, ResNetForImageClassification, ResNetModel

from saccade.errors import DataError
from saccade.layers.backbones import opened
from saccade.layers.backbones.resnet import network


def published(place: Path, kind: type = ResNetModel, **changed: Any) -> Any:
    """A small one with statistics that matter, saved as theirs are."""
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [2, 1], "layer_type": "basic"}
    made = kind(ResNetConfig(**{**sizes, **changed})).eval()
    with torch.no_grad():
        for part in made.modules():
            if isinstance(part, torch.nn.BatchNorm2d):
                for tensor in (*part.parameters(), *part.buffers()):
                    _ = tensor.uniform_(0.5, 1.5) if tensor.is_floating_point() else None
    made.save_pretrained(place)
    return made


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"layer_type": "bottleneck"},
        {"layer_type": "bottleneck", "downsample_in_bottleneck": True},
        {"downsample_in_first_stage": True, "depths": [1, 2], "hidden_sizes": [12, 16]},
    ],
)
def test_features_are_those_of_transformers(tmp_path: Path, changed: dict[str, Any]) -> None:
    made = published(tmp_path, **changed)
    backbone, tensors = opened(str(tmp_path), frozen=True)
    pixels = torch.randn(2, 3, 37, 50)
    with torch.no_grad():
        expected = made(pixels).last_hidden_state
        torch.testing.assert_close(backbone.loaded(tensors)(pixels), expected, atol=1e-5, rtol=1e-5)
    assert expected.std() > 0.01


def test_what_stands_behind_it_is_left_out(tmp_path: Path) -> None:
    made = published(tmp_path, ResNetForImageClassification)
    backbone, tensors = opened(str(tmp_path), frozen=True)
    pixels = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(backbone.loaded(tensors)(pixels), made.resnet(pixels).last_hidden_state)


@pytest.mark.parametrize(("config", "message"), [({"hidden_act": "gelu"}, "expected relu"), ({}, "sizes of a ResNet")])
def test_another_network_is_refused(config: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        network(config)
