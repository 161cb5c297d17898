"""Graphs whose nodes have features and labels, and your own as two CSV files.

    data.nodes=nodes.csv    id, label, and split (train, valid, test) if you like; every other column is a feature
    data.edges=edges.csv    source, target by the nodes' ids; every other column is a feature of the edge

The first line names the columns. An empty label is an unknown one. Without a column split, some nodes that have labels are
held out. Edges lead both ways unless data.directed is true: each
is then listed from source to target and back, with the same features. Self loops are left out (a layer adds its own), and
so is an edge that is listed again, unless edges have features: then it is an error, for nobody could tell which one holds.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.config import Share
from saccade.data.examples import Example, Node, Splits, in_order
from saccade.data.formats.csv_tables import CsvTable
from saccade.data.formats.pickles import Csr
from saccade.data.hold_out import hold_out
from saccade.errors import DataError, UsageError

Integers = NDArray[np.int64]
SPLITS = ("train", "valid", "test")
INPUT, TARGET = Node, str
OWN = "data.nodes=nodes.csv data.edges=edges.csv"


@dataclass(frozen=True, eq=False)
class GraphData:
    """A graph whose nodes are to be labeled; a label of -1 is not known.

    Shapes: features N rows, labels (N), edge_index (2, E) from row 0 to row 1, edge_features (E, F)
    """

    features: Csr
    labels: Integers
    edge_index: Integers
    train: Integers
    valid: Integers
    test: Integers
    classes: tuple[str, ...]
    nodes: tuple[str, ...] = ()
    """The nodes' names; empty: their numbers."""
    edge_features: NDArray[np.float32] | None = None
    places: tuple[str, ...] = ()
    """The file and row of each node, for messages; nothing where the graph was published."""

    def where(self, node: int) -> str:
        """The file and row of a node, or its name."""
        return self.places[node] if self.places else f"node {self.nodes[node] if self.nodes else node}"

    def content(self) -> Iterator[bytes]:
        """All that a model can learn from, but for the labels."""
        yield "\0".join((*self.classes, "", *self.nodes)).encode("utf-8", "surrogatepass")
        for array in (*self.features[:3], self.edge_index, self.edge_features):
            yield b"" if array is None else np.ascontiguousarray(array).tobytes()

    def splits(self) -> Splits:
        """The nodes of each part, as examples that share the graph."""
        return Splits(
            *([self.example(node) for node in getattr(self, part)] for part in SPLITS), shared=self, labels=self.classes
        )

    def example(self, node: int) -> Example:
        """A node with its label; "" where that is not known."""
        label = int(self.labels[node])
        name = self.nodes[node] if self.nodes else f"{node}"
        return Example(Node(node), self.classes[label] if label >= 0 else "", name=name, files=(self.where(node),))


@dataclass(frozen=True, kw_only=True)
class Config:
    """Where the nodes and edges are."""

    nodes: str = ""
    """CSV of the nodes: id, label, perhaps split, and features."""
    edges: str = ""
    """CSV of the edges: source, target, and perhaps features."""
    directed: bool = False
    """Whether an edge leads only from its source to its target."""
    held_out: Share = 0.1
    """Share of the labeled nodes that is held out for validation when there is no column split; 0: none."""


def load(config: Config) -> Splits:
    """The nodes of both files."""
    if not config.nodes or not config.edges:
        raise UsageError("data.nodes and data.edges: expected two CSV files, got one or none; fix: data.nodes=nodes.csv")
    nodes = CsvTable(Path(config.nodes), ("id", "label"))
    names, labels = nodes.column("id"), nodes.column("label")
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        raise DataError(f"{config.nodes}: expected each id once, got {_double(names)!r} twice; name nodes apart")
    classes = tuple(in_order(set(labels) - {""}))
    known = {name: number for number, name in enumerate(classes)} | {"": -1}
    truth = np.array([known[label] for label in labels], np.int64)
    edges = CsvTable(Path(config.edges), ("source", "target"))
    ends = np.array([_ends(numbers, edges, side) for side in edges.wanted], np.int64)
    edge_index, features = _edges(ends.reshape(2, -1), edges, config.directed)
    dense = nodes.numbers(("id", "label", "split"))
    places = tuple(map(nodes.where, range(len(names))))
    train, valid, test = _parts(nodes, truth, config.held_out)
    return GraphData(sparse(dense), truth, edge_index, train, valid, test, classes, tuple(names), features, places).splits()


def both_ways(ends: Integers, nodes: int) -> Integers:
    """Undirected edges, each once from either end, without self loops, sorted by source and target."""
    source, target = np.concatenate((ends, ends[::-1]), 1)
    codes = np.unique((source * nodes + target)[source != target])
    return np.stack((codes // nodes, codes % nodes))


def sparse(dense: NDArray[np.float32]) -> Csr:
    """A matrix by its rows."""
    rows, columns = dense.nonzero()
    starts = np.concatenate(([0], np.bincount(rows, minlength=len(dense)).cumsum()))
    return Csr(starts.astype(np.int64), columns.astype(np.int64), dense[rows, columns].astype(np.float32), dense.shape[1])


def row_normalized(features: Csr) -> Csr:
    """Every row over its sum; a row of zeros stays so."""
    rows = features.rows()
    sums = np.bincount(rows, features.values, len(features.starts) - 1)[rows]
    safe = np.where(sums == 0, 1, sums)
    return features._replace(values=(features.values / safe).astype(np.float32))


def _ends(numbers: dict[str, int], edges: CsvTable, side: str) -> list[int]:
    """The numbers of the nodes that a column names."""
    names = edges.column(side)
    for row, name in enumerate(names):
        if name not in numbers:
            expected = f"expected an id of the nodes' file as {side}, got {name!r}"
            raise DataError(f"{edges.where(row)}: {expected}; add the node, or leave the edge out")
    return [numbers[name] for name in names]


def _double(names: list[str]) -> str:
    """The commonest name."""
    return Counter(names).most_common(1)[0][0]


def _edges(ends: Integers, table: CsvTable, directed: bool) -> tuple[Integers, NDArray[np.float32] | None]:
    """The edges and their features, self loops and doubles left out."""
    nodes = int(ends.max()) + 1 if ends.size else 1
    if table.header == list(table.wanted) or len(table.header) == 2:
        if not directed:
            return both_ways(ends, nodes), None
        codes = np.unique((ends[0] * nodes + ends[1])[ends[0] != ends[1]])
        return np.stack((codes // nodes, codes % nodes)), None
    features = table.numbers(table.wanted)
    proper = ends[0] != ends[1]
    ends, features = ends[:, proper], features[proper]
    if not directed:
        ends, features = np.concatenate((ends, ends[::-1]), 1), np.concatenate((features, features))
    codes, first = np.unique(ends[0] * nodes + ends[1], return_index=True)
    if len(codes) < ends.shape[1]:
        hint = "" if directed else ", from either end"
        raise DataError(f"{table.path}: expected each edge with features once{hint}, got one twice; leave one out")
    return ends[:, first], features[first]


def _parts(table: CsvTable, labels: Integers, held_out: float) -> list[Integers]:
    """Training, validation and test nodes; without a column for it, some by their ids, and no test."""
    if "split" not in table.header:
        names = table.column("id")
        labeled = [Example(node, str(labels[node]), name=names[node]) for node in np.flatnonzero(labels >= 0).tolist()]
        both = hold_out(labeled, held_out, lambda one: one.name.encode(), every_label=True)
        return [*(np.array([one.input for one in part], np.int64) for part in both), np.zeros(0, np.int64)]
    splits = np.array(table.column("split"), dtype=str)
    for name in sorted(set(splits.tolist()) - {"", *SPLITS}):
        raise DataError(f"{table.path}: expected train, valid, test or nothing as split, got {name!r}")
    parts = [np.flatnonzero(splits == name) for name in SPLITS]
    for part in parts:
        for node in part[labels[part] < 0].tolist():
            missing = "expected a label for each node that has a split, got none"
            raise DataError(f"{table.where(node)}: {missing}; leave split empty")
    return parts
