"""Citation graphs Cora and Citeseer with the fixed split of Planetoid (Sen et al. 2008, Yang et al. 2016).

Nodes are papers, features the words in them, each row over its sum. Citations lead both ways; doubles and self loops are
left out. Training are 20 papers of each class, validation 500 others, test 1,000. Citeseer's file of test papers
lacks 15 that its graph has: they have no words and no label (-1), and belong to no part.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.data import known
from saccade.data.examples import Node, Splits
from saccade.data.formats import pickles
from saccade.data.formats.graph_files import GraphData, Integers, both_ways, row_normalized
from saccade.data.formats.pickles import Csr
from saccade.errors import DataError

INPUT, TARGET = Node, str
VALID = 500
# The files do not tell the names of classes: numbers stand for them.
CLASSES = {"cora": 7, "citeseer": 6}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which graph."""

    graph: Literal["cora", "citeseer"] = "cora"
    "cora: 2,708 papers in 7 classes; citeseer: 3,327 papers in 6 classes."


def load(config: Config) -> Splits:
    """The whole graph."""
    x, rest, tests = (_matrix(config.graph, part) for part in ("x", "allx", "tx"))
    labels, test_labels = _labels(config.graph, "ally"), _labels(config.graph, "ty")
    test = _test_index(config.graph)
    first, count = len(rest.starts) - 1, int(test.max()) + 1
    if len(test) != len(tests.starts) - 1 or test.min() != first or len(labels) != first or len(test_labels) != len(test):
        raise DataError(
            f"planetoid/ind.{config.graph}: expected parts of one graph, got files that do not fit; take them anew"
        )
    truth = np.full(count, -1, np.int64)
    truth[:first], truth[test] = labels, test_labels
    features = row_normalized(_joined(rest, tests, test - first, count - first))
    train = len(x.starts) - 1
    valid = np.arange(train, train + VALID)
    edges = _edges(config.graph, count)
    classes = tuple(str(number) for number in range(CLASSES[config.graph]))
    return GraphData(features, truth, edges, np.arange(train), valid, np.sort(test), classes).splits()


def _joined(top: Csr, bottom: Csr, places: Integers, count: int) -> Csr:
    """Rows of one matrix, and below them those of another in these places among so many."""
    if top.width != bottom.width:
        raise DataError(
            f"planetoid: expected features of one width, got {top.width} and {bottom.width}; take the files anew"
        )
    sizes = np.zeros(count, np.int64)
    sizes[places] = np.diff(bottom.starts)
    order = np.argsort(places[bottom.rows()], kind="stable")
    starts = np.concatenate((top.starts, top.starts[-1] + sizes.cumsum()))
    columns = np.concatenate((top.columns, bottom.columns[order]))
    values = np.concatenate((top.values, bottom.values[order]))
    return Csr(starts, columns, values, top.width)


def _path(name: str, part: str) -> Path:
    return known.find("planetoid", f"ind.{name}.{part}")


def _matrix(name: str, part: str) -> Csr:
    path = _path(name, part)
    matrix = pickles.read(known.unzipped(path), path)
    if not isinstance(matrix, Csr):
        raise DataError(f"{path}: expected a sparse matrix, got {type(matrix).__name__}; take the published file")
    return matrix


def _labels(name: str, part: str) -> Integers:
    """The class of each row, of a matrix with a 1 in its column; rows of zeros have none."""
    path = _path(name, part)
    one_hot: NDArray[np.int64] = pickles.read(known.unzipped(path), path)
    if not isinstance(one_hot, np.ndarray) or one_hot.ndim != 2 or one_hot.shape[1] != CLASSES[name]:
        raise DataError(f"{path}: expected labels in {CLASSES[name]} columns; take the published file")
    return np.where(one_hot.any(1), one_hot.argmax(1), -1).astype(np.int64)


def _test_index(name: str) -> Integers:
    path = _path(name, "test.index")
    try:
        return np.array([int(line) for line in known.unzipped(path).split()], np.int64)
    except ValueError:
        raise DataError(f"{path}: expected a whole number in each line; take the published file") from None


def _edges(name: str, count: int) -> Integers:
    path = _path(name, "graph")
    neighbors = pickles.read(known.unzipped(path), path)
    if not isinstance(neighbors, dict):
        raise DataError(f"{path}: expected lists of neighbors, got {type(neighbors).__name__}; take the published file")
    pairs = np.array([(node, other) for node, others in neighbors.items() for other in others], np.int64).reshape(-1, 2).T
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < count:
        raise DataError(
            f"{path}: expected nodes 0 … {count - 1}, got {pairs.min()} … {pairs.max()}; take the published file"
        )
    return both_ways(pairs, count)
