"""`torch.compile` takes `forward` of every system as one graph, `torch.export` what it computes; exemptions are listed."""

import pytest
import torch

from saccade import systems

from .tiny import loss_of, tiny

every = pytest.mark.parametrize("name", systems.names())


@every
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_forward_is_one_graph(name: str, training: bool) -> None:
    one = tiny(name)
    batch = one.batch()
    one.model.train(training)
    torch._dynamo.reset()
    compiled = torch.compile(one.model, fullgraph=True, backend="eager")
    torch.testing.assert_close(loss_of(compiled, batch), loss_of(one.model, batch), atol=1e-4, rtol=1e-5)
