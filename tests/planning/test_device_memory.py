"""Memory by part equals what is published of it."""

import pytest

from saccade.planning.device_memory import activations, layer_activations, memory
from saccade.planning.models import MODELS

MEGATRON = MODELS["megatron-8.3b"].shape


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_a_layer_keeps_what_korthikanti_says(tensor: int) -> None:
    """s b h (10 + 24 / t + 5 a s / h t) bytes, Korthikanti et al. 2022, equation 2."""
    s, b, h, a, t = 1024, 4, MEGATRON.width, MEGATRON.heads, tensor
    expected = s * b * h * (10 + 24 / t + 5 * a * s / (h * t))
    assert layer_activations(MEGATRON, context=s, sequences=b, tensor=t, precision="mixed") == pytest.approx(expected)


def test_recomputation_keeps_inputs_and_one_layer() -> None:
    sizes = {"context": 1024, "sequences": 8, "tensor": 8, "precision": "mixed"}
    both = [activations(MEGATRON, recompute=recompute, **sizes) for recompute in (False, True)]  # type: ignore[arg-type]
    layer = layer_activations(MEGATRON, **sizes)  # type: ignore[arg-type]
    inputs = 2 * 1024 * 8 * MEGATRON.width * MEGATRON.layers
    assert both[0] - both[1] == pytest.approx((MEGATRON.layers - 1) * layer - inputs)


@pytest.mark.parametrize("precision", ["mixed", "float32"])
def test_a_parameter_takes_16_bytes(precision: str) -> None:
    sizes = {"context": 1024, "sequences": 1, "recompute": True}
    found = memory(MEGATRON, tensor=1, precision=precision, **sizes)  # type: ignore[arg-type]
    assert found.parameters + found.gradients + found.optimizer == pytest.approx(133.07e9, rel=1e-3)
    assert found.total == found.parameters + found.gradients + found.optimizer + found.activations
    split = memory(MEGATRON, tensor=4, precision=precision, **sizes)  # type: ignore[arg-type]
    assert split.optimizer == found.optimizer / 4


def test_a_decoder_that_reads_keeps_more() -> None:
    shape = MODELS["transformer-base"].shape
    sizes = {"context": 32, "sequences": 4, "tensor": 1, "recompute": False, "precision": "float32"}
    layer = layer_activations(shape, context=32, sequences=4, tensor=1, precision="float32")
    assert activations(shape, **sizes) > 12 * layer  # type: ignore[arg-type]
