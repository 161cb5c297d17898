"""What a training has read is not looked through for cycles, and all is as before when it is over."""

import gc
import resource
from pathlib import Path

import pytest

from saccade.training.allocator import kept_objects, release_pages


def test_nothing_is_collected_until_all_is_made() -> None:
    frozen = gc.get_freeze_count()
    with kept_objects() as made:
        assert not gc.isenabled()
        made()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen + 1000
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_an_error_leaves_it_on() -> None:
    with pytest.raises(ValueError, match="bad"), kept_objects():
        raise ValueError("bad")
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_so() -> None:
    gc.disable()
    try:
        with kept_objects() as made:
            made()
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells what a process holds")
def test_free_memory_is_given_back() -> None:
    def held() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    blocks = [bytes(100_000) for _ in range(1000)]
    del blocks[:-1]  # the last one keeps the heap from shrinking by itself
    before = held()
    release_pages()
    assert held() < before - 50_000_000
