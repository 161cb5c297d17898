"""As a program: exports a small model of each recurrent system that writes texts, and writes with onnxruntime.

In a process of its own: inside a test every call is checked for its types, which torch cannot trace.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnxruntime
import torch

from saccade.data.tensors import padded
from saccade.exchange import onnx
from saccade.search import Config as SearchConfig
from saccade.trained import TrainedModel

from ..systems.tiny import Tiny, tiny
from .models import encoded, logits, read_in, written

LONGEST, STEPS = 12, 40
# Between them: both cells, one and two layers and directions.
KEYS: dict[str, dict[str, Any]] = {
    "bahdanau": {"cell": "gru", "directions": 2},
    "luong": {"cell": "lstm", "num_layers": 2},
    "seq2seq": {"cell": "gru", "num_layers": 2},
}


class Session:
    """Both graphs, as a program of the user's own would run them: by the names that saccade.json says."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.graphs = {
            name: onnxruntime.InferenceSession(str(path / f"{name}.onnx"), options) for name in ("encoder", "decoder")
        }
        self.facts = json.loads((path / "saccade.json").read_text(encoding="utf-8"))

    def run(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """All outputs of a graph, by their names."""
        sides = self.facts[name]
        found = self.graphs[name].run(sides["outputs"], {key: given[key] for key in sides["inputs"]})
        return dict(zip(sides["outputs"], found, strict=True))

    def greedy(self, rows: list[list[int]]) -> tuple[list[list[int]], Any, Any]:
        """The likeliest token, again and again: texts, log-probabilities (B, T, V), weights (T, B, K) where it attends."""
        target = self.facts["target"]
        tokens, lengths = (one.numpy() for one in padded(rows, self.facts["source"]["pad"]))
        known = {"lengths": lengths, **self.run("encoder", {"tokens": tokens, "lengths": lengths})}
        text, logs, weights = np.full((len(rows), 1), target["start"]), [], []
        for _ in range(LONGEST):
            found = self.run("decoder", {**known, "token": text[:, -1]})
            known |= {key.removeprefix("next_"): one for key, one in found.items() if key.startswith("next_")}
            logs.append(found["log_probs"].copy())
            weights += [found["weights"]] if "weights" in found else []
            found["log_probs"][:, target["banned"]] = -np.inf
            text = np.concatenate([text, found["log_probs"].argmax(-1)[:, None]], 1)
        ends = [row.index(target["end"]) + 1 if target["end"] in row else len(row) for row in text[:, 1:].tolist()]
        self.before = torch.from_numpy(text[:, :-1])
        return [row[:end] for row, end in zip(text[:, 1:].tolist(), ends, strict=True)], np.stack(logs, 1), weights


def taught(one: Tiny) -> Any:
    """The model after a few steps of learning, after which texts are neither all alike nor sure."""
    optimizer, batch = torch.optim.Adam(one.model.parameters(), 0.01), one.batch()
    for _ in range(STEPS):
        optimizer.zero_grad()
        output = one.model(batch)
        (output.loss / output.count).backward()
        optimizer.step()
    return one.model


def weights_of(model: Any, rows: list[list[int]], before: torch.Tensor) -> list[Any]:
    """Where our model looks at each of these tokens (B, T): T times (B, K), or nothing."""
    state, found = model.start(model.read(read_in(rows))), []
    for number in range(before.shape[1]):
        step = model.step(before[:, number : number + 1], state)
        state = step.state
        found += [look.weights[:, 0, 0].numpy() for look in step.glance()]
    return found


def tried(system: str, out: Path) -> dict[str, Any]:
    """What both write, and how far their numbers are apart at the most, for all examples and for one."""
    one = tiny(system, **KEYS[system])
    model = cast(TrainedModel, SimpleNamespace(module=taught(one), task=one.task, system=system))
    onnx.write(model, out)
    session, rows = Session(out), encoded(model, [str(example.input) for example in one.examples])
    found: dict[str, Any] = {"system": system, "sizes": [len(row) for row in rows], "facts": session.facts}
    for name, chosen in (("all", rows), ("one", rows[2:3])):
        texts, logs, weights = session.greedy(chosen)
        with torch.no_grad():
            ours = weights_of(model.module, chosen, session.before)
        apart = np.abs(logs - logits(model, chosen, session.before).numpy()).max()
        looked = max((float(np.abs(a - b).max()) for a, b in zip(weights, ours, strict=True)), default=None)
        wanted = written(model, chosen, SearchConfig(max_length=LONGEST))
        found[name] = {"texts": texts, "wanted": wanted, "apart": float(apart), "looked": looked}
    found["files"] = sorted(path.name for path in out.iterdir())
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(tried(name, Path(folder))), flush=True)
