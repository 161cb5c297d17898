"""Sets with an odd one out."""

from pathlib import Path

import numpy as np
import pytest

from saccade.data.sets import set_outliers
from saccade.errors import UsageError
from tests import made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACCADE_DATA", str(tmp_path))
    made.mnist(tmp_path)
    return tmp_path


def test_one_of_a_set_is_another_digit(place: Path) -> None:
    splits = set_outliers.load(set_outliers.Config(train_size=60, valid_size=5, test_size=5))
    for bag in [*splits.train, *splits.test]:
        shown = (bag.input.items[:, 0, 0] * 255).round()
        (odd,) = np.flatnonzero(bag.input.marks)
        assert len(shown) == 16
        assert len(set(np.delete(shown, odd).tolist())) == 1
        assert shown[odd] not in np.delete(shown, odd)
    assert len({int(bag.input.marks.argmax()) for bag in splits.train}) > 8
    with pytest.raises(UsageError, match="at least 3"):
        set_outliers.Config(size=2)
