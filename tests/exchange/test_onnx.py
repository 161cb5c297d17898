"""The graphs of ONNX, run by onnxruntime, have our logits and write our texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.text import padded
from saccade.data.tokenizers import END, PAD, START
from saccade.exchange.exporting import export
from saccade.search import Config as SearchConfig
from saccade.training.trained import Trained

from . import models
from .models import DOZENS, SOURCES, lively, logits, told, written

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime (of the dev extra) is not installed")
onnx = pytest.importorskip("onnx", reason="onnx (of the onnx extra) is not installed")
pytest.importorskip("onnxscript", reason="onnxscript (of the onnx extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

LIMIT = 25
VARIANTS: list[dict[str, Any]] = [
    {"norm": "post", "final_norm": "both", "activation": "relu"},
    {"norm": "pre", "embeddings": "one", "activation": "swish", "output_bias": "none"},
    {"final_norm": "none", "positions": "learned", "activation": "gelu", "embedding_scale": "one"},
]


class Session:
    """Both graphs, as a program of the user's own would run them."""

    def __init__(self, path: Path) -> None:
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        self.encoder, self.decoder = (
            runtime.InferenceSession(str(path / f"{name}.onnx"), options) for name in ("encoder", "decoder")
        )
        self.facts = told(path / "saccade.json")

    def logits(self, rows: list[list[int]], before: Any) -> Any:
        """Logits behind the last token of each row of `before`."""
        source, lengths = (tensor.numpy() for tensor in padded(rows))
        (memory,) = self.encoder.run(None, {"source": source, "lengths": lengths})
        (found,) = self.decoder.run(None, {"written": before, "memory": memory, "lengths": lengths})
        return found

    def greedy(self, rows: list[list[int]]) -> list[list[int]]:
        """The likeliest token, again and again."""
        text = np.full((len(rows), 1), self.facts["special"]["start"])
        for _ in range(LIMIT):
            found = self.logits(rows, text)
            found[:, self.facts["never_written"]] = -np.inf
            text = np.concatenate([text, found.argmax(-1)[:, None]], 1)
        return [_until_end(row) for row in text[:, 1:].tolist()]


def _until_end(row: list[int]) -> list[int]:
    return row[: row.index(END) + 1] if END in row else row


@pytest.mark.long
@pytest.mark.parametrize("keys", VARIANTS, ids=lambda keys: "-".join(keys.values()))
def test_logits_and_greedy_texts_are_ours(keys: dict[str, Any], tmp_path: Path) -> None:
    models.run(tmp_path / "run", steps=DOZENS, **keys)
    export(tmp_path / "run", tmp_path / "out", "onnx")
    session, trained = Session(tmp_path / "out"), Trained.open(tmp_path / "run")
    rows = trained.task.source.encode_batch(SOURCES)
    before = torch.randint(END + 1, trained.task.target.size, (len(rows), 6))
    before[:, 0] = START
    wanted = logits(trained.model, rows, before)
    for steps in (1, 4, 6):
        found = torch.from_numpy(session.logits(rows, before[:, :steps].numpy()))
        torch.testing.assert_close(found.log_softmax(-1), wanted[:, steps - 1], atol=1e-4, rtol=2e-7)
    texts = written(trained.model, rows, SearchConfig(max_length=LIMIT))
    assert session.greedy(rows) == texts
    assert lively(texts)
    assert session.greedy(rows[1:2]) == texts[1:2]  # alone as among others


@pytest.mark.long
def test_the_facts_beside_the_graphs_are_those_of_the_run(tmp_path: Path) -> None:
    models.run(tmp_path / "run", task={"source_ends": "end"})
    export(tmp_path / "run", tmp_path / "out", "onnx")
    facts, task = told(tmp_path / "out" / "saccade.json"), Trained.open(tmp_path / "run").task
    assert (facts["source"], facts["target"]) == (task.source.tokens(), task.target.tokens())
    assert facts["source_ends"] == "end"
    assert facts["special"] == {"pad": PAD, "start": START, "end": END, "unknown": 3}
    graph = onnx.load(tmp_path / "out" / "decoder.onnx")
    assert [one.version for one in graph.opset_import if one.domain == ""] == [facts["opset"]]


@pytest.mark.long
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_places_are_as_many_as_can_be_read_and_written(positions: str, tmp_path: Path) -> None:
    longest = 12
    task = {"source_ends": "end", "longest": longest}
    models.run(tmp_path / "run", task=task, searching={"max_length": 7}, positions=positions, longest=longest + 1)
    export(tmp_path / "run", tmp_path / "out", "onnx")
    session, trained = Session(tmp_path / "out"), Trained.open(tmp_path / "run")
    assert session.facts["longest"] == longest + 1
    assert session.facts["never_written"] == [PAD, START]
    rows = [[*torch.randint(4, trained.task.source.size, (longest,)).tolist(), END]]
    before = torch.randint(4, trained.task.target.size, (1, 8))
    before[:, 0] = START
    found = torch.from_numpy(session.logits(rows, before.numpy()))
    wanted = logits(trained.model, rows, before)[:, -1]
    torch.testing.assert_close(found.log_softmax(-1), wanted, atol=1e-4, rtol=2e-7)
    with pytest.raises(Exception, match=r"[Bb]roadcast|shape|dimension|Add"):
        session.logits([[*rows[0], END]], before.numpy())
