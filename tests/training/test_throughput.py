"""The share of a peak: parameters count once, tables that are only looked up in do not, peaks are those of the device."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from saccade.errors import UsageError
from saccade.training import throughput
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.throughput import TERA, cpu_peak, gpu_peak, most_tokens, multiplied, peak_of
from saccade.training.train import train
from saccade.training.train_config import Config

from .runs import tiny
from .sittings import lines

CPU = torch.device("cpu")


def test_tables_that_are_only_looked_up_in_multiply_nothing() -> None:
    table, output = nn.Embedding(10, 4), nn.Linear(4, 10)
    assert multiplied(nn.Sequential(table, output)) == 50
    output.weight = table.weight  # tied: what is looked up in is multiplied by as well
    assert multiplied(nn.Sequential(table, output)) == 50


@pytest.mark.parametrize(
    ("name", "half", "peak"),
    [
        ("NVIDIA A100-SXM4-80GB", True, 312),
        ("NVIDIA A100-SXM4-80GB", False, 19.5),
        ("NVIDIA A10", True, 125),
        ("NVIDIA H100 PCIe", True, 756),
        ("NVIDIA H100 80GB HBM3", True, 989),
        ("NVIDIA L40S", False, 91.6),
        ("NVIDIA L4", True, 121),
        ("Tesla T4", True, 65),
    ],
)
def test_a_gpu_is_known_by_its_name(name: str, half: bool, peak: float) -> None:
    assert gpu_peak(name, half=half) == peak * TERA


def test_a_gpu_that_nobody_listed_has_no_peak() -> None:
    assert gpu_peak("NVIDIA A10G", half=True) is None


def test_the_peak_of_a_cpu_is_measured_once_and_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert peak_of(CPU, Config()) is None
    peak = peak_of(CPU, Config(measure_peak=True))
    assert peak is not None
    assert 1e8 < peak < 1e14
    monkeypatch.setattr(torch, "mm", None)  # a second measurement would fail
    assert cpu_peak(torch.float32, torch.get_num_threads()) == peak


def test_measuring_draws_no_random_numbers() -> None:
    before = torch.get_rng_state()
    cpu_peak.__wrapped__(torch.float32, 1)
    assert torch.equal(before, torch.get_rng_state())


def test_most_tokens_are_those_of_six_operations_a_parameter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "cpu_peak", lambda dtype, threads: 6e6)
    settings = tiny("train.steps=2", "train.measure_peak=true", "train.valid_every=9", "train.log_every=1")
    run = train(tmp_path, settings, Quiet())
    task = run.task()
    model: Any = run.new_model(task)
    most = most_tokens(task, model, settings.train, CPU)
    assert most == 1e6 / multiplied(model)
    first, second = (line for line in lines(tmp_path) if line["event"] == "step")
    assert second["peak_share"] == pytest.approx(second["tokens_per_second"] / most, rel=0.01)
    assert first["examples_per_second"] > 0
    assert second["examples_per_second"] < second["tokens_per_second"]


def test_without_being_asked_there_is_no_share(tmp_path: Path) -> None:
    train(tmp_path, tiny("train.steps=1"), Quiet())
    assert all("peak_share" not in line for line in lines(tmp_path))


def test_a_system_whose_operations_are_not_known_refuses_to_measure(tmp_path: Path) -> None:
    (tmp_path / "my.tsv").write_text("".join(f"a {n % 3}\t{n % 2}\n" for n in range(20)))
    words = [f"data.train={tmp_path / 'my.tsv'}", "train.measure_peak=true", "train.steps=1"]
    with pytest.raises(UsageError, match="measure_peak: has no effect"):
        train(tmp_path / "run", resolve({"system": "bag_of_words"}, words), Quiet())
