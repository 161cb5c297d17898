"""Memory that was used once is kept: on this kind of machine a fresh page costs ten times a warm one.

The C library gives every large block back to the system as soon as it is free, and the next step asks for it again, page
by page. Told to keep them, eager steps with large temporaries take up to half the time. Who splits a model over processes
(`train.shard`) wants the memory instead.

Nor is what was read ever garbage: Python would look through a hundred thousand examples for cycles again and again, which
takes seconds of every start.
"""

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# mallopt(3): the names and numbers of <malloc.h>.
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -2, -3, -4, -8
LARGE = 1 << 20  # bytes of a block that is given back at once where memory counts more than time


def keep_pages() -> bool:
    """Ask the C library to hold on to freed memory; False where it is not glibc and nothing was changed."""
    return _wished((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 64 << 20), (ARENA_MAX, 1))


def return_pages() -> bool:
    """Ask the C library to give every large block back; False where it is not glibc and nothing was changed.

    By itself it does so only until the first is free: from then on blocks of that size come from the heap. Where parameters
    are put together and let go block by block, what stays lies between them, and the heap grows to twice what is used.
    """
    return _wished((MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, 32 << 20), (ARENA_MAX, 1))


def _wished(*wishes: tuple[int, int]) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    taken = [library.mallopt(name, value) == 1 for name, value in wishes]
    return all(taken)


def release_pages() -> None:
    """Give back what is free now: what was needed to prepare large data is not needed again."""
    library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)  # type: ignore[union-attr]


@contextmanager
def kept_objects() -> Iterator[Callable[[], None]]:
    """Inside, Python does not look for cycles until the function given is called, and never among what was made before."""
    before = gc.isenabled()
    gc.disable()

    def made() -> None:
        gc.freeze()
        if before:
            gc.enable()

    try:
        yield made
    finally:
        gc.unfreeze()
        if before:
            gc.enable()
