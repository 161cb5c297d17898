"""Vectors: the mean of all states or that of the first token, of length 1 or as they are; nothing is trained for them."""

import numpy as np
import pytest
import torch

from saccade.data.examples import Splits
from saccade.errors import UsageError
from saccade.task import Task
from saccade.writers.vector import Config, Writer

from ..systems.tiny import options, tiny


@pytest.mark.parametrize("pool", ["mean", "first"])
@pytest.mark.parametrize("normalized", [False, True])
def test_a_vector_is_made_of_the_states_that_are_no_padding(pool: str, normalized: bool) -> None:
    one = tiny("bert")
    task = Task(one.task.reader, Writer(Config(pool=pool, normalized=normalized)))  # type: ignore[arg-type]
    for example, (best,) in zip(one.examples, task.predictions(one.model, one.examples, options()), strict=True):
        batch = one.task.reader.encode([example.input]).batch([0])
        with torch.no_grad():
            states = one.model.states(batch)[0].double().numpy()
        wanted = states.mean(0) if pool == "mean" else states[0]
        wanted = wanted / np.linalg.norm(wanted) if normalized else wanted
        assert best.values is not None
        np.testing.assert_allclose(best.values, wanted, atol=1e-5)
        assert best.text.split()[0] == f"{best.values[0]:.6g}"


def test_it_has_no_head_no_training_and_no_scores() -> None:
    assert Writer(Config()).sizes() == {"pooler": True}
    assert Writer(Config(pooler=False)).sizes() == {"pooler": False}
    with pytest.raises(UsageError, match="task=vector: expected a task that is trained"):
        Writer.fit(Config(), None, Splits([], [], []), None)
    with pytest.raises(UsageError, match="task=vector: expected a task with scores"):
        Writer(Config()).score([], [], lambda indices: (0.0, 0, {}))
