"""The cheapest layout that fits."""

from dataclasses import replace

import pytest

from saccade.planning.device_layouts import Workload, cheapest, possible, room, smallest
from saccade.planning.hardware import accelerator
from saccade.planning.models import MODELS

V100 = accelerator("V100")


def _work(name: str, recompute: bool | None = None) -> Workload:
    return Workload(shape=MODELS[name].shape, batch=512, context=1024, precision="mixed", recompute=recompute)


@pytest.mark.parametrize(
    ("name", "devices", "tensor"), [("1.2b", 64, 1), ("2.5b", 128, 2), ("4.2b", 256, 4), ("8.3b", 512, 8)]
)
def test_megatron_is_split_as_published(name: str, devices: int, tensor: int) -> None:
    """1-, 2-, 4- and 8-way on devices of 32 GB, Shoeybi et al. 2019, table 1; with recomputation, as they had it."""
    layout = cheapest(_work(f"megatron-{name}", True), devices, V100)
    assert layout is not None
    assert (layout.data, layout.tensor, layout.parts, layout.sequences) == (64, tensor, 1, 8)


@pytest.mark.parametrize("name", ["gpt2-small", "megatron-8.3b"])
def test_what_is_kept_is_cheaper_where_it_fits(name: str) -> None:
    layout = cheapest(_work(name), 64, accelerator("H100"))
    assert layout is not None
    fitting = [one for one in possible(_work(name), 64) if one.memory.total <= room(accelerator("H100"))]
    full = [one for one in fitting if one.parts == 1 or one.sequences >= 8]
    assert layout.work == min(one.work for one in full)
    assert not layout.recompute


def test_small_parts_only_where_nothing_else_fits() -> None:
    tight = cheapest(_work("megatron-8.3b"), 8, V100)
    assert tight is not None
    assert (tight.tensor, tight.recompute) == (8, True)
    assert tight.parts * tight.sequences >= 512
    assert tight.memory.total <= room(V100) < V100.memory


def test_heads_and_batch_bound_a_layout() -> None:
    assert {one.tensor for one in possible(_work("gpt2-xl"), 8)} == {1}  # 25 heads
    assert {one.tensor for one in possible(replace(_work("megatron-8.3b"), batch=64), 512)} == {8}
    assert smallest(replace(_work("megatron-8.3b"), batch=8), 512) is None


def test_nothing_fits() -> None:
    assert cheapest(_work("megatron-8.3b"), 8, accelerator("P100")) is None
    least = smallest(_work("megatron-8.3b"), 8)
    assert least is not None
    assert (least.tensor, least.sequences, least.recompute) == (8, 1, True)
    assert least.told() == (
        "1-way data × 8-way tensor parallel, activations recomputed, 1 sequence at a time, 512 times a step"
    )
