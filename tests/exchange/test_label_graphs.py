"""Systems that label or count: onnxruntime puts out what we put out, for batches of other sizes than the traced one."""

import json
import subprocess
import sys
from typing import Any

import pytest

from saccade.exchange import label_graphs

pytest.importorskip("onnxruntime", reason="onnxruntime (of the dev extra) is not installed")
pytest.importorskip("onnxscript", reason="onnxscript (of the onnx extra) is not installed")


@pytest.fixture(scope="module")
def graphs() -> dict[str, dict[str, Any]]:
    """What came of every system."""
    words = [sys.executable, "-m", "tests.exchange.labeled", *sorted(label_graphs.NEEDS)]
    ended = subprocess.run(words, capture_output=True, text=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert ended.returncode == 0, ended.stderr[-2000:]
    return {line["system"]: line for line in lines}


@pytest.mark.long
@pytest.mark.parametrize("system", sorted(label_graphs.NEEDS))
def test_a_graph_puts_out_what_we_put_out(system: str, graphs: dict[str, dict[str, Any]]) -> None:
    graph = graphs[system]
    assert graph["apart"] < 1e-5
    assert graph["spread"] > 0.01
    assert graph["facts"]["inputs"] == list(graph["shapes"])
    assert {*graph["shapes"].values()} <= {"batch", "items"}
    assert ("labels.json" in graph["files"]) == (graph["facts"]["output"] == "logits")
