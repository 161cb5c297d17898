"""As a program: exports a small model of each recurrent system that writes texts, and writes with onnxruntime.

In a process of its own: inside a test every call is checked for its types, which torch cannot trace.
"""

import json
import sys
import tempfile
import warnings
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnxruntime
import torch

from saccade.exchange import onnx
from saccade.search import Config as SearchConfig
from saccade.search import search
from saccade.trained import TrainedModel

from ..systems.tiny import Tiny, tiny

LONGEST, STEPS = 12, 40
MORE = {"show_attend_tell": 120, "hard attention": 120}
# Between them: both cells, one and two layers and directions.
KEYS: dict[str, dict[str, Any]] = {
    "bahdanau": {"cell": "gru", "directions": 2},
    "luong": {"cell": "lstm", "num_layers": 2},
    "seq2seq": {"cell": "gru", "num_layers": 2},
    "show_attend_read": {"num_layers": 2},
    "hard attention": {"attention": "hard"},
}
SYSTEM = {"hard attention": "show_attend_tell"}


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

    def greedy(self, given: dict[str, Any]) -> tuple[list[list[int]], Any, Any]:
        """The likeliest token, again and again: texts, log-probabilities (B, T, V), weights (T, B, K) where it attends."""
        target = self.facts["target"]
        known = {**given, **self.run("encoder", given)}
        text, logs, weights = np.full((len(known["states"]), 1), target["start"]), [], []
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


def teach(one: Tiny, steps: int) -> None:
    """A few steps of learning, after which texts are neither all alike nor sure."""
    optimizer, batch = torch.optim.Adam(one.model.parameters(), 0.01), one.batch()
    for _ in range(steps):
        optimizer.zero_grad()
        output = one.model(batch)
        (output.loss / output.count).backward()
        optimizer.step()


def steps_of(model: Any, input: Any, before: torch.Tensor) -> tuple[Any, list[Any]]:
    """Our log-probabilities (B, T, V) behind each of these tokens (B, T), and where it looks: T times (B, K), or nothing."""
    state, logs, looks = model.start(model.read(input)), [], []
    for number in range(before.shape[1]):
        step = model.step(before[:, number : number + 1], state)
        state = step.state
        logs.append(step.log_probs[:, 0])
        looks += [look.weights[:, 0, 0].numpy() for look in step.glance()]
    return torch.stack(logs, 1).numpy(), looks


def written(one: Tiny, input: Any, count: int) -> list[list[int]]:
    """What our greedy search writes, the end included."""
    known = one.task.writer.vocabulary
    special: Any = {"start": known.start, "end": known.end, "banned": known.banned}
    found = search(one.model, one.model.read(input), SearchConfig(max_length=LONGEST), inputs=count, **special)
    return [[*best[0].tokens, *[known.end] * best[0].finished] for best in found]


def tried(name: str, out: Path) -> dict[str, Any]:
    """What both write, and how far their numbers are apart at the most, for all examples and for one."""
    system = SYSTEM.get(name, name)
    one = tiny(system, **KEYS.get(name, {}))
    teach(one, MORE.get(name, STEPS))
    onnx.write(cast(TrainedModel, SimpleNamespace(module=one.model, task=one.task, system=system)), out)
    session, column = Session(out), one.task.reader.encode([example.input for example in one.examples])
    found: dict[str, Any] = {"system": name, "facts": session.facts}
    for part, chosen in (("all", [*one.rows]), ("one", [2])):
        input = column.batch(chosen)
        tensors = {field.name: getattr(input, field.name).numpy() for field in fields(input)}
        texts, logs, weights = session.greedy(tensors)
        with torch.no_grad():
            ours, looks = steps_of(one.model, input, session.before)
            wanted = written(one, input, len(chosen))
        looked = max((float(np.abs(a - b).max()) for a, b in zip(weights, looks, strict=True)), default=None)
        found[part] = {"texts": texts, "wanted": wanted, "apart": float(np.abs(logs - ours).max()), "looked": looked}
        found["sizes"] = found.get("sizes") or tensors.get("lengths", np.zeros(0)).tolist()
    found["files"] = sorted(path.name for path in out.iterdir())
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(tried(name, Path(folder))), flush=True)
