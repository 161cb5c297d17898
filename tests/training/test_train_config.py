"""The [train] section refuses what would crash later, and keys that have no effect beside the others."""

from typing import Any

import pytest

from saccade.errors import UsageError
from saccade.training.train_config import MOST_THREADS, USED, Config

from .runs import tiny, tiny_epochs


@pytest.mark.parametrize("threads", [-1, MOST_THREADS + 1, 999_999])
def test_threads_that_no_machine_has_are_refused_before_work_begins(threads: int) -> None:
    with pytest.raises(UsageError, match=rf"^train\.threads: expected 1 to {MOST_THREADS}, or 0 .*, got {threads}; leave"):
        tiny(f"train.threads={threads}")


@pytest.mark.parametrize("threads", [0, 1, MOST_THREADS])
def test_threads_that_a_machine_may_have_are_taken(threads: int) -> None:
    assert tiny(f"train.threads={threads}").train.threads == threads


# A key, what it has no effect beside, and what it has an effect beside.
HEEDED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("momentum", {"optimizer": "adam"}, {"optimizer": "sgd"}),
    ("momentum", {"optimizer": "adamw"}, {"optimizer": "rmsprop"}),
    ("beta1", {"optimizer": "sgd"}, {"optimizer": "adam"}),
    ("beta1", {"optimizer": "rmsprop"}, {"optimizer": "adamw"}),
    ("beta2", {"optimizer": "rmsprop"}, {"optimizer": "adam"}),
    ("alpha", {"optimizer": "adam"}, {"optimizer": "rmsprop"}),
    ("min_learning_rate", {"schedule": "constant"}, {"schedule": "linear"}),
    ("min_learning_rate", {"schedule": "inverse_sqrt"}, {"schedule": "cosine"}),
    ("step_size", {"schedule": "cosine"}, {"schedule": "step"}),
    ("gamma", {"schedule": "constant"}, {"schedule": "step"}),
    ("steps", {"epochs": 2.0}, {"epochs": 0.0}),
    ("batch_tokens", {"batch_size": 8}, {"batch_size": 0}),
    ("decay", {"weight_decay": 0.0}, {"weight_decay": 0.1}),
]


@pytest.mark.parametrize(("key", "idle", "useful"), HEEDED)
def test_a_key_without_effect_is_refused(key: str, idle: dict[str, Any], useful: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"^train\.{key}: has no effect with .*train\.\w+.*; leave it out") as error:
        Config(**idle).heed([key])
    assert next(iter(idle)) in str(error.value)
    Config(**useful).heed([key])
    Config(**idle).heed([])
    Config(**idle).heed(idle)


def test_every_such_key_is_tried() -> None:
    assert {key for key, _, _ in HEEDED} == set(USED)


def test_what_is_given_beside_a_recipe_is_heeded() -> None:
    with pytest.raises(UsageError, match=r"^train\.momentum: has no effect with train\.optimizer=adam"):
        tiny("train.momentum=0.5")
    assert tiny("train.momentum=0.5", "train.optimizer=sgd").train.momentum == 0.5
    with pytest.raises(UsageError, match=r"^train\.steps: has no effect with train\.epochs"):
        tiny("train.epochs=2")
    assert tiny_epochs("train.epochs=2").train.epochs == 2.0
    with pytest.raises(UsageError, match=r"^train\.batch_tokens: has no effect with train\.batch_size"):
        tiny("train.batch_size=8")


@pytest.mark.parametrize("step", [0, 4, 6, 8, 12, 14])
def test_checkpoints_are_due_at_saves_and_validations_and_at_the_end(step: int) -> None:
    config = tiny().train
    assert config.regular(step)
    assert not config.regular(step + 1 if step + 1 not in (4, 6, 8, 12, 14) else step + 3)
