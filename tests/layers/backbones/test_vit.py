"""The vision transformer: the features of `transformers` from the same parameters."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import ViTConfig, ViTForImageClassification, ViTModel

from saccade.errors import DataError
from saccade.layers.backbones import opened
from saccade.layers.backbones.vit import network

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def published(place: Path, kind: type = ViTModel, **changed: Any) -> Any:
    """A small one, loud enough that patches differ, saved as theirs are."""
    made = kind(ViTConfig(**{**SIZES, "image_size": 24, "patch_size": 8, **changed})).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    made.save_pretrained(place)
    return made


@pytest.mark.parametrize("changed", [{}, {"qkv_bias": False}, {"layer_norm_eps": 0.1, "num_channels": 1}])
@pytest.mark.parametrize("kind", [ViTModel, ViTForImageClassification])
def test_features_are_those_of_transformers(tmp_path: Path, kind: type, changed: dict[str, Any]) -> None:
    made = published(tmp_path, kind, **changed)
    backbone, tensors = opened(str(tmp_path), frozen=True)
    pixels = torch.randn(2, backbone.channels, 24, 24)
    with torch.no_grad():
        expected = getattr(made, "vit", made)(pixels).last_hidden_state[:, 1:]
        found = backbone.loaded(tensors)(pixels)
    assert found.shape == (2, 16, 3, 3)
    torch.testing.assert_close(found.flatten(2).transpose(1, 2), expected, atol=1e-5, rtol=1e-5)


def test_pictures_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match=r"24 × 24 pixels, got 24 × 16; set data.size=24"):
        network({**SIZES, "image_size": 24, "patch_size": 8})(torch.zeros(1, 3, 24, 16))


@pytest.mark.parametrize(("config", "message"), [({"hidden_act": "relu"}, "expected gelu"), ({}, "sizes of a ViT")])
def test_another_network_is_refused(config: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        network(config)
