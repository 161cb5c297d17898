"""What is told before training: few examples, one or uneven labels, no validation, a handful of updates, a long warm-up."""

from types import SimpleNamespace
from typing import Any

import pytest

from saccade.data.examples import Example, Splits
from saccade.training.data_notes import data_notes


def notes(
    train: str,
    valid: str = "xy",
    *,
    labels: bool = True,
    steps: int = 100,
    epochs: float = 0,
    warmup: int = 0,
    **writer: Any,
) -> list[str]:
    known, held = ([Example(f"{n}", label) for n, label in enumerate(part)] for part in (train, valid))
    chosen = SimpleNamespace(**{"class_weight": "none", "balanced_batches": False, **writer})
    settings = SimpleNamespace(train=SimpleNamespace(steps=steps, epochs=epochs, warmup=warmup), writer=chosen)
    return list(data_notes(Splits(known, held, []), settings, object(), labels))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"train": "xyx"}, ["only 3 training examples"]),
        ({"train": "xy" * 10}, []),
        ({"train": "xy" * 10, "valid": ""}, ["there is no validation data"]),
        ({"train": "xy" * 10, "valid": "yy"}, ["all validation examples have the label 'y'"]),
        ({"train": "xy" * 10, "valid": "yy", "labels": False}, []),
        ({"train": "xy" * 50, "labels": False}, ["all targets are one of 2 texts; if they are labels, document_attention"]),
        ({"train": "x" * 100, "labels": False}, ["all targets are the same text; "]),
        ({"train": "xyzabc" * 20, "labels": False}, []),
        ({"train": "x" * 50 + "y" * 10}, ["labels are uneven (x 50, y 10): consider writer.class_weight=balanced"]),
        ({"train": "x" * 49 + "y" * 10}, []),
        ({"train": "x" * 50 + "y" * 10, "class_weight": "balanced"}, []),
        ({"train": "x" * 50 + "y" * 10, "balanced_batches": True}, []),
        ({"train": "xy" * 10, "epochs": 2.5, "steps": 49}, ["train.epochs=2.5 of this data is 49 updates only"]),
        ({"train": "xy" * 10, "epochs": 2.5, "steps": 50}, []),
        ({"train": "xy" * 10, "steps": 3}, []),
        ({"train": "xy" * 10, "warmup": 200}, ["train.warmup=200 is longer than the 100 steps: the learning rate never"]),
        ({"train": "xy" * 10, "warmup": 60, "steps": 59, "epochs": 9}, ["train.warmup=60 is longer than the 59 steps"]),
        ({"train": "xy" * 10, "warmup": 100}, ["train.warmup=100 is as long as the training"]),
        ({"train": "xy" * 10, "warmup": 99}, []),
    ],
)
def test_notes(given: dict[str, Any], told: list[str]) -> None:
    found = notes(**given)
    assert len(found) == len(told)
    assert all(note.startswith(words) for note, words in zip(found, told, strict=True)), found


def test_labels_of_words_are_not_counted() -> None:
    settings = SimpleNamespace(train=SimpleNamespace(steps=100, epochs=0, warmup=0), writer=SimpleNamespace())
    splits = Splits([Example(f"{n}", "x y" if n else "y") for n in range(200)], [Example("a", "x")], [])
    assert list(data_notes(splits, settings, object(), True)) == []


def test_a_text_that_is_shorter_than_its_context_is_told() -> None:
    settings = SimpleNamespace(train=SimpleNamespace(steps=1, epochs=0, warmup=0))
    splits = Splits([Example("", "abc")], [Example("", "d")], [])
    for tokens, count in ((16, 1), (17, 0)):
        corpus = SimpleNamespace(tokens=range(tokens), context=16, limit="writer.context_length=16")
        assert len(list(data_notes(splits, settings, corpus, False))) == count
