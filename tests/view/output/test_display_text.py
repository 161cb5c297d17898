"""Text that is safe to show: cut to its columns, without breaking what belongs together."""

from saccade.view.output import display_text


def test_long_labels_are_cut() -> None:
    assert display_text.fit("attention", 5) == "atte…"
    assert display_text.fit("漢字漢字", 5) == "漢字…"
    assert display_text.fit("e\u0301" * 3, 3) == "e\u0301" * 3
    assert display_text.columns(display_text.fit("e" + "\u0301" * 10_000, 5)) <= 5
    assert display_text.fit("néon", 10, ascii_only=True) == "n\\xe9on"


def test_probabilities_are_percent() -> None:
    numbers = [0.0, 0.0004, 0.01, 0.256, 0.99, 0.9999, 1.0]
    assert [display_text.percent(number) for number in numbers] == ["0%", "<1%", "1%", "26%", "99%", ">99%", "100%"]
