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


# Tests on the stand-in device (`tests/second_device.py`), which have processes of their own.
ON_DEVICE = (
    "tests/layers/test_devices.py",
    "tests/systems/test_device_law.py",
    "tests/test_second_device.py",
    "devices_agree",
    "serve_any_device",
    "test_nan_on_an_accelerator_reaches_those_who_see_it",
    "on_an_accelerator",
    "test_a_new_score_is_a_class_and_a_line",  # which runs every law
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests first, the others in their order; with SACCADE_SECOND_DEVICE=1 only those of the stand-in device."""
    wanted = os.environ.get("SACCADE_SECOND_DEVICE") == "1"
    parts: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
    for item in items:
        parts[wanted == any(name in item.nodeid for name in ON_DEVICE)].append(item)
    left, kept = parts
    config.hook.pytest_deselected(items=left)
    items[:] = sorted(kept, key=lambda item: item.get_closest_marker("long") is None)


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
