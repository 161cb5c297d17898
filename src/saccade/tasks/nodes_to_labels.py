"""Nodes to labels: one graph, some of whose nodes have labels, and a model that says those of the others."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file
from torch import Tensor

from saccade.attention import AttendedEdges, Graph
from saccade.data import tokenizers
from saccade.data.batches import Integers
from saccade.data.graphs import GraphData
from saccade.data.pickles import Csr
from saccade.errors import DataError, InputError, UnknownName
from saccade.layers.nodes import NodeBatch
from saccade.search import Config as SearchConfig
from saccade.tasks.labels import Labels, LabelTask, Metric
from saccade.tasks.prediction import Prediction, nothing
from saccade.view.trace import Axis, Look, Scene

DATA = "a graph"
FILE = "graph.safetensors"
PARTS = ("train", "valid", "test")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What counts as best."""

    metric: Metric = "accuracy"
    "What the best checkpoint is chosen by: accuracy, macro_f1, auc or loss."


class NodeCorpus:
    """Some nodes of the graph."""

    def __init__(self, whole: NodeBatch, nodes: Integers, labels: Integers) -> None:
        self.whole, self.nodes, self.labels = whole, nodes, labels
        self.lengths = np.ones(len(nodes), dtype=np.int64)

    def batch(self, indices: Any) -> NodeBatch:
        """These nodes, in the whole graph."""
        chosen = np.asarray(indices, dtype=np.int64)
        nodes, labels = torch.from_numpy(self.nodes[chosen]), torch.from_numpy(self.labels[chosen])
        return NodeBatch(self.whole.graph, self.whole.features, self.whole.edge_features, nodes, labels)


class Task(LabelTask):
    """Everything around a model that labels the nodes of a graph; the graph is part of the run."""

    counted = "nodes"
    BUDGET: ClassVar[int] = 1 << 60  # the whole graph is read however few nodes are asked for: all at once

    def __init__(self, config: Config, data: GraphData) -> None:
        super().__init__(Labels(data.classes), config.metric)
        self.config, self.data = config, data
        self.names = list(data.nodes) or [str(number) for number in range(len(data.labels))]
        features = data.features
        sparse = torch.sparse_coo_tensor(
            torch.from_numpy(np.stack((features.rows(), features.columns))),
            torch.from_numpy(features.values),
            (len(data.labels), features.width),
            is_coalesced=True,
            check_invariants=False,
        )
        edges = None if data.edge_features is None else torch.from_numpy(data.edge_features)
        graph = Graph(torch.from_numpy(data.edge_index), len(data.labels))
        nothing = torch.zeros(0, dtype=torch.long)
        self.whole = NodeBatch(graph, sparse if _mostly_zeros(features) else sparse.to_dense(), edges, nothing, nothing)

    @classmethod
    def fit(cls, config: Config, tokens: tokenizers.Config, data: GraphData) -> "Task":
        """There is nothing to learn before training."""
        if data.features.width == 0:
            raise DataError(
                "expected nodes with at least one column of features, got none; add one beside id, label and split"
            )
        if len(data.classes) < 2:
            raise DataError(f"expected nodes of at least 2 different labels, got {', '.join(data.classes) or 'none'}")
        learned = set(data.labels[data.train].tolist())
        for node in (*data.valid.tolist(), *data.test.tolist()):
            if (label := int(data.labels[node])) not in learned:
                told = f"label {data.classes[label]!r} is to be judged on, but no node to learn from has it"
                raise DataError(f"{data.where(node)}: {told}; give such a node the split train, or set data.held_out=0")
        return cls(config, data)

    def save(self, run: Path) -> None:
        """Write the graph into the run."""
        data = self.data
        arrays: dict[str, np.ndarray[Any, Any]] = {
            "starts": data.features.starts,
            "columns": data.features.columns,
            "values": data.features.values,
        }
        arrays |= {"labels": data.labels, "edge_index": np.ascontiguousarray(data.edge_index)}
        arrays |= {part: getattr(data, part) for part in PARTS}
        arrays |= {} if data.edge_features is None else {"edge_features": data.edge_features}
        told = {"width": data.features.width, "classes": data.classes, "nodes": data.nodes}
        save_file(arrays, run / FILE, {"graph": json.dumps(told, ensure_ascii=False)})

    @classmethod
    def load(cls, config: Config, run: Path) -> "Task":
        """Read it again."""
        try:
            arrays = load_file(run / FILE)
            with safe_open(run / FILE, "numpy") as file:
                told = json.loads(file.metadata()["graph"])
            features = Csr(arrays["starts"], arrays["columns"], arrays["values"], told["width"])
            train, valid, test = (arrays[part] for part in PARTS)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{run / FILE}: cannot be read ({error}); put the file back or train anew") from None
        classes, nodes, edges = tuple(told["classes"]), tuple(told["nodes"]), arrays.get("edge_features")
        index = arrays["edge_index"]
        return cls(config, GraphData(features, arrays["labels"], index, train, valid, test, classes, nodes, edges))

    def kept(self) -> GraphData:
        """The run judges by the graph that it keeps, whatever became of the files."""
        return self.data

    def sizes(self) -> dict[str, int]:
        """What a model is made for."""
        edges = 0 if self.data.edge_features is None else self.data.edge_features.shape[1]
        return {"features": self.data.features.width, "labels": len(self.data.classes), "edge_features": edges}

    def require_sound(self, example: Any) -> None:
        """A node has a label if it has a split."""

    def truth(self, examples: Sequence[Any]) -> Integers:
        """The number of each node's label."""
        return self.data.labels[np.asarray(examples, dtype=np.int64)]

    def groups_of(self, examples: Sequence[Any]) -> list[str]:
        """Nodes have none."""
        return [""] * len(examples)

    def corpus(self, nodes: Sequence[Any]) -> NodeCorpus:
        """These nodes."""
        chosen = np.asarray(nodes, dtype=np.int64)
        return NodeCorpus(self.whole, chosen, np.maximum(self.data.labels[chosen], 0))

    def predict(
        self,
        model: Any,
        texts: Iterable[str],
        search_config: SearchConfig,
        *,
        looks: bool = False,
        groups: Sequence[str] = ("",),
    ) -> Iterator[list[Prediction]]:
        """The most probable labels of each node, which is named by its id; an empty line gives an empty one."""
        lines = [text.strip() for text in texts]
        numbers = {name: number for number, name in enumerate(self.names)}
        for place, line in enumerate(lines, 1):
            if line and line not in numbers:
                raise InputError(place, UnknownName("node", line, numbers))
        nodes = [numbers[line] for line in lines if line]
        batch = self.corpus(nodes).batch(range(len(nodes)))
        with torch.inference_mode():
            logs = iter(model.eval()(batch).log_softmax(-1))
            seen: Mapping[str, AttendedEdges] = model.attended(batch) if looks else {}
        for line in lines:
            if line:
                yield self.ranked(next(logs), self._looks(seen, numbers[line]), search_config.n_best)
            else:
                yield nothing()

    def _looks(self, seen: Mapping[str, AttendedEdges], node: int) -> dict[str, Tensor]:
        """The weights of the edges into a node, its self loop first, (H, 1, neighbors + 1)."""
        into = torch.from_numpy(np.flatnonzero(self.data.edge_index[1] == node))
        return {
            name: torch.cat((look.loops()[..., node, None], look.weights()[..., into]), -1).reshape(-1, 1, len(into) + 1)
            for name, look in seen.items()
        }

    def scenes(
        self, text: str, predictions: Sequence[Prediction], kind: str, reading: Mapping[str, Tensor] | None = None
    ) -> list[Scene]:
        """A picture of the node among its neighbors: how much each of them was for it."""
        node = self.names.index(text.strip())
        around = [node, *self.data.edge_index[0][self.data.edge_index[1] == node].tolist()]
        sides = {"node": Axis("node", [self.names[node]]), "neighbors": Axis("neighbors", [self._told(i) for i in around])}
        return [
            Scene(
                f"{self.names[node]}: {one.text}",
                sides,
                [Look(name, "node", "neighbors", weights.float().numpy()) for name, weights in one.looks.items()],
                {"probability": float(np.exp(one.log_prob)), "known label": self._label(node)},
            )
            for one in predictions
        ]

    def _told(self, node: int) -> str:
        return f"{self.names[node]} ({self._label(node)})"

    def _label(self, node: int) -> str:
        label = int(self.data.labels[node])
        return self.data.classes[label] if label >= 0 else "unknown"


def _mostly_zeros(features: Csr) -> bool:
    """Whether it is quicker to pass over the zeros."""
    return len(features.values) < 0.1 * (len(features.starts) - 1) * features.width
