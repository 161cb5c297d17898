"""bAbI: 20 tasks of reading stories and answering questions about them (Weston et al. 2015), version 1.2 in English.

The test sets are the published ones. Of each task's training questions a tenth is for validation, whole stories at a time.
An answer of several words, as `milk,football` or `n,w`, is one class. The classes are the answers of all parts, as in the
published experiments: a list that no training example has is known, but never learned.

The 10,000 training questions of task 3 in its larger form (10k) are not among the files: the 1,000 of its smaller form and
the 1,000 that were published for validation with the larger one take their place.
"""

from dataclasses import dataclass
from typing import Literal

from saccade.config import Count, Share
from saccade.data import known
from saccade.data.examples import Example, Splits, Story, hash_order, in_order
from saccade.data.formats.story_files import of_lines
from saccade.errors import UsageError

INPUT, TARGET = Story, str
TASKS = (
    "single-supporting-fact",
    "two-supporting-facts",
    "three-supporting-facts",
    "two-arg-relations",
    "three-arg-relations",
    "yes-no-questions",
    "counting",
    "lists-sets",
    "simple-negation",
    "indefinite-knowledge",
    "basic-coreference",
    "conjunction",
    "compound-coreference",
    "time-reasoning",
    "basic-deduction",
    "basic-induction",
    "positional-reasoning",
    "size-reasoning",
    "path-finding",
    "agents-motivations",
)
FOLDERS = {"1k": "en", "10k": "en-10k"}
INSTEAD = ("en/qa3_three-supporting-facts_train.txt", "en-valid-10k/qa3_valid.txt")  # of what is not among the files


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which tasks, and how many questions of each."""

    task: Count = 0
    "1 to 20; 0: all together."
    size: Literal["1k", "10k"] = "1k"
    "Training questions of each task: 1,000 or 10,000."
    held_out: Share = 0.1
    "Share of the training questions held out for validation; 0: none."

    def __post_init__(self) -> None:
        if self.task > len(TASKS):
            raise UsageError(f"task: expected 1 to {len(TASKS)}, or 0 for all together, got {self.task}")


def load(config: Config) -> Splits:
    """All three parts; a group for each task."""
    train: list[Example] = []
    valid: list[Example] = []
    test: list[Example] = []
    for task in [config.task] if config.task else range(1, len(TASKS) + 1):
        learned, held = held_out(_examples(task, config.size, "train"), config.held_out)
        train += learned
        valid += held
        test += _examples(task, config.size, "test")
    labels = {example.target for part in (train, valid, test) for example in part}
    return Splits(train, valid, test, labels=tuple(in_order(labels)))


def _examples(task: int, size: str, part: str) -> list[Example]:
    missing = (task, size, part) == (3, "10k", "train")
    files = INSTEAD if missing else (f"{FOLDERS[size]}/qa{task}_{TASKS[task - 1]}_{part}.txt",)
    group = f"{task:2} {TASKS[task - 1].replace('-', ' ')}"
    texts = ((known.unzipped(known.find("babi", file)).decode("utf-8"), file) for file in files)
    found = [one for text, file in texts for one in of_lines(text.splitlines(), file)]
    return [Example(one.input, one.target, group, one.name) for one in found]


def held_out(examples: list[Example], share: float) -> tuple[list[Example], list[Example]]:
    """Training and validation: stories in an order that depends on nothing but their text, up to the share of questions."""
    stories: list[list[Example]] = []
    for example in examples:
        told = stories[-1][-1].input.statements if stories else None
        goes_on = told is not None and example.input.statements[: len(told)] == told
        stories[-1].append(example) if goes_on else stories.append([example])
    held, wanted = set[int](), round(share * len(examples))
    for place in sorted(range(len(stories)), key=lambda place: hash_order(str(stories[place][-1].input), "held")):
        if len(stories[place]) <= wanted:
            held.add(place)
            wanted -= len(stories[place])
    parts = ([one for place, own in enumerate(stories) for one in own if (place in held) == out] for out in (False, True))
    train, valid = parts
    return train, valid
