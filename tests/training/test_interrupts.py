"""Signals are noted between two steps, and at the second one the program ends."""

import os
import signal
import threading

import pytest

from saccade.training.interrupts import watched


def test_the_second_signal_ends_the_program_at_once() -> None:
    with watched() as seen:
        os.kill(os.getpid(), signal.SIGINT)
        assert seen.number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    with watched() as again:
        assert again.number == 0


def test_handlers_are_put_back_after_an_error() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with pytest.raises(ValueError, match="x"), watched():
        raise ValueError("x")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with watched() as seen:
            os.kill(os.getpid(), signal.SIGHUP)
            assert seen.number == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_train_without_listening() -> None:
    before, found = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with watched() as seen:
            found.append((seen.number, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(0, before)]
