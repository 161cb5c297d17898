"""Random states come back exactly; large blocks of memory stay warm."""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from saccade.training import allocator
from saccade.training.memory import random_tensors, restore_random, seed_all

pytestmark = pytest.mark.usefixtures("put_back")


def draws() -> list[float]:
    """A few numbers of every source, those that come in pairs among them."""
    return [
        *torch.randn(3).tolist(), *torch.rand(2).tolist(), torch.randn(20).sum().item(),
        random.random(), random.gauss(0, 1), random.gauss(0, 1), random.randrange(10**9),
        np.random.random(), np.random.standard_normal(), np.random.standard_normal(), float(np.random.randint(10**9)),
    ]  # fmt: skip


@pytest.mark.parametrize("used", range(4))
def test_random_states_come_back_exactly(used: int) -> None:
    seed_all(used)
    for _ in range(used):  # the second number of a pair is waiting
        random.gauss(0, 1)
        np.random.standard_normal()
        torch.randn(1)
    kept = {name: value.clone() for name, value in random_tensors().items()}
    expected = draws()
    seed_all(99)
    assert draws() != expected
    restore_random(kept)
    assert draws() == expected
    restore_random(kept)
    assert all(torch.equal(value, kept[name]) for name, value in random_tensors().items())


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**40])
def test_every_seed_is_a_start_of_its_own(seed: int) -> None:
    seed_all(seed)
    first = draws()
    seed_all(seed)
    assert draws() == first
    seed_all(seed + 1)
    assert draws() != first


def test_pages_are_kept_where_glibc_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert allocator.keep_pages() is False
    assert allocator.return_pages() is False
    monkeypatch.undo()

    class Other:
        """A C library that is not glibc."""

    monkeypatch.setattr("ctypes.CDLL", lambda name: Other())
    monkeypatch.setattr(sys, "platform", "linux")
    assert allocator.keep_pages() is False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_large_blocks_come_from_warm_memory() -> None:
    """Beyond 32 MB glibc would give every block back, and each of its ten thousand pages would be fetched again."""
    code = """
import resource, sys, torch
from saccade.training.allocator import keep_pages

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(10_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

kept = sys.argv[1] == "keep" and keep_pages()
print(int(kept), sum([faults() for _ in range(20)][-5:]))
"""
    told = {
        word: [
            int(n)
            for n in subprocess.run([sys.executable, "-c", code, word], capture_output=True, check=True).stdout.split()
        ]
        for word in ("keep", "let go")
    }
    if not told["keep"][0]:
        pytest.skip("not glibc")
    assert told["keep"][1] < 100
    assert told["let go"][1] > 10_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc")
def test_large_blocks_are_given_back_where_that_is_asked_for() -> None:
    """By itself glibc takes blocks from the heap once one of their size was free, and what stays keeps it from shrinking."""
    code = """
import resource, sys, torch
from pathlib import Path
from saccade.training.allocator import return_pages

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 2**20

returned = sys.argv[1] == "return" and return_pages()
first = torch.ones(7_000_000)
del first
before, stays = held(), []
for _ in range(8):
    whole = torch.ones(7_000_000)
    stays.append(torch.ones(100_000))
    del whole
    whole = torch.ones(7_100_000)
    stays.append(torch.ones(100_000))
    del whole
print(int(returned), held() - before)
"""
    told = {}
    for word in ("return", "by itself"):
        done = subprocess.run([sys.executable, "-c", code, word], capture_output=True, check=True)
        told[word] = [int(n) for n in done.stdout.split()]
    if not told["return"][0]:
        pytest.skip("not glibc")
    assert told["return"][1] < 12
    assert told["by itself"][1] > 24
