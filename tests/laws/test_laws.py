"""Every law over combinations of everything, with sizes and numbers from hypothesis.

In the everyday run every pair of a score, normalizer, mask, layout and dtype occurs; with SACCADE_LAWS=full everything does.
"""

import os
from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

from saccade.attention import MASKS, NORMALIZERS, SCORES
from tests.laws.cases import DTYPES, LAYOUTS, MASK_CASES, Combination, Draw, all_combinations, combinations, draws
from tests.laws.laws import EXEMPTIONS, LAWS, check, covered, exempt, trial_for

FULL = os.environ.get("SACCADE_LAWS") == "full"
# Each combination has sizes and numbers of its own in each draw.
quickly = settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
)


def chosen(law: str, score: str) -> list[Combination]:
    """The combinations of a score that a law is held to."""
    if FULL:
        return [each for each in combinations(score) if exempt(law, each) is None]
    return [each for each in covered(law, SCORES) if each.score == score]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("score", SCORES)
@quickly
@given(draw=draws)
def test_law(law: str, score: str, draw: Draw) -> None:
    held = chosen(law, score)
    if not held:
        pytest.skip(
            f"{law} does not hold for {score}: {', '.join(sorted({str(exempt(law, c)) for c in combinations(score)}))}"
        )
    for each in held:
        check(law, trial_for(law, each, draw.sizes(each)))


def test_every_combination_is_there() -> None:
    found = all_combinations()
    assert len(found) == len(set(found)) == len(SCORES) * len(NORMALIZERS) * len(MASK_CASES) * len(LAYOUTS) * len(DTYPES)
    assert len(found) >= 13 * 8 * 10 * 2 * 3
    assert set(MASKS) | {"none", "joined"} == set(MASK_CASES)
    assert torch.bfloat16 in DTYPES


def test_every_law_is_held_to_every_value_that_it_holds_for() -> None:
    for law in LAWS:
        allowed = [each for each in all_combinations() if exempt(law, each) is None]
        held = covered(law, SCORES)
        assert set(held) <= set(allowed)
        for dimension in zip(zip(*allowed, strict=True), zip(*held, strict=True), strict=True):
            assert set(dimension[0]) == set(dimension[1])


def test_exemptions_are_listed_used_and_few() -> None:
    """Counted for the scaled dot product and for a score of positions."""
    every = [*combinations("scaled_dot"), *combinations("location")]
    counted = {law: Counter(exempt(law, each) or "" for each in every) for law in LAWS}
    used = {(law, reason) for law, counts in counted.items() for reason in counts if reason}
    listed = {(law, one.reason) for one in EXEMPTIONS for law in one.laws}
    assert {law for law, _ in listed} <= set(LAWS)
    assert used == listed  # none that never applies
    assert {law: round(counts[""] / len(every), 2) for law, counts in counted.items()} == HELD


# The share of combinations that each law holds for, of the two scores above: half of them reads positions.
HELD: dict[str, float] = {
    "rows_are_distributions": 0.8,
    "closed_pairs_weigh_nothing": 1.0,
    "masked_is_masked": 1.0,
    "fused_is_explicit": 1.0,
    "edges_are_a_rectangle": 0.93,
    "chunked_is_whole": 1.0,
    "order_of_keys_is_nothing": 0.27,
    "self_attention_is_equivariant": 0.27,
    "the_future_is_closed": 1.0,
    "a_sample_is_alone": 0.73,
    "padding_is_nothing": 0.23,
    "looking_changes_nothing": 1.0,
    "gradient_is_the_derivative": 0.3,
    "devices_agree": 1.0,
}
