"""Pickles of plain arrays, lists and sparse matrices, read without running anything."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.data.formats import pickles
from saccade.data.formats.pickles import Csr
from saccade.errors import DataError

HERE = Path("some.pickle")


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
