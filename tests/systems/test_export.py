"""`torch.compile` takes a training step of every system as one graph, and `torch.export` what it computes."""

import subprocess
import sys

import pytest

from .traced import WAYS, everything


@pytest.fixture(scope="module")
def traced() -> dict[tuple[str, str], str]:
    """What became of each system, in each way."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.systems.traced"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {(name, way): found for name, way, found in (line.split("\t", 2) for line in lines)}


@pytest.mark.parametrize("name", everything())
@pytest.mark.parametrize("way", WAYS)
def test_torch_traces_it(traced: dict[tuple[str, str], str], name: str, way: str) -> None:
    assert traced[name, way] == "equal"
