"""Reading published pickles of arrays without running anything they name.

A pickle is a program. This reader knows numbers, texts, lists, dicts, numpy arrays of numbers and scipy's CSR matrices; the
latter two are stood for by inert records that are turned into arrays here, so neither numpy nor scipy takes part in reading.
Anything else is refused.
"""

import io
import math
import pickle
import pickletools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

NUMBERS = "biuf"  # the kinds of dtypes that are read


class Csr(NamedTuple):
    """A matrix by its rows: entries starts[i] … starts[i + 1] are those of row i."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float32]
    width: int

    def rows(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class _Refused(Exception):  # noqa: N818 - caught in this file
    """What a pickle asks for that is not given."""


class _Record:
    """Stands for an object of a library: keeps how it was made, and its state."""

    given: tuple[Any, ...] = ()
    state: Any = None

    def __init__(self, *given: Any) -> None:
        self.given = given

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Dtype(_Record):
    pass


class _Array(_Record):
    pass


class _Matrix(_Record):
    pass


class _Dict(dict[Any, Any]):
    """A dict whose factory of missing entries is not run."""

    def __init__(self, *given: Any) -> None:
        super().__init__()

    def __setstate__(self, state: Any) -> None:
        raise _Refused("it gives a dict a state")


# Classes only, each with its own __setstate__: a pickle may set attributes of anything else.
KNOWN: dict[tuple[str, str], type] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): _Dict,
    ("__builtin__", "list"): _Record,
    ("builtins", "list"): _Record,
}


class _Reader(pickle.Unpickler):
    """Gives records for what is known, and refuses all other names."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise _Refused(f"it asks for {module}.{name}")
        return KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        raise _Refused("it asks for an object from outside")


def read(data: bytes, path: Path) -> Any:
    """What a pickle holds: an array, a `Csr`, or a dict of lists; the path is for messages."""
    try:
        _require_modest(data)
        return _plain(_Reader(io.BytesIO(data), encoding="latin1").load(), len(data))
    except _Refused as error:
        raise DataError(
            f"{path}: expected a pickle of plain arrays, but {error}; refused, take the published file"
        ) from None
    except Exception as error:  # a damaged pickle may raise nearly anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{path}: expected a pickle of plain arrays, got a damaged one ({reason}); download it again"
        ) from None


def _require_modest(data: bytes) -> None:
    """Refuse places of a memory that no pickle of this size can fill: the reader makes room for all places up to them."""
    for code, argument, _ in pickletools.genops(data):
        if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(str(argument)) > len(data):
            raise _Refused(f"it asks for room for {argument} things")


def _plain(thing: Any, size: int) -> Any:
    if isinstance(thing, _Array):
        return _array(thing)
    if isinstance(thing, _Matrix):
        return _matrix(thing)
    if isinstance(thing, dict):
        # A list may stand in a pickle once and be meant a thousand times.
        if sum(len(value) for value in thing.values()) > size:
            raise _Refused("its lists are longer than it is")
        return {_whole(key): [_whole(entry) for entry in value] for key, value in thing.items()}
    raise _Refused(f"it holds a {type(thing).__name__.lstrip('_')}")


def _whole(number: Any) -> int:
    if not isinstance(number, int):
        raise _Refused(f"a {type(number).__name__} stands where a whole number is expected")
    return number


def _array(record: Any) -> NDArray[Any]:
    """The array of a record whose state is (version, shape, dtype, in Fortran's order, bytes)."""
    if not isinstance(record, _Array) or not isinstance(record.state, tuple) or len(record.state) != 5:
        raise _Refused("it holds an array in an unknown form")
    _, shape, dtype, fortran, raw = record.state
    kind = _dtype(dtype)
    raw = raw.encode("latin1") if isinstance(raw, str) else raw
    sizes = tuple(_whole(size) for size in shape)
    if not isinstance(raw, bytes) or any(size < 0 for size in sizes) or len(raw) != math.prod(sizes) * kind.itemsize:
        raise _Refused(f"its bytes do not fill an array of shape {sizes}")
    return np.frombuffer(raw, kind).reshape(sizes, order="F" if fortran else "C").copy()


def _dtype(record: Any) -> np.dtype[Any]:
    if not isinstance(record, _Dtype) or not isinstance(record.state, tuple) or len(record.state) < 2:
        raise _Refused("it holds an array of an unknown kind")
    name, order = str(record.given[:1] and record.given[0]), record.state[1]
    if name[:1] not in NUMBERS or not name[1:].isdigit() or order not in ("<", ">", "|", "="):
        raise _Refused(f"it holds an array of {name!r}")
    return np.dtype(name).newbyteorder(order)


def _matrix(record: _Matrix) -> Csr:
    if not isinstance(record.state, dict):
        raise _Refused("it holds a matrix in an unknown form")
    starts, columns, values = (_array(record.state.get(name)) for name in ("indptr", "indices", "data"))
    shape = record.state.get("_shape", record.state.get("shape"))
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise _Refused("it holds a matrix without a shape")
    height, width = (_whole(size) for size in shape)
    rows_fit = starts.shape == (height + 1,) and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not rows_fit or columns.shape != values.shape or columns.shape != (starts[-1],):
        raise _Refused("the parts of its matrix do not fit each other")
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        raise _Refused("its matrix has entries outside its shape")
    return Csr(starts.astype(np.int64), columns.astype(np.int64), values.astype(np.float32), width)
