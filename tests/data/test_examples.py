"""What data sets are made of: labels in their order."""

from saccade.data.examples import in_order


def test_labels_that_are_numbers_come_by_their_size_and_before_words() -> None:
    labels = ["b", "10", "-3", "2", "nan", "a", "1e2", "0.5"]
    assert in_order(labels) == ["-3", "0.5", "2", "10", "1e2", "a", "b", "nan"]
    assert in_order(reversed(labels)) == in_order(labels)
