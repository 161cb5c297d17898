"""Planetoid: the published counts and the split."""

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.formats.graph_files import GraphData
from saccade.data.sets import planetoid
from saccade.errors import DataError

STAGED = os.environ.get("SACCADE_DATA")
HERE = Path("some.pickle")


def staged(name: str) -> GraphData:
    try:
        found: GraphData = planetoid.load(planetoid.Config(graph=name)).shared  # type: ignore[arg-type]
        return found
    except DataError as error:
        if "is missing in" not in str(error):
            raise
        pytest.skip(f"planetoid is not in SACCADE_DATA: {error}")


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize(
    ("name", "nodes", "width", "classes", "edges", "train"),
    [("cora", 2708, 1433, 7, 5278, 140), ("citeseer", 3327, 3703, 6, 4552, 120)],
)
def test_the_published_graphs_have_their_published_sizes(
    name: str, nodes: int, width: int, classes: int, edges: int, train: int
) -> None:
    found = staged(name)
    assert (len(found.labels), found.features.width, len(found.classes)) == (nodes, width, classes)
    assert len(found.features.starts) == nodes + 1
    assert found.edge_index.shape == (2, 2 * edges)
    source, target = found.edge_index
    assert (source != target).all()
    assert len(np.unique(source * nodes + target)) == 2 * edges
    assert set(zip(source.tolist(), target.tolist(), strict=True)) == set(zip(target.tolist(), source.tolist(), strict=True))
    assert [len(part) for part in (found.train, found.valid, found.test)] == [train, 500, 1000]
    together = np.concatenate((found.train, found.valid, found.test))
    assert len(set(together.tolist())) == len(together)
    assert (found.labels[together] >= 0).all()
    assert np.bincount(found.labels[found.train]).tolist() == [20] * classes


@pytest.mark.skipif(not STAGED, reason="SACCADE_DATA names no directory of real data")
@pytest.mark.parametrize(("name", "without"), [("cora", 0), ("citeseer", 15)])
def test_rows_of_features_sum_to_one_or_are_empty(name: str, without: int) -> None:
    found = staged(name)
    sums = np.bincount(found.features.rows(), found.features.values, len(found.labels))
    unknown = found.labels < 0
    assert unknown.sum() == without
    assert (sums[unknown] == 0).all()
    np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-5)
    assert (sums[~unknown] > 0).mean() > 0.99


def matrix(**changes: Any) -> bytes:
    """A pickle as scipy writes it, of a 2 × 3 matrix."""
    state = {
        "_shape": (2, 3),
        "indptr": np.array([0, 1, 3], np.int32),
        "indices": np.array([2, 0, 1], np.int32),
        "data": np.array([1.0, 2.0, 3.0], np.float32),
    }
    body = pickle.dumps(state | changes, 3)[2:-1]
    return b"\x80\x03cscipy.sparse.csr\ncsr_matrix\n)\x81" + body + b"b."


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny graph in the place and form of the published ones: 1 paper to learn from, 502 others, 2 of 3 test papers."""
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    monkeypatch.setattr(planetoid, "VALID", 2)
    (tmp_path / "planetoid").mkdir()
    one = {"_shape": (1, 3), "indptr": np.array([0, 1]), "indices": np.array([2]), "data": np.array([1.0])}
    three = {
        "_shape": (3, 3),
        "indptr": np.array([0, 1, 3, 3]),
        "indices": np.array([2, 0, 1]),
        "data": np.array([1.0, 2, 2]),
    }
    two = {"_shape": (2, 3), "indptr": np.array([0, 1, 3]), "indices": np.array([0, 1, 2]), "data": np.array([4.0, 1, 3])}
    files = {
        "x": matrix(**one),
        "allx": matrix(**three),
        "tx": matrix(**two),
        "ally": pickle.dumps(np.eye(7)[[0, 1, 2]], 3),
        "ty": pickle.dumps(np.eye(7)[[3, 4]], 3),
        "graph": pickle.dumps({0: [1, 1, 0], 1: [0], 2: [5], 3: [], 4: [], 5: []}, 2),
        "test.index": b"5\n3\n",
    }
    for part, data in files.items():
        (tmp_path / "planetoid" / f"ind.cora.{part}.gz").write_bytes(gzip.compress(data))
    return tmp_path / "planetoid"


@pytest.mark.usefixtures("directory")
def test_the_parts_are_put_together() -> None:
    found = planetoid.load(planetoid.Config()).shared
    assert found.labels.tolist() == [0, 1, 2, 4, -1, 3]
    dense = np.zeros((6, 3))
    dense[found.features.rows(), found.features.columns] = found.features.values
    assert dense.tolist() == [[0, 0, 1], [0.5, 0.5, 0], [0, 0, 0], [0, 0.25, 0.75], [0, 0, 0], [1, 0, 0]]
    assert found.edge_index.tolist() == [[0, 1, 2, 5], [1, 0, 5, 2]]
    assert [part.tolist() for part in (found.train, found.valid, found.test)] == [[0], [1, 2], [3, 5]]


@pytest.mark.parametrize(
    ("part", "data"),
    [
        ("graph", pickle.dumps({0: [99]}, 2)),
        ("graph", pickle.dumps(np.zeros(3), 3)),
        ("test.index", b"5\nx\n"),
        ("test.index", b"5\n"),
        ("tx", pickle.dumps(np.zeros((2, 3)), 3)),
        ("ally", pickle.dumps(np.zeros((3, 3)), 2)),
        ("x", pickle.dumps(Path("a"), 2)),
    ],
)
def test_files_that_do_not_fit_are_told_in_one_line(directory: Path, part: str, data: bytes) -> None:
    (directory / f"ind.cora.{part}.gz").write_bytes(gzip.compress(data))
    with pytest.raises(DataError, match="expected") as error:
        planetoid.load(planetoid.Config())
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_gzip_is_told(directory: Path) -> None:
    (directory / "ind.cora.tx.gz").write_bytes(b"plain")
    with pytest.raises(DataError, match="cannot be read"):
        planetoid.load(planetoid.Config())
