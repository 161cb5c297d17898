"""What is measured of a config: FLOPs by torch's counter, what it keeps, some of its steps; nothing is written."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.errors import UsageError
from saccade.layers import skip_gram
from saccade.planning import trial_steps
from saccade.planning.architectures import forward_flops, total
from saccade.planning.own_models import architecture_of
from saccade.planning.trial_steps import counted_flops, free_bytes, kept_bytes, peak, plain_forms, tried
from saccade.training.settings import Settings, resolve

TEXT = "to be or not to be, that is the question\n" * 60
SIZES = ("model.hidden_size=16", "model.num_layers=2", "model.num_heads=2", "model.dropout=0.0", "writer.context_length=16")
TRAIN = ("tokens.kind=char", "train.batch_size=4", "train.steps=9", "train.threads=1", "train.device=cpu", "train.warmup=0")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A small gpt2 on a text."""
    (tmp_path / "a.txt").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial_steps, "SECONDS", 0.0)
    return resolve({"system": "gpt2"}, (*SIZES, *TRAIN, "data.train=a.txt", "data.valid=a.txt"))


def test_a_config_is_tried(settings: Settings, tmp_path: Path) -> None:
    before, threads = sorted(tmp_path.rglob("*")), torch.get_num_threads()
    trial = tried(settings, None, print)
    torch.set_num_threads(threads)
    assert (trial.timed, trial.steps, trial.predictions_per_step) == (trial_steps.LEAST, 9, 4 * 16)
    assert trial.state_bytes == 16 * trial.parameters
    assert trial.total_seconds == 9 * trial.step_seconds
    assert sorted(tmp_path.rglob("*")) == before
    table = trial.table()
    assert table["flops_per_second"] == pytest.approx(trial.flops_per_step / trial.step_seconds)
    assert table["measured"] is True


def test_its_flops_are_those_of_the_formula(settings: Settings) -> None:
    from dataclasses import replace

    trial = tried(settings, None, print)
    shape = architecture_of(settings)
    known = replace(shape, vocabulary=(trial.parameters - (total(shape) - shape.vocabulary * 16)) // 16)
    assert total(known) == trial.parameters
    assert trial.flops_per_step == 3 * sum(forward_flops(known, sequences=4, context=16).values())


def test_gradients_that_are_added_up_are_so_many_batches(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    once = tried(settings, None, print)
    twice = tried(replace(settings, train=replace(settings.train, accumulate=2)), None, print)
    assert twice.flops_per_step == 2 * once.flops_per_step
    assert twice.predictions_per_step == 2 * once.predictions_per_step


def test_vectors_of_words_are_not_learned_for_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_steps, "SECONDS", 0.0)
    monkeypatch.setattr(skip_gram, "learn", lambda *ignored: pytest.fail("vectors were learned"))
    (tmp_path / "my.tsv").write_text("".join(f"red fox {n}\t{'ab'[n % 2]}\n" for n in range(40)))
    words = ("task=label", f"data.train={tmp_path / 'my.tsv'}", "tokens.kind=word", *TRAIN[1:])
    heard: list[str] = []
    assert tried(resolve({"system": "bert"}, (*words, "reader.vectors=skip_gram")), None, heard.append).timed > 0
    assert "reader.vectors=skip_gram: left out here; a training learns the vectors before its first step" in heard


def test_what_has_no_room_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_steps, "free_bytes", lambda: 1000)
    with pytest.raises(UsageError, match=r"fits into 0\.0 MB of free memory, got .* parameters, .*--devices"):
        tried(settings, None, print)


def test_too_few_steps(settings: Settings) -> None:
    from dataclasses import replace

    with pytest.raises(UsageError, match="expected more than 2 for a plan, got 2"):
        tried(replace(settings, train=replace(settings.train, steps=2)), None, print)


class _Attending(torch.nn.Module):
    """Fused attention over more pairs than the short form takes."""

    def __init__(self) -> None:
        super().__init__()
        self.map = torch.nn.Linear(8, 8, bias=False)

    def forward(self, x: torch.Tensor) -> Any:
        q = self.map(x)
        pooled = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        return type("Loss", (), {"loss": pooled.sum()})


def test_fused_attention_is_counted() -> None:
    """A map of 8 × 8 and two products of 300 × 300 × 8, forward and twice backward; nothing is wanted of the input."""
    x = torch.randn(1, 1, 300, 8)
    assert counted_flops(_Attending(), x) == 2 * 2 * 300 * 64 + 3 * 2 * 2 * 300 * 300 * 8


def test_kept_bytes() -> None:
    """The input of a map, and of attention q three times in one place, the output and a number a row."""
    x = torch.randn(1, 1, 300, 8)
    assert kept_bytes(_Attending(), x) == 4 * (300 * 8 * 3 + 300)


def test_plain_forms_leave_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in ("on", None):
        monkeypatch.delenv("SACCADE_KERNELS", raising=False)
        if before:
            monkeypatch.setenv("SACCADE_KERNELS", before)
        with plain_forms():
            assert os.environ["SACCADE_KERNELS"] == "off"
        assert os.environ.get("SACCADE_KERNELS") == before


def test_peak_and_free_memory() -> None:
    assert peak(torch.device("cpu"), 0.0) > 1e8
    free = free_bytes()
    assert free is None or free > 1e6
