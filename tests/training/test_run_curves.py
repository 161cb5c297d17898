"""What is drawn of runs is what their logs say, over steps, tokens and time, under names that tell them apart."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saccade.errors import UnknownName, UsageError
from saccade.training.run_curves import Over, plot

from .test_run_list import CONFIG, made, step, valid

LOG = [step(10), step(20), valid(20, 0.25, best=True), step(30, "skipped"), step(40), valid(40, 0.5, best=True)]


def run(place: Path, metric: str = "exact_match", learning_rate: float = 0.1, **entry: Any) -> Path:
    lines = [{**line, **(entry if line["event"] != "valid" else {})} for line in LOG]
    lines[3]["loss"] = "nan"
    made(place, lines, (40,))
    text = CONFIG.format(100, 0).replace('"exact_match"', f'"{metric}"') + f"learning_rate = {learning_rate}\nthreads = 1\n"
    (place / "config.toml").write_text(text)
    return place


def test_a_panel_of_the_loss_and_one_of_the_metric_that_chooses(tmp_path: Path) -> None:
    chart = plot(run(tmp_path / "a")).chart
    assert [panel.title for panel in chart.panels] == [
        "loss: training (line), validation (points)",
        "exact match (%), validation",
    ]
    training, validation = chart.panels[0].curves
    assert (training.x.tolist(), training.dotted) == ([10, 20, 30, 40], False)
    assert training.y == pytest.approx([1, 1, np.nan, 1], nan_ok=True)
    assert (validation.x.tolist(), validation.y.tolist(), validation.dotted) == ([20, 40], [9, 9], True)
    assert chart.panels[1].curves[0].y.tolist() == [25, 50]  # in percent
    assert chart.panels[0].skipped == [(0, 30.0)]
    assert chart.panels[1].skipped == ()


def test_runs_of_other_metrics_get_a_panel_each(tmp_path: Path) -> None:
    chart = plot(run(tmp_path / "a"), run(tmp_path / "b", "loss"), run(tmp_path / "c")).chart
    assert [len({curve.run for curve in panel.curves}) for panel in chart.panels] == [3, 3]
    assert len(plot(run(tmp_path / "d", "loss")).chart.panels) == 1


@pytest.mark.parametrize(
    ("over", "steps", "validations"),
    [
        ("steps", [10, 20, 30, 40], [20, 40]),
        ("tokens", [10, 20, 30, 40], [20, 40]),
        ("time", [2 / 60, 4 / 60, 6 / 60, 8 / 60], [4 / 60, 8 / 60]),  # 5 tokens a second
    ],
)
def test_the_axis_is_what_is_asked_for(over: Over, steps: list[float], validations: list[float], tmp_path: Path) -> None:
    training, validation = plot(run(tmp_path / "a"), over=over).chart.panels[0].curves
    assert training.x == pytest.approx(steps)
    assert validation.x == pytest.approx(validations)


def test_what_is_smoothed_keeps_what_it_was(tmp_path: Path) -> None:
    training, validation = plot(run(tmp_path / "a", grad_norm=2.0), smooth=3).chart.panels[0].curves
    assert training.raw is not None
    assert validation.raw is None


def test_any_number_of_the_log_and_of_one_group(tmp_path: Path) -> None:
    place = run(tmp_path / "a", grad_norm=2.0)
    text = (place / "log.jsonl").read_text().replace('"scores": {', '"scores": {"de": {"exact_match": 0.125}, ')
    (place / "log.jsonl").write_text(text)
    chart = plot(place, metric=["grad_norm", "exact_match/de"]).chart
    assert [panel.title for panel in chart.panels] == ["grad norm, training", "exact match (%) of de, validation"]
    assert chart.panels[1].curves[0].y.tolist() == [12.5, 12.5]
    with pytest.raises(UnknownName, match="did you mean 'grad_norm'"):
        plot(place, metric="grad_nrm")


def test_a_legend_tells_in_what_runs_differ(tmp_path: Path) -> None:
    first, second = run(tmp_path / "a"), run(tmp_path / "b", learning_rate=0.5)
    (second / "config.toml").write_text((second / "config.toml").read_text().replace("threads = 1", "threads = 2"))
    assert plot(first, second).chart.names == [f"{first} (learning_rate=0.1)", f"{second} (learning_rate=0.5)"]
    assert plot(first).chart.names == [str(first)]
    assert plot(first, run(tmp_path / "c")).chart.names == [str(first), str(tmp_path / "c")]


def test_a_new_run_without_an_earlier_one_can_be_watched(tmp_path: Path) -> None:
    run(tmp_path / "a" / ".fresh")
    assert len(plot(tmp_path / "a").chart.panels) == 2


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    run(tmp_path / "dates")
    with pytest.raises(UsageError, match=r"no such directory; did you mean .*dates\?"):
        plot(tmp_path / "datse")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="expected a directory, got a file"):
        plot(tmp_path / "file")
    (made(tmp_path / "imported", [], (0,)) / "log.jsonl").unlink()
    with pytest.raises(UsageError, match=r"has no log\.jsonl: it was never trained here"):
        plot(tmp_path / "imported")
    made(tmp_path / "young", [])
    with pytest.raises(UsageError, match="nothing is in its log"):
        plot(tmp_path / "young")
    with pytest.raises(UnknownName, match="axis 'epochs'"):
        plot(tmp_path / "dates", over="epochs")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="smooth"):
        plot(tmp_path / "dates", smooth=0)
    with pytest.raises(UsageError, match="expected a run or more"):
        plot()


def test_a_config_that_cannot_be_read_costs_only_the_legend(tmp_path: Path) -> None:
    place = run(tmp_path / "a")
    (place / "config.toml").write_bytes(b"\xff")
    assert plot(place, run(tmp_path / "b")).chart.names == [str(place), str(tmp_path / "b")]
