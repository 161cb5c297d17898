"""Letters of which one kind stands in a run: counting them says little of the label, the run says all."""

import re
from collections import Counter

import pytest

from saccade.data.sets.letter_runs import FILLERS, Config, load
from saccade.errors import UsageError

SMALL = Config(train_size=200, valid_size=5, test_size=5)


def test_only_the_label_stands_in_a_run() -> None:
    splits = load(SMALL)
    assert splits.labels == ("a", "b", "c", "d")
    for example in [*splits.train, *splits.valid, *splits.test]:
        text = example.input.replace(" ", "")
        assert len(example.input) == 2 * len(text) - 1
        found = re.findall("[a-d]+", text)
        assert sorted(set(map(len, found)))[-1] == 3
        assert [run for run in found if len(run) > 1] == [example.target * 3]
        assert max(map(len, re.findall(f"[{FILLERS}]+", text))) <= 3
        assert {text[0], text[-1]} <= set(FILLERS)


def test_others_may_occur_more_often_than_the_label() -> None:
    counts = [(Counter(one.input), one.target) for one in load(SMALL).train]
    more = sum(any(count[other] > 3 for other in "abcd") for count, _ in counts) / len(counts)
    assert 0.3 < more < 0.7
    assert all(count[target] == 3 for count, target in counts)
    labels = Counter(target for _, target in counts)
    assert len(labels) == 4
    assert min(labels.values()) > 30


def test_a_seed_decides_everything() -> None:
    assert load(SMALL).fingerprint() == load(SMALL).fingerprint()
    assert load(SMALL).fingerprint() != load(Config(train_size=200, valid_size=5, test_size=5, seed=1)).fingerprint()


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"kinds": 1}, "kinds: expected 2 … 13, got 1"), ({"run": 1}, "run: expected at least 2 letters, got 1")],
)
def test_texts_that_cannot_be_are_refused(changed: dict[str, int], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Config(**changed)
