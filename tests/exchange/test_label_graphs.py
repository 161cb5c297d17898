"""Systems that label or count: onnxruntime puts out what we put out, for batches of other sizes than the traced one."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from saccade.exchange import label_graphs

pytest.importorskip("onnxruntime", reason="onnxruntime (of the dev extra) is not installed")
pytest.importorskip("onnxscript", reason="onnxscript (of the onnx extra) is not installed")

# Every day without what others have as well: the words of atae_lstm, the GRU of han, the bags of attention_mil,
# the questions of show_ask_attend_answer.
FULL = os.environ.get("SACCADE_LAWS") == "full"
SYSTEMS = sorted({*label_graphs.NEEDS} - (set() if FULL else {"document_attention", "deep_sets", "stacked_attention"}))


@pytest.fixture(scope="module")
def graphs() -> dict[str, dict[str, Any]]:
    """What came of every system."""
    words = [sys.executable, "-m", "tests.exchange.labeled", *SYSTEMS]
    ended = subprocess.run(words, capture_output=True, text=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert ended.returncode == 0, ended.stderr[-2000:]
    return {line["system"]: line for line in lines}


@pytest.mark.long
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_graph_puts_out_what_we_put_out(system: str, graphs: dict[str, dict[str, Any]]) -> None:
    graph = graphs[system]
    assert graph["apart"] < 1e-5
    assert graph["spread"] > 0.01
    assert graph["facts"]["inputs"] == list(graph["shapes"])
    assert {*graph["shapes"].values()} <= {"batch", "items"}
    assert ("labels.json" in graph["files"]) == (graph["facts"]["output"] == "logits")
