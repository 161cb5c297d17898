"""Classic multiple-instance data, and its published folds."""

import gzip
import json
from pathlib import Path

import pytest

from saccade.data.sets import mil
from saccade.errors import DataError, UsageError
from tests import made


def test_classic_bags_and_their_folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.musk1(tmp_path)
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    parts = [mil.load(mil.Config(fold=fold)) for fold in range(10)]
    tested = [bag.name for part in parts for bag in part.test]
    assert sorted(tested, key=int) == [str(n) for n in range(20)]
    for part in parts:
        assert not {bag.name for bag in part.train} & {bag.name for bag in part.test}
        assert len(part.train) + len(part.test) == 20
    with pytest.raises(UsageError, match="fold: expected 0 to 49"):
        mil.Config(fold=50)
    path = tmp_path / "mil" / f"{mil.PUBLISHED}.gz"
    path.write_bytes(gzip.compress(b"[1"))
    with pytest.raises(DataError, match="expected folds"):
        mil.load(mil.Config())
    dealt = [[bag.name for bag in mil.load(mil.Config(fold=fold, folds="dealt")).test] for fold in range(10)]
    assert sorted(int(name) for names in dealt for name in names) == list(range(20))
    path.write_bytes(gzip.compress(json.dumps({}).encode()))  # dealt where none are published
    assert [[bag.name for bag in mil.load(mil.Config(fold=fold)).test] for fold in range(10)] == dealt
    path.unlink()
    with pytest.raises(DataError, match=r"folds_5x10\.json is missing .* no public address: .* or set data\.folds=dealt$"):
        mil.load(mil.Config())
    (tmp_path / "mil" / "musk1.csv.gz").write_bytes(gzip.compress(b"2,1,0\n"))
    with pytest.raises(DataError, match="label 0 or 1"):
        mil.load(mil.Config())
