"""The [train] section refuses what would crash later."""

import pytest

from saccade.errors import UsageError
from saccade.training.config import MOST_THREADS

from .runs import tiny


@pytest.mark.parametrize("threads", [-1, MOST_THREADS + 1, 999_999])
def test_threads_that_no_machine_has_are_refused_before_work_begins(threads: int) -> None:
    with pytest.raises(UsageError, match=rf"^train\.threads: expected 1 to {MOST_THREADS}, or 0 .*, got {threads}; leave"):
        tiny(f"train.threads={threads}")


@pytest.mark.parametrize("threads", [0, 1, MOST_THREADS])
def test_threads_that_a_machine_may_have_are_taken(threads: int) -> None:
    assert tiny(f"train.threads={threads}").train.threads == threads
