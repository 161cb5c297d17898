"""Bags of instances: scaled to mean 0 and deviation 1, features in the order of training, given by number, file or array."""

import json
from pathlib import Path

import numpy as np
import pytest

from saccade.data.examples import Bag, Columns, Example, Splits
from saccade.errors import DataError, UsageError
from saccade.readers.bag import FILE, Config, Reader, Scale, axis, fitted, parsed
from tests.made_tasks import nothing

ROWS = np.array([[0, 5, 1], [0, 5, 2], [0, 5, 3], [0, 5, 90]], dtype=np.float32)
BAGS = [Bag(ROWS[:1]), Bag(ROWS[1:])]
SPLITS = Splits([Example(bag, label) for bag, label in zip(BAGS, "ab", strict=True)], [], [])


def reader(max_deviation: float = 0.0) -> Reader:
    return Reader.fit(Config(max_deviation=max_deviation), None, SPLITS, [])


def test_features_are_scaled_each_by_itself() -> None:
    scaled = Scale.of(BAGS)(ROWS)
    assert scaled.dtype == np.float32
    assert np.array_equal(scaled[:, :2], np.zeros((4, 2)))  # a feature that never changes says nothing
    assert scaled[:, 2].mean() == pytest.approx(0, abs=1e-6)
    assert scaled[:, 2].std() == pytest.approx(1, abs=1e-6)


def test_pixels_are_scaled_all_alike() -> None:
    pictures = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    scale = Scale.of([Bag(pictures)])
    assert (len(scale.mean), scale.shape) == (1, (3, 4))
    assert scale(pictures).mean() == pytest.approx(0, abs=1e-6)
    assert scale(pictures).std() == pytest.approx(1, abs=1e-6)


def test_a_rare_large_value_is_brought_back() -> None:
    scaled, tamed = Scale.of(BAGS)(ROWS), Scale.of(BAGS, 1.5)(ROWS)
    assert scaled[3, 2] > 1.7
    assert tamed[3, 2] == 1.5
    assert np.array_equal(tamed[:3], scaled[:3])


def test_it_is_kept_with_the_run(tmp_path: Path) -> None:
    reader(1.5).save(tmp_path)
    again = Reader.load(Config(max_deviation=1.5), tmp_path)
    assert again.scale == Scale.of(BAGS, 1.5)
    assert again.sizes() == {"shape": (3,)}
    told = json.loads((tmp_path / FILE).read_text())
    for damaged in ("{", "[]", "null", json.dumps({**told, "other": 1}), json.dumps({"mean": [0]})):
        (tmp_path / FILE).write_text(damaged)
        with pytest.raises(DataError, match=r"scale\.json: cannot be read .*; put the file back or train anew"):
            Reader.load(Config(), tmp_path)


def table(*names: str) -> Bag:
    """A bag of one instance, whose numbers are those of its features' names."""
    return Bag(np.array([[float(name[-1]) for name in names]], dtype=np.float32), columns=Columns(names, "new.csv"))


def test_features_come_in_the_order_that_was_learned(tmp_path: Path) -> None:
    Scale.of([table("f1", "f2", "f3")]).save(tmp_path)
    scale = Scale.load(tmp_path)
    assert scale.names == ("f1", "f2", "f3")
    assert scale.fitting(table("f3", "f1", "f2")).items.tolist() == [[1, 2, 3]]
    twice = Scale.of([table("b1", "a2", "a2")])
    own = Bag(np.array([[7, 1, 8]], dtype=np.float32), columns=Columns(("a2", "b1", "a2"), "new.csv"))
    assert twice.fitting(own).items.tolist() == [[1, 7, 8]]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("f1", "f2", "x4"), r"new\.csv: expected the features .* \(f1, f2, f3\); missing: f3; unknown: x4; rename"),
        (("f1", "f2"), r"new\.csv: .*; missing: f3; add them"),
        (("f1", "f2", "f3", "f3", "x4"), r"new\.csv: .*; unknown: f3, x4; leave them out"),
        (tuple(f"x{place}" for place in range(8)), r"unknown: x0, x1, x2, x3, x4 and 3 more; "),
    ],
)
def test_other_features_are_refused(names: tuple[str, ...], words: str) -> None:
    train, others = [Example(table("f1", "f2", "f3"), "a")], [Example(table(*names), "a")]
    with pytest.raises(DataError, match=words):
        fitted(Splits(train, [], [])).fitting(table(*names))
    for splits in (Splits(train, others, []), Splits(train, [], others)):
        with pytest.raises(DataError, match=words):
            fitted(splits)


def test_where_names_are_not_known_only_the_number_counts() -> None:
    scale = Scale.of(BAGS)
    assert scale.fitting(table("x3", "x1", "x2")).items.tolist() == [[3, 1, 2]]
    with pytest.raises(DataError, match=r"new\.csv: expected items of shape \(3,\).*got items of shape \(2,\)"):
        scale.fitting(table("x1", "x2"))


def test_instances_of_several_shapes_are_refused() -> None:
    with pytest.raises(DataError, match=r"expected instances of one shape, got \(2,\) and \(3,\)"):
        Scale.of([*BAGS, Bag(ROWS[:, :2])])


def test_a_batch_has_the_items_of_all_bags_one_after_the_other() -> None:
    found = reader().encode(BAGS).batch([1, 0])
    assert found.sizes.tolist() == [3, 1]
    np.testing.assert_array_equal(found.items.numpy(), Scale.of(BAGS)(ROWS[[1, 2, 3, 0]]))
    assert reader().encode(BAGS).lengths.tolist() == [1, 3]


def test_a_flaw_is_told_by_the_bag_s_name() -> None:
    odd = Example(Bag(ROWS[:, :2]), "a", name="short")
    ((index, problem),) = reader().flaws([*SPLITS.train, odd])
    assert index == 2
    assert "expected items of shape (3,), as in training, got items of shape (2,)" in problem
    assert list(reader().flaws([Example("words", "a")])) == [
        (0, "example 1: expected a bag of items of shape (3,), got str")
    ]


def test_bags_come_by_number_as_a_file_and_as_an_array(tmp_path: Path) -> None:
    scale = Scale.of(BAGS)
    found = parsed(" train#1 ", scale, lambda: SPLITS)
    assert found is not None
    assert (found.name, found.target) == ("train#1", "b")
    np.testing.assert_array_equal(found.input.items, ROWS[1:])
    (tmp_path / "one.csv").write_text("bag,a,b,c\nx,0,5,1\nx,0,5,2\n")
    for typed in (str(tmp_path / "one.csv"), tmp_path / "one.csv"):
        found = parsed(typed, scale, nothing)
        assert found is not None
        np.testing.assert_array_equal(found.input.items, ROWS[:2])
    for given in (ROWS, ROWS.tolist(), ROWS.astype(np.float64)):
        found = parsed(given, scale, nothing)
        assert found is not None
        np.testing.assert_array_equal(found.input.items, ROWS)
    assert parsed("  ", scale, nothing) is None
    with pytest.raises(DataError, match="expected items of shape"):
        parsed(ROWS[:, :2], scale, nothing)
    for wrong in ({"a": 1}, [[1, 2], [3]], ["x"]):
        with pytest.raises(UsageError, match="expected a bag: a file, or an array of its items"):
            parsed(wrong, scale, nothing)


def test_instances_are_numbered_marked_and_shown() -> None:
    assert list(axis(BAGS[1]).labels) == ["0", "1", "2"]
    assert list(axis(Bag(ROWS[:2], np.array([0, 1]))).labels) == ["0", "1 *"]
    pictures = Bag(np.full((2, 3, 3), 0.5, np.float32), np.array([4, 7]), grid=(1, 2))
    shown = axis(pictures, numbers=False)
    assert (list(shown.labels), shown.grid) == (["4", "7"], (1, 2))
    assert shown.images is not None
    assert shown.images.dtype == np.uint8
    assert shown.images.min() == 128
    notes = [reader().notes(Example(bag)) for bag in (BAGS[0], pictures, Bag(ROWS[:2], np.zeros(2, np.int64)))]
    assert notes == [{}, {"marked instances": "*"}, {}]
