"""As a program: exports a small model of each system that labels or counts, and compares what onnxruntime puts out.

In a process of its own: inside a test every call is checked for its types, which torch cannot trace.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import onnxruntime
import torch
from torch import Tensor

from saccade.data.tensors import padded
from saccade.exchange import label_graphs, onnx
from saccade.trained import TrainedModel

from ..systems.tiny import Tiny, output_of, tiny

KEYS: dict[str, dict[str, Any]] = {"document_attention": {"encoder": "gru"}}  # atae_lstm has the LSTM


def tensors_of(one: Tiny, rows: list[int]) -> dict[str, Tensor]:
    """Those of these examples as the graph takes them: of documents a rectangle of sentences."""
    input = one.batch(rows).input
    if one.settings.system != "han":
        return label_graphs.tensors_of(input)
    longest = int(input.counts.max())
    sentences = iter([row[:size].tolist() for row, size in zip(input.tokens, input.lengths.tolist(), strict=True)])
    documents = [[next(sentences) for _ in range(count)] for count in input.counts.tolist()]
    flat = padded([row for part in documents for row in part + [[]] * (longest - len(part))])
    return {name: own.unflatten(0, (-1, longest)) for name, own in zip(("tokens", "lengths"), flat, strict=True)}


def tried(system: str, out: Path) -> dict[str, Any]:
    """How far a graph is from the model, at the most, for all examples and for one; and what its inputs are."""
    one = tiny(system, **KEYS.get(system, {}))
    onnx.write(cast(TrainedModel, SimpleNamespace(module=one.model, task=one.task, system=system)), out)
    session = onnxruntime.InferenceSession(str(out / "model.onnx"))
    facts = json.loads((out / "saccade.json").read_text(encoding="utf-8"))
    apart, spread = [], 0.0
    for rows in ([*one.rows], [1]):
        tensors = tensors_of(one, rows)
        (found,) = session.run([facts["output"]], {name: tensors[name].numpy() for name in facts["inputs"]})
        with torch.no_grad():
            wanted = output_of(one.model, one.batch(rows))
        apart.append(float((torch.from_numpy(found) - wanted).abs().max()))
        spread = max(spread, float(wanted.max() - wanted.min()))
    shapes = {given.name: given.shape[0] for given in session.get_inputs()}
    files = sorted(path.name for path in out.iterdir())
    return {"system": system, "apart": max(apart), "spread": spread, "facts": facts, "shapes": shapes, "files": files}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(tried(name, Path(folder))), flush=True)
