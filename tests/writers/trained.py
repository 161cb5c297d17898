"""A few steps of training, for tests that need a model that knows something."""

from collections.abc import Sequence
from typing import Any

import torch

from saccade.data.examples import Example
from saccade.task import Task


def trained(model: Any, task: Task, examples: Sequence[Example], steps: int, rate: float = 0.05) -> Any:
    """The model after so many steps on all examples, at a falling learning rate."""
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    batch = task.corpus(examples).batch(range(len(examples)))
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * (1 - step / steps)
        optimizer.zero_grad()
        output = model.train()(batch)
        (output.loss / output.count).backward()
        optimizer.step()
    return model.eval()
