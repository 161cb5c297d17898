"""Planetoid: the published counts, the split, and pickles that run nothing."""

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.formats import pickles
from saccade.data.picture_sets import planetoid
from saccade.data.formats.graph_files import GraphData
from saccade.data.formats.pickles import Csr
from saccade.errors import DataError

STAGED = os.environ.get("SACCADE_DATA")
HERE = Path("some.pickle")


def staged(name: str) -> GraphData:
    try:
        return planetoid.load(planetoid.Config(graph=name))  # type: ignore[arg-type]
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


class _Call:
    """Pickles to a call of something."""

    def __init__(self, function: Any, *given: Any) -> None:
        self.call = (function, given)

    def __reduce__(self) -> Any:
        return self.call


HOSTILE = {
    "os.system": _Call(os.system, "touch /tmp/never"),
    "eval": _Call(eval, "1"),
    "in a list": [1, _Call(os.getcwd)],
    "in a dict": {1: [_Call(print, "never")]},
    "getattr": _Call(getattr, "text", "upper"),
    "numpy.load": _Call(np.load, "file", None, True),
    "an object": Path("a"),
}


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("thing", HOSTILE.values(), ids=HOSTILE)
def test_a_pickle_that_asks_for_anything_else_is_refused(thing: Any, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object) -> None:
        raise AssertionError("it ran")

    data = pickle.dumps(thing, protocol)
    monkeypatch.setattr(os, "system", never)
    with pytest.raises(DataError, match="it asks for") as error:
        pickles.read(data, HERE)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("some.pickle: expected a pickle of plain arrays")


def test_a_pickle_that_would_fill_the_memory_is_refused() -> None:
    empty = b"\x80\x02}r" + (5_000_000).to_bytes(4, "little") + b"."  # a dict, kept in the last of so many places
    with pytest.raises(DataError, match="it asks for room for 5000000 things; refused"):
        pickles.read(empty, HERE)
    one = list(range(1000))
    with pytest.raises(DataError, match="its lists are longer than it is; refused"):
        pickles.read(pickle.dumps(dict.fromkeys(range(1000), one), 2), HERE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a pickle",
        b"\x80\x02K\x01.",  # a number
        b"ccollections\ndefaultdict\n(dS'x'\nI1\nsb.",  # a class that is given attributes
        b"ccollections\ndefaultdict\n)R(dS'x'\nI1\nsb.",  # a dict that is
        b"cnumpy\nndarray\n)\x81.",  # an array without a state
        b"(lp0\ng0\na.",  # a list that holds itself
        pickle.dumps(np.array([{}, 1], dtype=object), 3),
        pickle.dumps({"a": [1]}, 2),
        pickle.dumps({1: ["a"]}, 2),
        pickle.dumps({1: 2}, 2),
        pickle.dumps(np.zeros(3), 3)[:-40],
        pickle.dumps(np.zeros(3), 3).replace(b"K\x03\x85", b"K\x04\x85"),  # bytes that do not fill the shape
    ],
)
def test_a_damaged_pickle_is_told_in_one_line(data: bytes) -> None:
    with pytest.raises(DataError, match=r"some\.pickle: expected a pickle of plain arrays") as error:
        pickles.read(data, HERE)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["f4", ">f8", "i8", "u1", "bool"])
def test_arrays_of_numbers_are_read(kind: str, order: Any, protocol: int) -> None:
    array = np.arange(12).reshape(3, 4).astype(kind, order=order)
    if kind == "bool":
        assert array.dtype.str == "|b1"
    found = pickles.read(pickle.dumps(array, protocol), HERE)
    np.testing.assert_array_equal(found, array)


def test_dicts_of_lists_are_read() -> None:
    assert pickles.read(pickle.dumps({3: [1, 2], 1: []}, 2), HERE) == {3: [1, 2], 1: []}


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


def test_a_sparse_matrix_is_read() -> None:
    found = pickles.read(matrix(), HERE)
    assert isinstance(found, Csr)
    assert found.rows().tolist() == [0, 1, 1]
    assert found.columns.tolist() == [2, 0, 1]
    assert found.values.tolist() == [1, 2, 3]
    assert found.width == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"_shape": (3, 3)},
        {"_shape": (2, 2)},
        {"_shape": None},
        {"_shape": ("a", 3)},
        {"indptr": np.array([0, 3, 1])},
        {"indptr": np.array([1, 1, 3])},
        {"indices": np.array([2, -1, 1])},
        {"data": np.array([1.0, 2.0])},
        {"data": None},
    ],
    ids=str,
)
def test_a_matrix_that_does_not_fit_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="expected a pickle of plain arrays"):
        pickles.read(matrix(**changes), HERE)


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
    found = planetoid.load(planetoid.Config())
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
