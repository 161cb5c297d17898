"""The Nadaraya–Watson demo, as a user runs it."""

import math
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from saccade.lab import nadaraya_watson as lab

COMMAND = [sys.executable, "-m", "saccade.lab.nadaraya_watson"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)


def test_demo_tells_measures_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "look.svg"
    done = run("--plain", "--svg", str(picture))
    assert (done.returncode, done.stderr) == (0, "")
    assert "this is attention" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if str(picture) not in line) <= 80
    mean, fixed, learned = map(float, re.findall(r"^(?:constant|Gaussian).* (\d\.\d{4})$", done.stdout, re.MULTILINE))
    assert learned < fixed / 2 < fixed < mean
    assert ElementTree.fromstring(picture.read_text(encoding="utf-8")).tag.endswith("svg")


def test_the_curve_and_the_errors_are_those_that_are_told() -> None:
    """2 sin(x) + x^0.8, and mean squared distances from it, by a loop over plain numbers."""
    x, y = lab.sample(40, 0.5, 3)
    assert lab.sample(40, 0.0, 3)[1].tolist() == pytest.approx([2 * math.sin(a) + a**0.8 for a in x.tolist()], abs=1e-5)
    grid = [lab.WIDEST * place / (lab.MEASURED - 1) for place in range(lab.MEASURED)]
    for row, width in zip(lab.compare(x, y, 0.4), (math.inf, lab.FIXED, 0.4), strict=True):
        total = 0.0
        for place in grid:
            weights = [math.exp(-(((place - a) / width) ** 2) / 2) for a in x.tolist()]
            guess = sum(weight * b for weight, b in zip(weights, y.tolist(), strict=True)) / sum(weights)
            total += (guess - 2 * math.sin(place) - place**0.8) ** 2
        assert row.error == pytest.approx(total / len(grid), rel=1e-3)


def test_help_is_there_without_torch() -> None:
    code = (
        "import sys; from saccade.lab.nadaraya_watson import parser; parser().format_help(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).stdout == b"False\n"
    done = run("--help")
    assert done.returncode == 0
    assert "the query is x" in done.stdout


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [("--points", "1", "from 2 to 2000"), ("--noise", "nan", "from 0 to 100"), ("--steps", "many", "whole number")],
)
def test_a_wrong_argument_is_a_usage_error(
    option: str, value: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        lab.main([option, value])
    assert stopped.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert expected in last
    assert repr(value) in last


def test_a_picture_that_cannot_be_written_is_one_line() -> None:
    with pytest.raises(SystemExit, match=r"cannot write '.*': "):
        lab.write(Path("/nonexistent/look.svg"), "")


def test_a_closed_pipe_is_no_failure() -> None:
    with subprocess.Popen([*COMMAND, "--steps", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_an_interrupt_is_130_without_a_traceback() -> None:
    arguments = [*COMMAND, "--steps", "10000"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    # Interrupted inside an extension module's import, Python ends itself by the signal; a shell says 130 to both.
    assert process.returncode in (130, -signal.SIGINT)
    assert errors.strip() == "interrupted"


def test_learning_hides_each_point_from_itself() -> None:
    x, y = lab.sample(20, 0.5, 0)
    weights = lab.look(x, x, y, 0.3, leave_out=True).weights()
    assert torch.equal(weights.diagonal(), torch.zeros(20))
    torch.testing.assert_close(weights.sum(-1), torch.ones(20))


def test_the_estimate_is_the_weighted_mean() -> None:
    x, y = lab.sample(20, 0.5, 0)
    query = torch.linspace(0, 5, 7)
    kernel = torch.exp(-0.5 * ((query[:, None] - x) / 0.3) ** 2)
    expected = (kernel * y).sum(1) / kernel.sum(1)
    torch.testing.assert_close(lab.look(query, x, y, 0.3).context[:, 0], expected)
    torch.testing.assert_close(lab.look(query, x, y, None).context[:, 0], y.mean().expand(7))


def test_learning_lowers_the_error_and_the_seed_decides_the_data() -> None:
    x, y = lab.sample(50, 0.5, 3)
    errors = [error for _, error in lab.learn(x, y, 60)]
    assert errors[-1] < errors[0]
    assert torch.equal(lab.sample(50, 0.5, 3)[0], x)
    assert not torch.equal(lab.sample(50, 0.5, 4)[0], x)
