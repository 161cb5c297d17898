"""What a run changes in the process that trains it, put back."""

from collections.abc import Iterator

import pytest
import torch

from saccade.training.memory import random_tensors, restore_random


@pytest.fixture
def put_back() -> Iterator[None]:
    """Threads and random states."""
    threads, states = torch.get_num_threads(), random_tensors()
    yield
    torch.set_num_threads(threads)
    restore_random(states)
