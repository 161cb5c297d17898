"""What is known of every system without a model of it."""

from typing import Any

import pytest

from saccade import systems

BLIND = {"bag_of_words", "deep_sets", "picture_network", "point_cloud", "seq2seq"}
CONTROLS = [
    ("attention_mil", {"pool": "mean"}),
    ("attention_mil", {"pool": "max"}),
    ("document_attention", {"pool": "mean"}),
    ("han", {"pool": "mean"}),
    ("se_resnet", {"excitation": "none"}),
]


@pytest.mark.parametrize("name", systems.names())
def test_who_attends_says_so(name: str) -> None:
    assert systems.attends(name, systems.load(name).Config()) == (name not in BLIND)


@pytest.mark.parametrize(("name", "given"), CONTROLS)
def test_controls_do_not(name: str, given: dict[str, Any]) -> None:
    assert not systems.attends(name, systems.load(name).Config(**given))
