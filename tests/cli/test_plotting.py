"""`saccade plot` as it is typed."""

from pathlib import Path

import pytest

from .commands import here


def test_in_the_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("plot run --width 60 --no-color", capsys)
    assert answer.code == 0
    assert "loss: training (line), validation (points)" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 60


def test_as_pictures(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here("plot run -o a.svg -o a.html --metric grad_norm --over tokens --smooth 2 --log", capsys)
    assert (answer.code, answer.out) == (0, "a.svg\na.html\n")
    assert "grad norm, training" in Path("a.svg").read_text()
    assert "target tokens" in Path("a.html").read_text()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("plot rum", "rum: no such directory; did you mean run?"),
        ("plot run -o a.gif", "a.gif: expected a name that ends in .svg, .png, .html, got .gif"),
        ("plot run --metric los", "unknown metric 'los'; did you mean 'loss'?"),
        ("plot run --over time-spent", "unknown axis 'time-spent'"),
    ],
)
def test_mistakes_are_told(command: str, said: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = here(command, capsys)
    assert answer.code == 2
    assert said in answer.err
