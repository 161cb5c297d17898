"""Autocast: what computes in 16 bits and what stays float32, and the scaler of fp16, which goes on where it was."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import saccade
from saccade.training.checkpoints.store import Checkpoints
from saccade.training.interrupts import Interrupted
from saccade.training.precision import Casting, chosen
from saccade.training.progress import Quiet
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from saccade.training.train_config import Precision

from .runs import StopAt, contents, tiny_transformer
from .sittings import lines

pytestmark = pytest.mark.usefixtures("put_back")
CPU = torch.device("cpu")


def settings(precision: str) -> Settings:
    table: dict[str, Any] = json.loads(json.dumps(tiny_transformer().table()))
    return resolve({**table, "train": {**table["train"], "precision": precision}})


def test_auto_is_float32_on_a_cpu_and_what_an_accelerator_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("auto", CPU) == "float32"
    assert chosen("auto", torch.device("xpu")) == "bf16"
    for has, precision in ((True, "bf16"), (False, "fp16")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has=has: has)
        assert chosen("auto", torch.device("cuda")) == precision
    assert chosen("bf16", CPU) == "bf16"


@pytest.mark.parametrize(
    ("precision", "dtype"), [("float32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_a_forward_pass_computes_in_it(precision: Precision, dtype: torch.dtype) -> None:
    casting = Casting(precision, CPU)
    with casting.autocast():
        assert torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2)).dtype == dtype
    loss = torch.tensor(2.0)
    assert (casting.scaled(loss) == loss) == (precision != "fp16")
    assert (casting.state() == {}) == (precision != "fp16")
    casting.restore({})


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in each precision."""
    folder = tmp_path_factory.mktemp("halves")
    for precision in ("float32", "bf16", "fp16"):
        train(folder / precision, settings(precision), Quiet())
    return folder


def test_parameters_moments_and_validations_are_float32(halves: Path) -> None:
    checkpoint = Checkpoints(halves / "bf16").load("last")
    tensors = [*checkpoint.tensors["model"].values(), *checkpoint.tensors["optimizer"].values()]
    assert {one.dtype for one in tensors if one.is_floating_point()} == {torch.float32}
    valid = [line for line in lines(halves / "bf16") if line["event"] == "valid"][-1]
    scores = saccade.load(halves / "bf16", checkpoint="last").evaluate(split="valid")
    assert valid["scores"]["all"]["loss"] == scores["all"]["loss"]  # which knows of no autocast


def test_losses_are_those_of_float32_to_its_digits(halves: Path) -> None:
    own, known = ([line["loss"] for line in lines(halves / name) if line["event"] == "step"] for name in ("bf16", "float32"))
    assert own != known
    assert own == pytest.approx(known, rel=0.02)


def test_the_scaler_goes_on_bit_for_bit(halves: Path, tmp_path: Path) -> None:
    """Before and after an update that it refused, because its scale was too large."""
    log = lines(halves / "fp16")
    skipped = [line["step"] for line in log if line["event"] == "skipped"]
    assert skipped
    assert skipped[-1] < 10
    state = Checkpoints(halves / "fp16").load("last").state["scaler"]
    assert state["scale"] == 2.0 ** (16 - len(skipped))
    assert state["_growth_tracker"] == 14 - skipped[-1]
    for stop in (1, skipped[-1], 10):
        with pytest.raises(Interrupted):
            train(tmp_path / str(stop), settings("fp16"), StopAt(stop))
        train(tmp_path / str(stop), settings("fp16"), Quiet(), resume=True)
        assert contents(tmp_path / str(stop)) == contents(halves / "fp16")
