"""What a user should know before training begins: few examples, uneven labels, nothing to validate on, a long warm-up."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from saccade.data.examples import Splits, in_order, targets_of

FEW, UNEVEN, HANDFUL, MANY = 20, 5, 50, 100
SAMPLE, LABELS = 2000, 5  # examples that are looked at, and different texts up to which they may be labels
SHOWN = 6  # labels that are counted in a note


def data_notes(splits: Splits, settings: Any, corpus: Any, labels: bool) -> Iterator[str]:
    """One line for each thing; `labels`: whether targets are classes; those of words are not counted."""
    train, config = splits.train, settings.train
    yield from splits.notes
    if hasattr(corpus, "tokens"):
        if len(corpus.tokens) <= corpus.context:
            yield f"the training text has {len(corpus.tokens)} tokens, no more than {corpus.limit}"
    elif len(train) < FEW:
        yield f"only {len(train)} training example{'s' * (len(train) > 1)}: expect a model that has learned them by heart"
    if not len(splits.valid):
        last = "the last checkpoint is taken, and nothing stops training early"
        yield f"there is no validation data: {last}; name data.valid, or set data.held_out"
    if config.epochs and config.steps < HANDFUL:
        yield f"train.epochs={config.epochs:g} of this data is {config.steps} updates only; raise it, or set train.steps"
    if config.warmup >= config.steps:
        yield _warmup_note(config.warmup, config.steps)
    if not labels:
        yield from _text_notes(splits)
    elif hasattr(settings.writer, "class_weight"):
        yield from _label_notes(splits, settings.writer)


def _warmup_note(warmup: int, steps: int) -> str:
    if warmup > steps:
        return f"train.warmup={warmup} is longer than the {steps} steps: the learning rate never reaches its peak"
    return f"train.warmup={warmup} is as long as the training: the learning rate reaches its peak in the last step only"


def _text_notes(splits: Splits) -> Iterator[str]:
    """Texts that are written, if they are labels rather; a part of much data says as much."""
    first = [*islice(splits.train, SAMPLE)]
    different = {example.target for example in first if isinstance(example.input, str) and isinstance(example.target, str)}
    if len(first) >= MANY and 0 < len(different) <= LABELS:
        few = f"all targets are one of {len(different)} texts" if len(different) > 1 else "all targets are the same text"
        yield f"{few}; if they are labels, document_attention learns them sooner, and scores them as labels"


def _label_notes(splits: Splits, writer: Any) -> Iterator[str]:
    counts = Counter(targets_of(splits.train))
    if len({*targets_of(splits.valid)}) == 1:
        only = f"all validation examples have the label {splits.valid[0].target!r}"
        yield f"{only}: their scores tell little; name data.valid, or raise data.held_out"
    treated = writer.class_weight != "none" or writer.balanced_batches
    if max(counts.values()) >= UNEVEN * min(counts.values()) and len(splits.train) >= FEW and not treated:
        shown = ", ".join(f"{label} {counts[label]:,}" for label in in_order(counts)[:SHOWN])
        more = ", …" if len(counts) > SHOWN else ""
        yield f"labels are uneven ({shown}{more}): consider writer.class_weight=balanced and writer.metric=macro_f1"
