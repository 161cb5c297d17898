"""Bags to labels: how well weights tell marked instances from others, bag by bag."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn import metrics

from saccade.data import tokenizers
from saccade.data.examples import Bag, Splits
from saccade.search import Config as SearchConfig
from saccade.systems.attention_mil import Config as ModelConfig
from saccade.systems.attention_mil import Model
from saccade.tasks.bags_to_labels import Config, Task


def bags() -> list[Bag]:
    """Of many sizes; some with marks on some, on all or on none of their instances, and some that nobody marked."""
    dice, found = np.random.default_rng(0), []
    for number in range(24):
        size = int(dice.integers(2, 7))
        kinds: list[Any] = [dice.integers(0, 2, size), np.ones(size, np.int64), np.zeros(size, np.int64), None]
        items = dice.normal(size=(size, 3)).astype(np.float32)
        found.append(Bag(items, ("no", "yes")[number % 2], kinds[number % 4 if number % 3 else 0], name=str(number)))
    return found


@pytest.mark.parametrize("budget", [4, 4000])
def test_the_area_of_instances_is_the_mean_over_bags_that_have_both(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "BUDGET", budget)
    task = Task.fit(Config(), tokenizers.Config(), Splits(bags(), [], []))
    model = Model(ModelConfig(widths=(6,), hidden=4), **task.sizes()).eval()
    areas = []
    for bag in bags():
        if bag.marks is not None and len(set(bag.marks.tolist())) == 2:
            with torch.no_grad():
                weights = model.glance(task.corpus([bag]).batch([0]))["instances"]
            areas.append(metrics.roc_auc_score(bag.marks, weights.numpy()))
    found = task.evaluate(model, bags(), SearchConfig())["all"]
    assert found["instance_auc"] == pytest.approx(np.mean(areas))
    assert found["examples"] == 24
    unmarked = [bag for bag in bags() if bag.marks is None]
    assert "instance_auc" not in task.evaluate(model, unmarked, SearchConfig())["all"]
