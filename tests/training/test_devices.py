"""Devices by their names: the accelerator of the machine, if it has one, and no other."""

import pytest
import torch

from saccade.errors import UsageError
from saccade.training.devices import ACCELERATORS, device_named, require_compiler


def test_the_cpu_is_there() -> None:
    assert device_named("cpu") == torch.device("cpu")


def test_auto_is_the_accelerator_or_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert device_named("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    for kind in ACCELERATORS:
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda kind=kind: torch.device(kind))
        assert device_named("auto") == torch.device(kind)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("privateuseone"))
    assert device_named("auto") == torch.device("cpu")  # one that nobody has tried
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: None)
    assert device_named("auto") == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "", "cpu:x", "tpu"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(UsageError, match=r"^device: expected one of auto, cpu.*, got ") as error:
        device_named(name)
    assert str(error.value).endswith(f"got {name!r}")
    for kind in ACCELERATORS:
        assert (f", {kind}" in str(error.value)) == getattr(torch, kind).is_available()


@pytest.mark.parametrize("name", ["cuda:99", "mps:7"])
def test_an_accelerator_that_the_machine_does_not_have_is_no_wrong_name(name: str) -> None:
    with pytest.raises(UsageError, match=rf"^device: this machine has no {name} that torch \S+ can use; there is cpu"):
        device_named(name)


def test_the_list_names_the_accelerators_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(UsageError, match=r"^device: expected one of auto, cpu, cuda.*, got 'gpu'$"):
        device_named("gpu")


def test_compiling_for_a_cpu_needs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UsageError, match=r"train\.compile: expected a C\+\+ compiler, got none called no-such-compiler; "):
        require_compiler(torch.device("cpu"))
    require_compiler(torch.device("cuda"))
    monkeypatch.setenv("CXX", "sh")
    require_compiler(torch.device("cpu"))
