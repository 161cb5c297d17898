"""Recurrent systems that write texts or captions: onnxruntime writes ours, with our log-probabilities and weights."""

import json
import subprocess
import sys
from typing import Any

import pytest

from saccade.errors import UsageError
from saccade.exchange import exporting, writer_graphs
from saccade.training.settings import resolve

from .models import lively

SYSTEMS = sorted(writer_graphs.NEEDS)
PICTURES = ("show_attend_read", "show_attend_tell", "hard attention")


@pytest.fixture(scope="module")
def graphs() -> dict[str, dict[str, Any]]:
    """What came of every system."""
    pytest.importorskip("onnxruntime", reason="onnxruntime (of the dev extra) is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript (of the onnx extra) is not installed")
    words = [sys.executable, "-m", "tests.exchange.written", *SYSTEMS, "hard attention"]
    ended = subprocess.run(words, capture_output=True, text=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert ended.returncode == 0, ended.stderr[-2000:]
    return {line["system"]: line for line in lines}


@pytest.mark.long
@pytest.mark.parametrize("system", [*SYSTEMS, "hard attention"])
def test_greedy_texts_and_log_probabilities_are_ours(system: str, graphs: dict[str, dict[str, Any]]) -> None:
    graph = graphs[system]
    assert len({*graph["sizes"]}) > 2 or system in PICTURES
    assert lively(graph["all"]["texts"])
    for found in (graph["all"], graph["one"]):
        assert found["texts"] == found["wanted"]
        assert found["apart"] < 1e-5
        assert (found["looked"] is None) == (system == "seq2seq")
        assert (found["looked"] or 0) < 1e-5
    assert graph["one"]["texts"] == graph["all"]["texts"][2:3]  # alone as among others


@pytest.mark.long
def test_the_facts_name_what_goes_from_step_to_step(graphs: dict[str, dict[str, Any]]) -> None:
    facts = graphs["luong"]["facts"]
    assert facts["encoder"] == {"inputs": ["tokens", "lengths"], "outputs": ["states", "keys", "values", "fed"]}
    assert facts["decoder"] == {
        "inputs": ["token", "lengths", "states", "keys", "values", "fed"],
        "outputs": ["log_probs", "weights", "next_states", "next_fed"],
    }
    for name in PICTURES:
        assert graphs[name]["facts"]["encoder"] == {"inputs": ["pixels"], "outputs": ["states", "keys", "values"]}
        assert graphs[name]["facts"]["decoder"]["inputs"] == ["token", "states", "keys", "values"]
        assert not {"source", "append_end"} & graphs[name]["facts"].keys()
    assert "pixels.json" in graphs["show_attend_tell"]["files"]
    plain = {"inputs": ["token", "states"], "outputs": ["log_probs", "next_states"]}
    assert graphs["seq2seq"]["facts"]["decoder"] == plain
    assert {"encoder.onnx", "decoder.onnx", "saccade.json"} < {*graphs["seq2seq"]["files"]}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_as_it_is_can_be_exported(system: str) -> None:
    assert exporting.report(resolve({"system": system}))[0] == "onnx"


@pytest.mark.parametrize(
    ("system", "key", "value"),
    [
        ("luong", "attention", "local_m"),
        ("bahdanau", "normalize", "sparsemax"),
        ("luong", "score", "location"),
        ("show_attend_tell", "normalize", "entmax15"),
    ],
)
def test_what_cannot_be_said_is_refused_by_its_key(system: str, key: str, value: str) -> None:
    settings = resolve({"system": system, "model": {key: value}})
    needed = writer_graphs.NEEDS[system][f"model.{key}"][0]
    assert exporting.report(settings)[:2] == ["none", f"onnx needs model.{key}={needed}"]
    with pytest.raises(UsageError, match=f"^format onnx needs model.{key}={needed}, got {value}; train with that$"):
        exporting._require(settings, "onnx", exporting.formats())
