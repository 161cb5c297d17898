"""Settings of all tests: the same examples of hypothesis and the same random numbers every time, whatever ran before."""

import os
import signal
import zlib
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

settings.register_profile("saccade", derandomize=True, deadline=None, database=None)
settings.load_profile("saccade")

# In the background of a shell, or under nohup, these are ignored, and so they would be by all processes that tests start.
for ignored, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, handler)

SEED = int(os.environ.get("SACCADE_TEST_SEED", "0"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, the others in their order."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(autouse=True)
def seeded(request: pytest.FixtureRequest) -> None:
    """Each test draws its own numbers from its name, so that order and workers do not matter."""
    torch.default_generator.manual_seed(zlib.crc32(request.node.nodeid.encode()) + SEED)


@pytest.fixture
def put_back() -> Iterator[None]:
    """Threads and random states, which a training changes, as they were."""
    from saccade.training.memory import random_tensors, restore_random  # not before jaxtyping's hook is set

    threads, states = torch.get_num_threads(), random_tensors()
    yield
    torch.set_num_threads(threads)
    restore_random(states)
