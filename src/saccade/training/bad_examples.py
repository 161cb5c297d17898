"""Bad examples are found before the first step, in every part of the data: the first is an error, or all are skipped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from saccade.data.examples import PARTS
from saccade.data.formats.text_files import SHOWN
from saccade.data.stored.stored_examples import StoredExamples
from saccade.errors import DataError

Note = Callable[[str], None]


def fit_to_learn(kind: Any, splits: Any, settings: Any) -> Any:
    """The data without what a task could not be fitted to, if bad examples are to be left out; `learned` tells of them."""
    if not getattr(settings, "skip_bad", False):
        return splits  # the first is told by the task itself
    problems: dict[str, dict[int, str]] = {part: {} for part in PARTS}
    for part, index, problem in kind.unfit(splits):
        problems[part].setdefault(index, problem)
    left = {part: _left(getattr(splits, part), flaws, part, lambda text: None) for part, flaws in problems.items()}
    return replace(splits, **left)


def learned(task: Any, splits: Any, settings: Any, note: Note) -> tuple[Any, Any]:
    """The training data, encoded, and the data without bad examples if they are to be skipped; else the first is an
    error, also in the validation and test data: at the first validation it would be late."""
    judged = {part: usable(task, getattr(splits, part), part, settings, note) for part in ("valid", "test")}
    try:
        return task.corpus(splits.train), replace(splits, **judged)
    except DataError:
        left = usable(task, splits.train, "train", settings, note)
        if left is splits.train:
            raise
        return task.corpus(left), replace(splits, train=left, **judged)


def usable(task: Any, examples: Sequence[Any], part: str, settings: Any, note: Note) -> Sequence[Any]:
    """The examples of one part that can be scored."""
    skip = getattr(settings, "skip_bad", None)
    flaws: dict[int, str] = {}
    for index, problem in task.flaws(examples):
        if not skip:
            fix = "" if skip is None else ", or data.skip_bad=true"
            raise DataError(f"{PARTS[part]} data: {problem}{fix}")
        flaws[index] = problem
    return _left(examples, flaws, part, note)


def _left(examples: Sequence[Any], flaws: Mapping[int, str], part: str, note: Note) -> Sequence[Any]:
    if not flaws:
        return examples
    first = [flaws[index] for index in sorted(flaws)[:SHOWN]]
    if len(flaws) == len(examples):
        raise DataError(f"{PARTS[part]} data: expected examples, got {len(flaws)} bad ones only; the first: {first[0]}")
    more = "; …" if len(flaws) > SHOWN else ""
    note(f"{PARTS[part]} data: skipped {len(flaws)} bad of {len(examples)} examples: {'; '.join(first)}{more}")
    left = (index for index in range(len(examples)) if index not in flaws)
    if isinstance(examples, StoredExamples):
        return examples[np.fromiter(left, np.int64)]
    return [examples[index] for index in left]
