"""What a training has read is not looked through for cycles, and all is as before when it is over."""

import gc

import pytest

from saccade.training.allocator import kept_objects


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
