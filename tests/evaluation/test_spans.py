"""Spans of BIO labels as CoNLL counts them, and answers as SQuAD compares them."""

import pytest

from saccade.evaluation.spans import answer_f1, is_bio, normalized, span_f1, spans


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("O B-A I-A O", [("A", 1, 3)]),
        ("B-A B-A", [("A", 0, 1), ("A", 1, 2)]),
        ("B-A I-B O", [("A", 0, 1), ("B", 1, 2)]),
        ("I-A I-A", [("A", 0, 2)]),
        ("O I-A O B-A", [("A", 1, 2), ("A", 3, 4)]),
        ("O O", []),
        ("", []),
    ],
)
def test_spans_of_labels(tags: str, found: list[tuple[str, int, int]]) -> None:
    assert list(spans(tags.split())) == found


def test_f1_counts_whole_spans() -> None:
    truth = [["B-A", "I-A", "O", "B-B"], ["O", "B-A"]]
    assert span_f1(truth, truth) == 1.0
    assert span_f1(truth, [["B-A", "O", "O", "B-B"], ["O", "B-A"]]) == pytest.approx(2 * 2 / (3 + 3))
    assert span_f1(truth, [["O", "O", "O", "O"], ["O", "O"]]) == 0.0
    assert span_f1([["O"]], [["O"]]) == 1.0
    assert is_bio(["O", "B-PER", "I-PER"])
    assert not is_bio(["B-PER", "I-PER"])
    assert not is_bio(["O", "NOUN"])
    assert not is_bio(["O"])


@pytest.mark.parametrize(
    ("answer", "truth", "f1"),
    [
        ("The Red Fox!", "red fox", 1.0),
        ("a red fox", "the blue fox", 0.5),
        ("red", "fox", 0.0),
        ("", "", 1.0),
        ("red", "", 0.0),
        ("fox fox", "fox", pytest.approx(2 / 3)),
    ],
)
def test_answers_are_compared_without_case_articles_and_punctuation(answer: str, truth: str, f1: float) -> None:
    assert answer_f1(answer, truth) == f1
    assert (normalized(answer) == normalized(truth)) == (f1 == 1.0)
