"""`torch.compile` takes a training step of every system as one graph, and `torch.export` what it computes."""

import subprocess
import sys

import pytest

from .traced import WAYS, everything

# Systems that cannot be traced, the word that torch says of it, and why.
UNTRACED = {"han": ("data-dependent", "sentences of like length are read together: how many lengths there are is data")}


@pytest.fixture(scope="module")
def traced() -> dict[tuple[str, str], str]:
    """What became of each system, in each way."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.systems.traced"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {(name, way): found for name, way, found in (line.split("\t", 2) for line in lines)}


@pytest.mark.parametrize("name", everything())
@pytest.mark.parametrize("way", WAYS)
def test_torch_traces_it(traced: dict[tuple[str, str], str], name: str, way: str) -> None:
    found = traced[name, way]
    if name in UNTRACED:
        assert UNTRACED[name][0] in found  # once it can be traced, it is to leave the list
    else:
        assert found == "equal"
