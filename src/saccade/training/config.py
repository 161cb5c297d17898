"""How to train: the [train] section."""

import os
from dataclasses import dataclass
from typing import Literal

from saccade.config import Amount, Count, Positive, Rate, Share
from saccade.errors import UsageError

# A run keeps its number of threads wherever it is resumed, so the limit is not this machine's number of cores alone; far
# beyond it, OpenMP does not refuse but crashes.
MOST_THREADS = max(256, os.cpu_count() or 1)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything about training that does not belong to the model, its data or its task."""

    steps: Positive = 1000
    "Updates of the weights."
    max_tokens: Positive = 8192
    "Padded source and target tokens of one batch, at most."
    accumulate: Positive = 1
    "Batches whose gradients are added up for one update."
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    "How gradients move the weights."
    rate: Rate = 1e-3
    "Learning rate at its peak."
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine"] = "constant"
    "How the rate goes on after the warm-up."
    warmup: Count = 0
    "Steps in which the rate rises from 0 to its peak."
    momentum: Share = 0.9
    "Of SGD, and the first beta of Adam."
    second_beta: Share = 0.999
    "The second beta of Adam."
    weight_decay: Amount = 0.0
    "Pull of all weights towards 0."
    clip: Amount = 1.0
    "Longest gradient (norm over all weights); 0: not clipped."
    smoothing: Share = 0.0
    "Label smoothing: the share of the target that goes to all tokens alike."
    agreement: Amount = 0.0
    "Pull of two readings of an example, each with a dropout of its own, toward each other (R-Drop); systems of labels."
    valid_every: Positive = 500
    "Steps between two validations."
    save_every: Positive = 500
    "Steps between two checkpoints; one is also written after each validation, on Ctrl-C and at the end."
    patience: Count = 0
    "Stop after this many validations without a better score; 0: never."
    average: Positive = 1
    "The model is the mean of the last so many checkpoints."
    keep: Positive = 3
    "Checkpoints kept, beside the best."
    log_every: Positive = 50
    "Steps between two lines of log.jsonl."
    seed: Count = 0
    "Decides the first weights, the order of the data and dropout."
    threads: int = 0
    "CPU threads; 0: as many as there are cores. Another number changes the last bits of the result."

    def __post_init__(self) -> None:
        if not 0 <= self.threads <= MOST_THREADS:
            expected = f"expected 1 to {MOST_THREADS}, or 0 for as many as there are cores"
            raise UsageError(f"threads: {expected}, got {self.threads}; leave it out if in doubt")

    def regular(self, step: int) -> bool:
        """Whether a checkpoint is due at this step, come what may."""
        return step in (0, self.steps) or step % self.save_every == 0 or step % self.valid_every == 0
