"""How to train: the [train] section."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from saccade.config import Amount, Count, Portion, Positive, Rate, Share
from saccade.errors import UsageError

# A run keeps its number of threads wherever it is resumed, so the limit is not this machine's number of cores alone; far
# beyond it, OpenMP does not refuse but crashes.
MOST_THREADS = max(256, os.cpu_count() or 1)


Precision = Literal["float32", "bf16", "fp16", "auto"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything about training that does not belong to the model, its data, its reader or its writer."""

    steps: Positive = 1000
    "Number of updates."
    epochs: Amount = 0.0
    "Passes over the training data, instead of steps; 0: steps decide."
    batch_tokens: Positive = 8192
    "Maximum size of a batch, padding included: tokens of inputs and targets; instances, pictures or nodes."
    batch_size: Count = 0
    "Examples of a batch, instead of batch_tokens; 0: batch_tokens decides."
    accumulate: Positive = 1
    "Batches whose gradients are added up for one update (gradient accumulation)."
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    "The optimizer."
    learning_rate: Rate = 1e-3
    "Learning rate at its peak."
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine", "step"] = "constant"
    "How the learning rate goes on after the warm-up."
    warmup: Count = 0
    "Warm-up steps, in which the learning rate rises from 0 to its peak."
    min_learning_rate: Amount = 0.0
    "Where linear and cosine end."
    step_size: Positive = 10_000
    "Of schedule step: after how many steps the learning rate is multiplied by gamma, again and again."
    gamma: Portion = 0.5
    "Of schedule step: what the learning rate is multiplied by."
    momentum: Share = 0.9
    "Momentum of SGD and RMSprop."
    beta1: Share = 0.9
    "First beta of Adam."
    beta2: Share = 0.999
    "Second beta of Adam."
    alpha: Share = 0.99
    "Smoothing of RMSprop: the share of its running mean of squares that stays at each step."
    weight_decay: Amount = 0.0
    "Weight decay."
    decay: Literal["all", "matrices"] = "all"
    "What decays: all parameters, or those of two and more dimensions (no biases, no norms)."
    clip: Amount = 1.0
    "Gradient clipping: the largest norm over all parameters; 0: no clipping."
    freeze: str = ""
    """Parameters that are not trained, by patterns over their names with commas between, such as embedding.*,encoder.*;
    empty: none. Running statistics of batch norms go on."""
    layer_decay: Portion = 1.0
    """Layer-wise learning rate decay: layer l of L has learning_rate · layer_decay^(L - l), embeddings have
    learning_rate · layer_decay^L, all else learning_rate; 1: off. An encoder and a decoder count their own layers."""
    valid_every: Positive = 500
    "Steps between two validations."
    save_every: Positive = 500
    "Steps between two checkpoints; one is also written after each validation, on Ctrl-C and at the end."
    patience: Count = 0
    "Early stopping after this many validations without a better score; 0: never."
    average: Positive = 1
    "Checkpoint averaging: the model is the mean of the last so many checkpoints."
    keep: Positive = 3
    "Checkpoints kept, beside the best."
    log_every: Positive = 50
    "Steps between two lines of log.jsonl."
    tensorboard: bool = False
    "Whether TensorBoard event files are written into the run, too (runs/x/tensorboard); needs saccade[tensorboard]."
    measure_peak: bool = False
    """Whether the peak of a CPU is measured by a short matrix product, so that the log tells the share of it that training
    reaches; the peaks of many GPUs are known by their names."""
    seed: Count = 0
    "Decides the initial parameters, the order of the data and dropout."
    device: str = "auto"
    "Where to train: auto, cpu, cuda, cuda:1, mps, xpu."
    threads: int = 0
    "CPU threads; 0: as many as there are cores. Another number changes the last bits of the result."
    precision: Precision = "float32"
    "What a forward pass computes in, by autocast; auto: bf16 or fp16 where the accelerator has it, float32 on a CPU."
    compile: bool = False
    "Whether the forward pass is compiled (torch.compile): minutes at the start, faster steps on an accelerator."
    recompute: bool = False
    "Whether activations of each block are computed once more for the gradient instead of being kept: less memory."
    prefetch: bool = True
    "Whether the next batch is prepared on a thread while the model computes."
    shard: bool = False
    "Of several processes: whether each holds a part of parameters and optimizer (FSDP2), or all of them (DDP)."
    tensor_parallel: Positive = 1
    "How many processes split attention and feed-forward of one Transformer among them; the others have other examples."
    timeout: Positive = 600
    "Of several processes: seconds after which one that does not answer ends the run."

    def __post_init__(self) -> None:
        if not 0 <= self.threads <= MOST_THREADS:
            expected = f"expected 1 to {MOST_THREADS}, or 0 for as many as there are cores"
            raise UsageError(f"threads: {expected}, got {self.threads}; leave it out if in doubt")

    def regular(self, step: int) -> bool:
        """Whether a checkpoint is due at this step, come what may."""
        return step in (0, self.steps) or step % self.save_every == 0 or step % self.valid_every == 0

    def heed(self, given: Iterable[str]) -> None:
        """Refuse keys that someone gave and that have no effect beside the others."""
        for key in given:
            fits, other = USED.get(key, (None, ""))
            if fits is not None and not fits(self):
                raise UsageError(f"train.{key}: has no effect with {other}; leave it out, or change that")


# Keys that only some settings use, and what else is set where they have no effect.
USED: dict[str, tuple[Callable[[Config], bool], str]] = {
    "momentum": (lambda c: c.optimizer in ("sgd", "rmsprop"), "train.optimizer=adam or adamw (Adam's is train.beta1)"),
    "beta1": (lambda c: c.optimizer in ("adam", "adamw"), "train.optimizer=sgd or rmsprop"),
    "beta2": (lambda c: c.optimizer in ("adam", "adamw"), "train.optimizer=sgd or rmsprop"),
    "alpha": (lambda c: c.optimizer == "rmsprop", "this train.optimizer; it is RMSprop's"),
    "min_learning_rate": (lambda c: c.schedule in ("linear", "cosine"), "this train.schedule"),
    "step_size": (lambda c: c.schedule == "step", "this train.schedule; it is that of train.schedule=step"),
    "gamma": (lambda c: c.schedule == "step", "this train.schedule; it is that of train.schedule=step"),
    "steps": (lambda c: not c.epochs, "train.epochs (train.epochs=0 counts in steps)"),
    "batch_tokens": (lambda c: not c.batch_size, "train.batch_size (train.batch_size=0 counts in tokens)"),
    "decay": (lambda c: c.weight_decay > 0, "train.weight_decay=0"),
}
