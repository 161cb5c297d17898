"""Nodes of one graph, which is part of the run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from saccade import records
from saccade.attention import Graph
from saccade.config import Empty
from saccade.data.batches import Integers
from saccade.data.examples import Example, Node, Splits
from saccade.data.formats.graph_files import SPLITS, GraphData
from saccade.data.formats.pickles import Csr
from saccade.data.tensors import NodeInput
from saccade.errors import DataError, UnknownName
from saccade.readers import reader
from saccade.readers.reader import Load
from saccade.view.trace import Axis

FILE = "graph.safetensors"
Config = Empty


class NodeColumn:
    """Some nodes of the graph."""

    def __init__(self, whole: NodeInput, nodes: Integers) -> None:
        self.whole, self.nodes = whole, nodes
        self.lengths = np.ones(len(nodes), dtype=np.int64)

    def batch(self, indices: Any) -> NodeInput:
        """These nodes, in the whole graph."""
        return replace(self.whole, nodes=torch.from_numpy(self.nodes[np.asarray(indices, dtype=np.int64)]))


class Reader(reader.Reader):
    """Keeps the graph."""

    INPUT, OWN, TYPED = Node, "graph_files", "ID"
    unit, budget = "nodes", 1 << 60  # the whole graph is read however few nodes are asked for: all at once

    def __init__(self, config: Any, data: GraphData) -> None:
        super().__init__(config)
        self.data = data
        self.names = list(data.nodes) or [str(number) for number in range(len(data.labels))]
        self.numbers = {name: number for number, name in enumerate(self.names)}
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
        _ = graph.looped  # kept from now on: to find self loops takes a look at the numbers, which a traced program cannot
        matrix = sparse if _mostly_zeros(features) else sparse.to_dense()
        self.whole = NodeInput(graph, matrix, edges, torch.zeros(0, dtype=torch.long))

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        data: GraphData = splits.shared
        if data.features.width == 0:
            raise DataError(
                "expected nodes with at least one column of features, got none; add one beside id, label and split"
            )
        return cls(config, data)

    def save(self, directory: Path) -> None:
        data = self.data
        arrays: dict[str, np.ndarray[Any, Any]] = {
            "starts": data.features.starts,
            "columns": data.features.columns,
            "values": data.features.values,
        }
        arrays |= {"labels": data.labels, "edge_index": np.ascontiguousarray(data.edge_index)}
        arrays |= {part: getattr(data, part) for part in SPLITS}
        arrays |= {} if data.edge_features is None else {"edge_features": data.edge_features}
        facts = {"width": data.features.width, "classes": data.classes, "nodes": data.nodes}
        save_file(arrays, directory / FILE, {"graph": records.text(facts)})

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        try:
            arrays = load_file(directory / FILE)
            with safe_open(directory / FILE, "numpy") as file:
                facts = records.parse(file.metadata()["graph"])
            features = Csr(arrays["starts"], arrays["columns"], arrays["values"], facts["width"])
            train, valid, test = (arrays[part] for part in SPLITS)
            classes, nodes, edges = tuple(facts["classes"]), tuple(facts["nodes"]), arrays.get("edge_features")
            data = GraphData(features, arrays["labels"], arrays["edge_index"], train, valid, test, classes, nodes, edges)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise records.unreadable(directory / FILE, error) from None
        return cls(config, data)

    def kept(self) -> Splits:
        return self.data.splits()

    def sizes(self) -> dict[str, Any]:
        edges = 0 if self.data.edge_features is None else self.data.edge_features.shape[1]
        return {"features": self.data.features.width, "edge_features": edges}

    def encode(self, inputs: Sequence[Node]) -> NodeColumn:
        return NodeColumn(self.whole, np.array(inputs, dtype=np.int64))

    def parse(self, typed: Any, splits: Load) -> Example | None:
        name = str(typed).strip()
        if not name:
            return None
        if name not in self.numbers:
            raise UnknownName("node", name, self.numbers)
        return self.data.example(self.numbers[name])

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        around = [example.input, *self.data.edge_index[0][self.data.edge_index[1] == example.input].tolist()]
        classes = [self.data.example(node).target or "unknown" for node in around]
        neighbors = Axis("neighbors", [self.names[node] for node in around], classes=classes)
        return {"node": Axis("node", neighbors.labels[:1], classes=classes[:1]), "neighbors": neighbors}

    def notes(self, example: Example) -> dict[str, str | float]:
        return {"known label": example.target or "unknown"}


def _mostly_zeros(features: Csr) -> bool:
    """Whether it is quicker to pass over the zeros."""
    return len(features.values) < 0.1 * (len(features.starts) - 1) * features.width
