"""Writes a run as ONNX. Of a Transformer `encoder.onnx` reads once, `decoder.onnx` gives the logits of the next token:

    encoder: source (B, K), lengths (B) -> memory (B, K, D)
    decoder: written (B, T), memory (B, K, D), lengths (B) -> logits (B, V)

Both are traces of the model itself. `written` begins with the start; all integers are 64 bits wide. `saccade.json` holds
vocabularies and special ids. Of recurrent systems that write texts `decoder.onnx` takes one step (`writer_graphs.py`).
Systems that label or count are one graph, `model.onnx` (`label_graphs.py`).
"""

import contextlib
import copy
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade.data.tokenizers import Tokenizer
from saccade.exchange import families, label_graphs, writer_graphs
from saccade.layers.position_embeddings import Learned
from saccade.systems.transformer import Model
from saccade.trained import TrainedModel

NEEDS: families.Needs = {"transformer": families.PLAIN_ATTENTION, **writer_graphs.NEEDS, **label_graphs.NEEDS}
MODULES, EXTRA = ("onnx", "onnxscript"), "onnx"
OPSET = 18


class EncoderGraph(nn.Module):
    """Shapes: source (B, K), lengths (B) -> memory (B, K, D)"""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        return self.model.encode(source, lengths)


class DecoderGraph(nn.Module):
    """Shapes: written (B, T), memory (B, K, D), lengths (B) -> logits (B, V) of the next token"""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, written: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
        x = self.model.decode(written, memory, lengths)[:, -1]
        logits: Tensor = self.model.output(self.model.decoder_norm(x))
        return logits


def write(model: TrainedModel, out: Path) -> None:
    """The graph or graphs of a run, and what is needed to use them."""
    if model.system == "transformer":
        _write_translator(model, out)
        return
    if model.system in writer_graphs.NEEDS:
        _write_recurrent(model, out)
        return
    part, given, output = label_graphs.graph(model)
    with _quietly():
        _save(part, given, [output], out / "model.onnx")
    model.task.save(out)  # the tokenizer, the scale, the labels
    _write_facts({"opset": OPSET, "system": model.system, "inputs": list(given), "output": output}, out)


def _write_translator(model: TrainedModel, out: Path) -> None:
    """Encoder and decoder."""
    task, settings = model.task, model.run.settings
    assert isinstance(model.module, Model)
    assert settings.search is not None
    longest = max(settings.reader.max_length + 1, settings.search.max_length + 1)
    if model.module.config.positions == "learned":
        longest = min(longest, model.module.config.max_positions)
    traced = with_table(model.module, longest)
    source, target = task.reader.tokenizer, task.writer.tokenizer
    read, lengths = torch.full((2, 5), source.vocabulary.end), torch.tensor([5, 3])
    written, memory = torch.full((2, 3), target.vocabulary.start), torch.zeros(2, 5, traced.config.hidden_size)
    batch = torch.export.Dim("batch", min=1)
    places, steps = (torch.export.Dim(name, min=1, max=longest) for name in ("places", "steps"))
    reads, seen = {0: batch, 1: places}, {0: batch}
    with _quietly():
        given: dict[str, tuple[Tensor, Mapping[int, Any]]] = {"source": (read, reads), "lengths": (lengths, seen)}
        _save(EncoderGraph(traced), given, ["memory"], out / "encoder.onnx")
        given = {"written": (written, {0: batch, 1: steps}), "memory": (memory, reads), "lengths": (lengths, seen)}
        _save(DecoderGraph(traced), given, ["logits"], out / "decoder.onnx")
    _write_facts({"opset": OPSET, "max_length": longest, **_text_facts(model)}, out)


def _write_recurrent(model: TrainedModel, out: Path) -> None:
    """Encoder and one step of the decoder, and what goes from step to step."""
    parts = writer_graphs.graphs(model)
    with _quietly():
        for name, (part, given, outputs) in parts.items():
            _save(part, given, outputs, out / f"{name}.onnx")
    model.task.save(out)  # the tokenizers
    sides = {name: {"inputs": list(given), "outputs": outputs} for name, (_, given, outputs) in parts.items()}
    _write_facts({"opset": OPSET, "system": model.system, **sides, **_text_facts(model)}, out)


def _text_facts(model: TrainedModel) -> dict[str, Any]:
    """How texts become ids, and ids texts."""
    reader, target = model.task.reader, {"target": vocabulary_facts(model.task.writer.tokenizer)}
    if not hasattr(reader, "tokenizer"):  # of pictures
        return target
    return {"append_end": reader.config.append_end, "source": vocabulary_facts(reader.tokenizer), **target}


def _write_facts(facts: Mapping[str, Any], out: Path) -> None:
    (out / "saccade.json").write_text(json.dumps(facts, ensure_ascii=False) + "\n", encoding="utf-8")


def with_table(model: Model, longest: int) -> Model:
    """A copy on the CPU whose positions are a table of so many rows: a trace cannot make more of them later."""
    copied = copy.deepcopy(model).cpu().eval()
    table = Learned(model.config.hidden_size, longest)
    table.table = nn.Parameter(copied.positions(0, longest).detach().clone(), requires_grad=False)
    copied.positions = table
    return copied


def vocabulary_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """The tokens by their ids, the special ids, and those that are never written."""
    known = tokenizer.vocabulary
    return {**asdict(known), "banned": list(known.banned), "tokens": tokenizer.tokens()}


def _save(part: nn.Module, given: label_graphs.Given, outputs: Sequence[str], path: Path) -> None:
    shapes = tuple(shape for _, shape in given.values())
    whole = isinstance(part, label_graphs.LabelGraph | writer_graphs.ReadGraph | writer_graphs.StepGraph)  # of *tensors
    torch.onnx.export(
        part.eval(),
        tuple(tensor for tensor, _ in given.values()),
        path,
        input_names=list(given),
        output_names=list(outputs),
        dynamic_shapes=(shapes,) if whole else shapes,
        opset_version=OPSET,
        dynamo=True,
        custom_translation_table={torch.ops.aten.repeat_interleave.Tensor: label_graphs.repeat_interleave},
        external_data=False,
        verbose=False,
    )


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without the exporter's progress on the screen; what goes wrong is raised all the same."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
