"""Sentences with labels: SST (Socher et al. 2013), TREC (Li and Roth 2002), MR and Subj (Pang and Lee 2004, 2005).

MR and Subj have no split: one fold of ten is the test, and of the rest a tenth is held out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from saccade.config import Count
from saccade.data import known
from saccade.data.examples import Example, Splits, hash_order
from saccade.errors import DataError, UsageError

INPUT, TARGET = str, str
FOLDS = 10
SPLIT = {
    "sst2": ("sst", "stsa.binary.train", "stsa.binary.dev", "stsa.binary.test"),
    "sst5": ("sst", "stsa.fine.train", "stsa.fine.dev", "stsa.fine.test"),
    "trec": ("trec", "TREC.train.all", "", "TREC.test.all"),
}
FILES = {
    "mr": ("mr", {"negative": "rt-polarity.neg", "positive": "rt-polarity.pos"}),
    "subj": ("subj", {"objective": "subj.objective", "subjective": "subj.subjective"}),
}
NAMES = {
    "sst2": ("negative", "positive"),
    "sst5": ("very negative", "negative", "neutral", "positive", "very positive"),
    "trec": ("description", "entity", "abbreviation", "human", "location", "number"),
}
ESCAPES = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "``": '"', "''": '"'}
ESCAPED = re.compile("|".join(ESCAPES), re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which sentences."""

    corpus: Literal["sst2", "sst5", "trec", "mr", "subj"] = "sst2"
    "sst2, sst5: movie reviews in 2 and 5 classes; trec: questions; mr: movie reviews; subj: subjective or objective."
    fold: Count = 0
    "Of mr and subj: which tenth is the test, 0 to 9."
    train_size: Count = 0
    "Training sentences that are kept, to see what few labels can do; 0: all."
    train_draw: Count = 0
    "Which of them are kept: another number draws others."

    def __post_init__(self) -> None:
        if self.fold >= FOLDS:
            raise UsageError(f"fold: expected 0 to {FOLDS - 1}, got {self.fold}")


def load(config: Config) -> Splits:
    """All three parts, of the first as many as are wanted."""
    splits = _whole(config)
    if config.train_size > len(splits.train):
        problem = f"expected at most {len(splits.train):,}, the training sentences of {config.corpus}, or 0 for all"
        raise UsageError(f"data.train_size: {problem}; got {config.train_size:,}")
    return replace(splits, train=_few(splits.train, config)) if config.train_size else splits


def _few(pairs: Sequence[Example], config: Config) -> list[Example]:
    """So many of them, drawn by a hash, in their own order."""
    ranks = [(hash_order(f"{config.train_draw} {pair.input}", "few"), number) for number, pair in enumerate(pairs)]
    return [pairs[number] for _, number in sorted(sorted(ranks)[: config.train_size], key=lambda rank: rank[1])]


def _whole(config: Config) -> Splits:
    if config.corpus in SPLIT:
        name, *files = SPLIT[config.corpus]
        parts = [_labeled(known.find(name, file), NAMES[config.corpus]) if file else [] for file in files]
        return Splits(*parts) if parts[1] else Splits(*_held_out(parts[0]), parts[2])
    folder, by_label = FILES[config.corpus]
    pairs = [Example(text, label) for label, file in by_label.items() for text in lines(known.find(folder, file))]
    fold_of = [hash_order(pair.input, "fold") % FOLDS for pair in pairs]
    rest = [pair for pair, fold in zip(pairs, fold_of, strict=True) if fold != config.fold]
    return Splits(*_held_out(rest), [pair for pair, fold in zip(pairs, fold_of, strict=True) if fold == config.fold])


def _held_out(pairs: list[Example]) -> tuple[list[Example], list[Example]]:
    """Training and validation: a tenth, whatever the order of lines."""
    held = [hash_order(pair.input, "held") % FOLDS == 0 for pair in pairs]
    return (
        [pair for pair, out in zip(pairs, held, strict=True) if not out],
        [pair for pair, out in zip(pairs, held, strict=True) if out],
    )


def _labeled(path: Path, names: tuple[str, ...]) -> list[Example]:
    """Lines of the form LABEL TEXT."""
    examples = []
    for number, line in enumerate(lines(path), 1):
        label, _, text = line.partition(" ")
        if not (label.isdigit() and int(label) < len(names) and text.strip()):
            raise DataError(f"{path}:{number}: expected a label 0 to {len(names) - 1} and a text, got {line[:40]!r}")
        examples.append(Example(text.strip(), names[int(label)]))
    return examples


def lines(path: Path) -> list[str]:
    """Lines in UTF-8, or where that is not what they are, in Latin-1, as the old sets come; brackets and quotes as people
    write them and not as the Penn Treebank does."""
    content = known.unzipped(path)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    text = ESCAPED.sub(lambda match: ESCAPES[match[0].lower()], text)
    return [line.strip() for line in text.split("\n") if line.strip()]
