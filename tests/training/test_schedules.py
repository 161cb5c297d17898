"""Learning rates: the same for the same step, positive to the end, without a jump, and those of the papers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.training.schedules import SCHEDULES, learning_rate
from saccade.training.train_config import Config

FALLING = ("linear", "cosine")
names = st.sampled_from(sorted(SCHEDULES))
runs = st.tuples(st.integers(0, 5000), st.integers(1, 100_000))


@given(names, runs, st.lists(st.integers(1, 100_000), min_size=1, max_size=20))
def test_the_same_step_has_the_same_rate_whatever_came_before(name: str, run: tuple[int, int], steps: list[int]) -> None:
    rates = {step: SCHEDULES[name](step, *run) for step in steps}
    assert {step: SCHEDULES[name](step, *run) for step in reversed(steps)} == rates


@given(names, runs, st.data())
def test_within_the_run_a_rate_is_positive_and_at_most_the_peak(
    name: str, run: tuple[int, int], data: st.DataObject
) -> None:
    step = data.draw(st.sampled_from([1, run[1]]) | st.integers(1, run[1]))
    assert 0 < SCHEDULES[name](step, *run) <= 1


@given(names, st.integers(1, 5000), st.integers(1, 50_000))
def test_the_warm_up_is_a_straight_line_to_the_peak(name: str, warmup: int, more: int) -> None:
    total = warmup + more
    for step in {1, (warmup + 1) // 2, warmup}:
        assert SCHEDULES[name](step, warmup, total) == pytest.approx(step / warmup)
    assert SCHEDULES[name](warmup, warmup, total) == 1


@given(names, st.integers(0, 5000), st.integers(1, 50_000))
def test_there_is_no_jump_where_the_warm_up_ends(name: str, warmup: int, more: int) -> None:
    """The first step down is as small as the way down allows."""
    drop = SCHEDULES[name](max(warmup, 1), warmup, warmup + more) - SCHEDULES[name](
        max(warmup, 1) + 1, warmup, warmup + more
    )
    steepest = {"constant": 0, "inverse_sqrt": 0.5 / max(warmup, 1), "linear": 1 / more, "cosine": math.pi / 2 / more}
    assert -1e-12 <= drop <= steepest[name] + 1e-12


@given(names, runs)
def test_after_the_warm_up_it_never_rises(name: str, run: tuple[int, int]) -> None:
    steps = sorted({min(max(run[0], 1) + n * max(run[1] // 50, 1), run[1] + 5) for n in range(50)})
    rates = [SCHEDULES[name](step, *run) for step in steps if step >= run[0]]
    assert rates == sorted(rates, reverse=True)


@given(st.integers(1, 8000), st.integers(1, 200_000), st.integers(1, 4096))
def test_inverse_sqrt_is_the_formula_of_the_paper_up_to_scale(warmup: int, step: int, width: int) -> None:
    """Vaswani et al. 2017, eq. 3: width^-0.5 · min(step^-0.5, step · warmup^-1.5)."""

    def paper(step: int) -> float:
        return float(width**-0.5 * min(step**-0.5, step * warmup**-1.5))

    assert SCHEDULES["inverse_sqrt"](step, warmup, 10**9) == pytest.approx(paper(step) / paper(warmup))


@pytest.mark.parametrize(
    ("name", "step", "rate"),
    [
        ("constant", 5, 0.5),
        ("constant", 10, 1),
        ("constant", 99, 1),
        ("inverse_sqrt", 40, 0.5),
        ("linear", 5, 0.5),
        ("linear", 10, 1),
        ("linear", 55, 0.5),
        ("linear", 99, 1 / 90),
        ("cosine", 10, 1),
        ("cosine", 40, 0.75),
        ("cosine", 55, 0.5),
        ("cosine", 70, 0.25),
    ],
)
def test_known_values(name: str, step: int, rate: float) -> None:
    assert SCHEDULES[name](step, 10, 99) == pytest.approx(rate)


@pytest.mark.parametrize("name", FALLING)
@given(runs)
def test_the_fall_ends_near_zero(name: str, run: tuple[int, int]) -> None:
    warmup, more = run
    total = warmup + more
    assert SCHEDULES[name](total, warmup, total) <= 1 / more
    assert SCHEDULES[name](total + 1, warmup, total) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_without_warm_up_it_starts_near_the_peak(name: str) -> None:
    assert SCHEDULES[name](1, 0, 1000) == pytest.approx(1, abs=2e-3)


def test_steps_down_come_every_so_many_steps_behind_the_warm_up() -> None:
    config = Config(steps=100, schedule="step", learning_rate=0.4, warmup=10, step_size=20, gamma=0.5)
    rates = {1: 0.04, 5: 0.2, 10: 0.4, 11: 0.4, 30: 0.4, 31: 0.2, 50: 0.2, 51: 0.1, 71: 0.05}
    assert {step: learning_rate(config, step) for step in rates} == pytest.approx(rates)
