"""The device law: loss, gradients and predictions of every system on another device are those on the CPU.

A training step reads no number of the device on the host. Which systems cannot do without, and why, stands in `READS_BACK`.
"""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from saccade import systems
from saccade.data.tensors import Batch

from ..second_device import DEVICE, on_cpu, on_device, second_device
from .samples import close, gradients
from .tiny import Tiny, loss_of, options, output_of, tiny
from .traced import everything

every = pytest.mark.parametrize("name", everything())
READS_BACK = {
    "gat": "the self loops of a graph are found on the host, once for each graph",
    "han": "sentences of like length are read together: how many lengths there are is data",
}
DRAWS = {"gat": "the CPU's kernel draws its dropout in an order of its own"}


def computed(one: Tiny, batch: Batch) -> dict[str, Tensor]:
    """The loss, what the writer reads, and the gradients."""
    loss = loss_of(one.model, batch)
    output = output_of(one.model, batch).nan_to_num(neginf=0.0)  # where an answer cannot be
    return {"loss": loss, "output": output, **gradients(one.model, loss)}


@every
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_loss_and_gradients_are_the_cpus(name: str, training: bool) -> None:
    one = tiny(*name.split("/"))
    batch = one.batch()
    torch.manual_seed(1)
    expected = computed(one._replace(model=one.model.train(training)), batch)
    other = tiny(*name.split("/"))
    with second_device():
        moved = batch.to(DEVICE)
        other = other._replace(model=on_device(other.model.train(training)))
    with second_device(synchronize=name in READS_BACK):
        torch.manual_seed(1)
        found = computed(other, moved)
    assert all(value.device == DEVICE for value in found.values())
    if not (training and name in DRAWS):
        close(on_cpu(found), {key: value.detach() for key, value in expected.items()}, 1e-5)


@every
@pytest.mark.parametrize("looks", [False, True], ids=["", "looks"])
def test_predictions_are_the_cpus(name: str, looks: bool) -> None:
    one, other = (tiny(*name.split("/")) for _ in range(2))
    how = options(looks=looks, method="beam", beam=3, n_best=2)
    expected = one.task.predictions(one.model, one.examples, how)
    with second_device():
        found = other.task.predictions(on_device(other.model), one.examples, how)
    for best, same in zip(found, expected, strict=True):
        assert [own.text for own in best] == [own.text for own in same]
        for own, other_own in zip(best, same, strict=True):
            assert own.log_prob == pytest.approx(other_own.log_prob, abs=1e-4, rel=1e-5)
            for look, known in zip(own.looks, other_own.looks, strict=True):
                np.testing.assert_allclose(look.weights, known.weights, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in systems.names() if systems.load(name).WRITES == "text"])
def test_a_step_of_decoding_is_the_cpus_and_reads_nothing_back(name: str) -> None:
    one, other = tiny(name), tiny(name)
    batch = one.batch()
    tokens = torch.stack((batch.target.first, batch.target.tokens[:, 0]), 1)

    def steps(model: Any, batch: Batch, tokens: Tensor) -> list[Tensor]:
        state, found = model.start(model.read(batch.input)), []
        for place in range(2):
            step = model.step(tokens[:, place, None], state)
            state = step.state
            found += [step.log_probs, *(look.weights for look in step.glance())]
        return found

    with torch.no_grad():
        expected = steps(one.model, batch, tokens)
        with second_device():
            moved, model, written = batch.to(DEVICE), on_device(other.model), on_device(tokens)
        with second_device(synchronize=False):
            found = steps(model, moved, written)
    for own, same in zip(on_cpu(found), expected, strict=True):
        torch.testing.assert_close(own, same, atol=1e-5, rtol=1e-5)
