"""Writes a run as ONNX: `encoder.onnx` reads once, `decoder.onnx` gives the logits of the next token as often as asked.

    encoder: source (B, K), lengths (B) -> memory (B, K, D)
    decoder: written (B, T), memory (B, K, D), lengths (B) -> logits (B, V)

`written` begins with the start; all integers are 64 bits wide. `saccade.json` holds vocabularies and special ids.
"""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade.data.tokenizers import END, PAD, START, UNKNOWN
from saccade.exchange.plain import Reader, Writer
from saccade.systems.transformer import Model
from saccade.training.trained import Trained

OPSET = 18


def export(trained: Trained, out: Path) -> None:
    """Both graphs, and what is needed to use them."""
    model, task, settings = trained.model, trained.task, trained.run.settings
    assert isinstance(model, Model)
    longest = max(settings.task.longest + 1, settings.search.max_length + 1)
    if model.config.positions == "learned":
        longest = min(longest, model.config.longest)
    source, lengths = torch.full((2, 5), UNKNOWN), torch.tensor([5, 3])
    written, memory = torch.full((2, 3), START), torch.zeros(2, 5, model.config.width)
    batch, places, steps = (torch.export.Dim(name, min=1) for name in ("batch", "places", "steps"))
    reads, seen = {0: batch, 1: places}, {0: batch}
    with _quietly():
        _save(
            Reader(model, longest), {"source": (source, reads), "lengths": (lengths, seen)}, "memory", out / "encoder.onnx"
        )
        given = {"written": (written, {0: batch, 1: steps}), "memory": (memory, reads), "lengths": (lengths, seen)}
        _save(Writer(model, longest), given, "logits", out / "decoder.onnx")
    facts = {
        "opset": OPSET,
        "longest": longest,
        "special": {"pad": PAD, "start": START, "end": END, "unknown": UNKNOWN},
        "never_written": [PAD, START],
        "source_ends": task.config.source_ends,
        "source": task.source.tokens(),
        "target": task.target.tokens(),
    }
    (out / "saccade.json").write_text(json.dumps(facts, ensure_ascii=False) + "\n", encoding="utf-8")


def _save(part: nn.Module, given: Mapping[str, tuple[Tensor, Mapping[int, Any]]], output: str, path: Path) -> None:
    torch.onnx.export(
        part.eval(),
        tuple(tensor for tensor, _ in given.values()),
        path,
        input_names=list(given),
        output_names=[output],
        dynamic_shapes=tuple(shape for _, shape in given.values()),
        opset_version=OPSET,
        dynamo=True,
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
