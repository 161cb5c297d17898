"""Tensors come back as they were: every type, views, tied ones once; what cannot be stored is refused by its name."""

from typing import Any

import pytest
import torch

from saccade.errors import SaccadeError
from saccade.training.checkpoints import tensor_files
from saccade.training.checkpoints.store import Checkpoints

from .saves import equal, refusal

DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type_of_number(checkpoints: Checkpoints, dtype: torch.dtype) -> None:
    whole = torch.randint(0, 2, (3, 5)).to(dtype)
    given = {"model": {"matrix": whole, "scalar": whole[0, 0].clone(), "empty": whole[:0], "slice": whole[1:, ::2]}}
    checkpoints.save(1, given, {})
    found = checkpoints.load().tensors["model"]
    for name, tensor in given["model"].items():
        assert found[name].dtype == dtype
        assert found[name].shape == tensor.shape
        assert torch.equal(found[name].to(torch.complex64), tensor.to(torch.complex64))


def test_views_are_stored_as_what_they_show(checkpoints: Checkpoints) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    conjugate = torch.randn(3, dtype=torch.complex64).conj()
    views = {"base": base, "turned": base.T, "part": base[1:], "wide": base[:1].expand(5, 4), "negative": conjugate.imag}
    given = {"model": {**views, "conjugate": conjugate, "parameter": torch.nn.Parameter(base * 2)}}
    checkpoints.save(1, given, {})
    found = checkpoints.load().tensors
    assert equal(found, given)
    assert not found["model"]["parameter"].requires_grad


def test_tied_weights_are_stored_once_and_tied_again(checkpoints: Checkpoints) -> None:
    weight = torch.randn(100, 100)
    checkpoints.save(1, {"model": {"embedding": weight, "output": weight, "other": weight.clone()}}, {})
    model = checkpoints.load().tensors["model"]
    assert model["embedding"].data_ptr() == model["output"].data_ptr() != model["other"].data_ptr()
    assert torch.equal(model["output"], weight)
    assert (checkpoints.folder / "step-00000001" / "model.safetensors").stat().st_size < 2.1 * weight.nbytes


def test_empty_tensors_are_not_tied(checkpoints: Checkpoints) -> None:
    given = {"model": {"a": torch.empty(0), "b": torch.empty(0, 3)}, "optimizer": {}}
    checkpoints.save(0, given, {})
    assert equal(checkpoints.load().tensors, given)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.complex64, torch.float8_e5m2])
def test_numbers_that_are_not_finite_are_refused_by_name(checkpoints: Checkpoints, value: float, dtype: torch.dtype) -> None:
    bad = torch.ones(4, 4)
    bad[2, 3] = value
    text = refusal(SaccadeError, checkpoints, {"model": {"good": torch.ones(2)}, "optimizer": {"moment": bad.to(dtype)}})
    assert "optimizer" in text
    assert "'moment'" in text


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"../model": {}}, "'../model'"),
        ({"Model": {}}, "'Model'"),
        ({"model": {"__metadata__": torch.ones(1)}}, "'__metadata__'"),
        ({"model": {3: torch.ones(1)}}, "3"),
        ({"model": {"w": torch.ones(2).to_sparse()}}, "'w'"),
        ({"model": {"w": torch.ones(2, device="meta")}}, "'w'"),
        ({"model": {"w": [1.0]}}, "list"),
        ({"model": {"w": torch.ones(2, dtype=torch.complex128)}}, "complex64"),
    ],
)
def test_what_cannot_be_stored_is_refused(checkpoints: Checkpoints, tensors: Any, words: str) -> None:
    assert words in refusal(SaccadeError, checkpoints, tensors)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "its header is longer than the file"),
        (b"\xff" * 8, "its header is longer than the file"),
        (b"\x02" + bytes(7) + b"{]", "is not in the safetensors format"),
    ],
)
def test_what_are_no_tensors_is_told_in_a_few_words(data: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        tensor_files.unpack(data, {})


def test_a_tie_to_nothing_is_refused() -> None:
    data, aliases = tensor_files.pack({"a": torch.ones(2)}, "model")
    assert aliases == {}
    for wrong in ({"b": "c"}, {"a": "a"}):
        with pytest.raises(ValueError, match="does not hold the tensors that others are tied to"):
            tensor_files.unpack(data, wrong)
