"""The graphs of ONNX, run by onnxruntime, have our logits and write our texts."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.tensors import padded
from saccade.data.tokenizers import END, PAD, START, UNKNOWN
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.search import Config as SearchConfig
from saccade.trained import TrainedModel

from . import models
from .models import DOZENS, SOURCES, encoded, lively, logits, told, written

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime (of the dev extra) is not installed")
onnx = pytest.importorskip("onnx", reason="onnx (of the onnx extra) is not installed")
pytest.importorskip("onnxscript", reason="onnxscript (of the onnx extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

LIMIT = 25
ONE: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1}  # a trace takes its time for every layer
# Two models have all variants between them, but for swish, which the imported one has.
LONGEST = 12
VARIANTS: dict[str, dict[str, Any]] = {
    "post": {"norm": "post", "final_norm": "both", "activation": "relu", "decoder_layers": 2, "encoder_layers": 1},
    "pre": {
        "norm": "pre",
        "embeddings": "one",
        "activation": "gelu",
        "output_bias": "none",
        "embedding_scale": "one",
        **ONE,
        "positions": "learned",
        "max_positions": LONGEST + 1,
        "searching": {"max_length": 7},
        "reader": {"append_end": True, "max_length": LONGEST},
    },
}


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
        source, lengths = (tensor.numpy() for tensor in padded(rows, self.facts["source"]["pad"]))
        (memory,) = self.encoder.run(None, {"source": source, "lengths": lengths})
        (found,) = self.decoder.run(None, {"written": before, "memory": memory, "lengths": lengths})
        return found

    def greedy(self, rows: list[list[int]], limit: int = LIMIT) -> list[list[int]]:
        """The likeliest token, again and again."""
        text = np.full((len(rows), 1), self.facts["target"]["start"])
        for _ in range(limit):
            found = self.logits(rows, text)
            found[:, self.facts["target"]["banned"]] = -np.inf
            text = np.concatenate([text, found.argmax(-1)[:, None]], 1)
        return [self._until_end(row) for row in text[:, 1:].tolist()]

    def _until_end(self, row: list[int]) -> list[int]:
        end = self.facts["target"]["end"]
        return row[: row.index(end) + 1] if end in row else row


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[TrainedModel, Path]]:
    """A variant and the directory of its graphs, made once: to trace one takes ten seconds."""

    @cache
    def made(variant: str) -> tuple[TrainedModel, Path]:
        path = tmp_path_factory.mktemp(variant)
        torch.default_generator.manual_seed(0)
        model = models.run(path / "run", steps=DOZENS, **VARIANTS[variant])
        export(model, path / "out", "onnx")
        return model, path / "out"

    return made


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_and_greedy_texts_are_ours(variant: str, exported: Callable[[str], tuple[TrainedModel, Path]]) -> None:
    model, out = exported(variant)
    limit = LONGEST if variant == "pre" else LIMIT
    session, rows = Session(out), encoded(model, SOURCES)
    before = torch.randint(END + 1, model.task.writer.vocabulary.size, (len(rows), 6))
    before[:, 0] = START
    wanted = logits(model, rows, before)
    for steps in (1, 4, 6):
        found = torch.from_numpy(session.logits(rows, before[:, :steps].numpy()))
        torch.testing.assert_close(found.log_softmax(-1), wanted[:, steps - 1], atol=1e-4, rtol=2e-7)
    texts = written(model, rows, SearchConfig(max_length=limit))
    assert session.greedy(rows, limit) == texts
    assert lively(texts)
    assert session.greedy(rows[1:2], limit) == texts[1:2]  # alone as among others


@pytest.mark.long
def test_an_imported_model_has_its_own_ids(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    models.published(tmp_path / "published", seed=4, **ONE)
    import_model(tmp_path / "published", tmp_path / "run")
    model = load(tmp_path / "run")
    export(model, tmp_path / "out", "onnx")
    session = Session(tmp_path / "out")
    assert [session.facts["target"][key] for key in ("pad", "start", "end", "unknown")] == [26, 26, 0, 1]
    texts = written(model, encoded(model, SOURCES), SearchConfig(max_length=LIMIT))
    assert session.greedy(encoded(model, SOURCES)) == texts
    assert lively(texts, 0)


def check_facts(facts: dict[str, Any], model: TrainedModel) -> None:
    """What stands beside the graphs is that of the run."""
    for side, tokenizer in (("source", model.task.reader.tokenizer), ("target", model.task.writer.tokenizer)):
        special = {"pad": PAD, "start": START, "end": END, "unknown": UNKNOWN, "banned": [PAD, START]}
        assert {key: facts[side][key] for key in special} == special
        assert facts[side]["tokens"] == tokenizer.tokens()
    assert facts["append_end"] is True


@pytest.mark.long
def test_places_are_as_many_as_can_be_read_and_written(exported: Callable[[str], tuple[TrainedModel, Path]]) -> None:
    model, out = exported("pre")
    session, size = Session(out), model.task.writer.vocabulary.size
    check_facts(session.facts, model)
    assert session.facts["max_length"] == LONGEST + 1
    graph = onnx.load(out / "decoder.onnx")
    assert [one.version for one in graph.opset_import if one.domain == ""] == [session.facts["opset"]]
    rows = [[*torch.randint(4, size, (LONGEST,)).tolist(), END]]
    before = torch.randint(4, size, (1, 8))
    before[:, 0] = START
    found = torch.from_numpy(session.logits(rows, before.numpy()))
    wanted = logits(model, rows, before)[:, -1]
    torch.testing.assert_close(found.log_softmax(-1), wanted, atol=1e-4, rtol=2e-7)
    with pytest.raises(Exception, match=r"[Bb]roadcast|shape|dimension|Add"):
        session.logits([[*rows[0], END]], before.numpy())
