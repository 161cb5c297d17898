"""Bare defaults: `saccade train SYSTEM data.train=FILE` with nothing else, on small sets, beside baselines on the same.

python benchmarks/defaults.py                                  all rows: about two hours of one core
python benchmarks/defaults.py --only han luong/tatoeba-fr-en   all rows of a system, or one
python benchmarks/defaults.py --quick                          one small row, at most a minute

The sets are made from the data sets in SACCADE_DATA as files in a temporary directory, the same at every call. A training
is stopped after five minutes of processor time, as by Ctrl-C; the row then says so, and its model is the best checkpoint
until then. The test is data that neither training nor the choice of the checkpoint saw. Baselines learn from the same
examples, choose on the same validation data, and are scored on the same test.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType

import small_sets
import small_texts
import torch
from kit import arguments
from small_files import SmallSet

import saccade
from saccade import systems
from saccade.data.examples import Splits
from saccade.evaluation.metrics import METRICS
from saccade.experiments import baselines
from saccade.trained import TrainedModel
from saccade.training.interrupts import Interrupted

SECONDS = 300  # of processor time
QUICK = "gat/near-digits"

SETS: dict[str, Callable[[Path], SmallSet]] = {
    "tatoeba-fr-en": small_texts.tatoeba_fr_en,
    "multi30k-de-en": small_texts.multi30k_de_en,
    "dates": small_texts.dates_iso,
    "scan": small_texts.scan_simple,
    "imdb": small_texts.imdb_reviews,
    "babi-places": small_texts.babi_places,
    "babi-people": small_texts.babi_people,
    "sail-maps": small_texts.sail_maps,
    "digit-sums": small_texts.digit_sums,
    "variances": small_sets.variances,
    "imdb-stars": small_texts.imdb_stars,
    "caption-words": small_texts.caption_sets,
    "sentence-words": small_texts.sentence_sets,
    "emoji-keywords": small_texts.emoji_keywords,
    "odd-digits": small_sets.odd_digits,
    "odd-points": small_sets.odd_points,
    "odd-emoji": small_sets.odd_emoji,
    "solids": small_sets.solids,
    "digit-clouds": small_sets.digit_clouds,
    "elephants": small_sets.elephants,
    "emoji": small_sets.emoji_captions,
    "flickr8k-1000": small_sets.flickr_captions,
    "shapes": small_sets.shapes,
    "mnist": small_sets.mnist_digits,
    "fashion-mnist": small_sets.fashion,
    "moved-digits": small_sets.moved_digits,
    "near-digits": small_sets.near_digits,
}
ROWS = {
    "gat": ("near-digits",),
    "deep_sets": ("digit-sums", "variances", "imdb-stars"),
    "set_expansion": ("caption-words", "sentence-words", "emoji-keywords"),
    "set_outlier": ("odd-digits", "odd-points", "odd-emoji"),
    "point_cloud": ("solids", "digit-clouds", "elephants"),
    "atae_lstm": ("babi-people",),
    "han": ("imdb", "babi-places", "sail-maps"),
    "se_resnet": ("mnist", "shapes"),
    "ram": ("mnist", "fashion-mnist", "moved-digits"),
    "show_attend_tell": ("emoji", "flickr8k-1000", "shapes"),
    "transformer": ("tatoeba-fr-en", "dates", "scan"),
    "bahdanau": ("tatoeba-fr-en", "scan"),
    "luong": ("tatoeba-fr-en", "dates", "multi30k-de-en"),
    "seq2seq": ("tatoeba-fr-en", "dates", "scan"),
}
# What is printed of a score, by what is written, and which baselines there are.
SHOWN = {
    "text": ("bleu", "exact_match"),
    "label": ("accuracy",),
    "number": ("exact_match", "mae"),
    "item": ("accuracy",),
    "word": ("mrr", "recall_10"),
}
BASELINES = {
    "text": ("nearest_neighbor",),
    "text to label": ("most_frequent", "logistic_regression", "logistic_regression_bigrams"),
    "picture to label": ("most_frequent", "nearest_neighbor"),
    "label": ("most_frequent", "logistic_regression"),
    "number": ("mean_number", "linear_regression"),
    "item": ("farthest",),
    "word": ("most_frequent_word", "co_occurrence"),
}


@dataclass(frozen=True)
class Row:
    """What came of a training, and of the baselines."""

    system: str
    set: str
    examples: int
    test: int
    scores: dict[str, float]
    baselines: dict[str, dict[str, float]]
    minutes: float
    "By the clock."
    processor_minutes: float
    step: int
    "Of the checkpoint that was tested."
    stopped: bool
    "Whether it was stopped before its end."

    def line(self) -> str:
        """A row of a table."""
        others = "; ".join(f"{name.replace('_', ' ')} {_shown(scores)}" for name, scores in self.baselines.items())
        end = f", stopped; step {self.step:,}" if self.stopped else f"; step {self.step:,}"
        minutes = f"{self.processor_minutes:.1f} ({self.minutes:.1f} by the clock)"
        own = f"{_shown(self.scores)} of {self.test:,}{end}"
        return f"| `{self.system}`, {self.set} | {self.examples:,} | {own} | {minutes} | {others} |"


def _shown(scores: dict[str, float]) -> str:
    return ", ".join(f"{METRICS[name].label} {METRICS[name].show(value)}" for name, value in scores.items())


@contextmanager
def stopped_after(seconds: float) -> Iterator[list[float]]:
    """Inside the block Ctrl-C is pressed once, after so many seconds of processor time; the list says whether it was."""
    pressed: list[float] = []

    def press(number: int, frame: FrameType | None) -> None:
        pressed.append(seconds)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGPROF, press)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield pressed
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def trained(system: str, made: SmallSet, out: Path) -> tuple[TrainedModel, bool]:
    """The model of a training with nothing but its data, and whether it was stopped for its time.

    Where somebody else ends it there is no row: such a model would say nothing of the defaults.
    """
    with stopped_after(SECONDS) as pressed:
        try:
            return saccade.train(system, data=dict(made.data), out=out, quiet=True), False
        except Interrupted:
            if not pressed:
                raise
    return saccade.load(out), True


def measured(system: str, name: str, folder: Path) -> Row:
    """Train, test, and compare."""
    made = SETS[name](folder)
    clocks = time.monotonic(), time.process_time()
    model, stopped = trained(system, made, folder / "run")
    minutes, own = (time.monotonic() - clocks[0]) / 60, (time.process_time() - clocks[1]) / 60
    splits = model.splits if made.test is None else replace(model.splits, test=model.examples(source=made.test)[0])
    kind = systems.load(system).WRITES
    scores = model.task.evaluate(model.module, splits.test, model.options()).scores["all"]
    others = compared(system, model, splits)
    shown = {metric: scores[metric] for metric in SHOWN[kind]}
    return Row(system, name, len(splits.train), len(splits.test), shown, others, minutes, own, model.step, stopped)


def compared(system: str, model: TrainedModel, splits: Splits) -> dict[str, dict[str, float]]:
    """The scores of the baselines on the same data."""
    module, settings = systems.load(system), model.run.settings
    reads = "text" if module.READS in ("document", "aspect") else module.READS
    names = BASELINES.get(f"{reads} to {module.WRITES}", BASELINES[module.WRITES])
    found = {name: baselines.scored(name, settings, splits, "test")["scores"]["all"] for name in names}
    return {name: {metric: scores[metric] for metric in SHOWN[module.WRITES]} for name, scores in found.items()}


def wanted(only: list[str]) -> list[tuple[str, str]]:
    """The rows that these words name: a system, or a system and a set."""
    rows = [(system, name) for system, names in ROWS.items() for name in names]
    for word in only:
        if not any(word in (system, f"{system}/{name}") for system, name in rows):
            known = ", ".join(f"{system}/{name}" for system, name in rows)
            sys.exit(f"--only {word}: expected a system or a row, known: {known}")
    return [row for row in rows if not only or row[0] in only or "/".join(row) in only]


def main() -> None:
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--only", nargs="+", default=[])
    chosen, sys.argv[1:] = own.parse_known_args()
    options = arguments("Bare defaults on small sets; --only SYSTEM or SYSTEM/SET … names rows.")
    torch.set_num_threads(1)  # with which the processor's time is that of an idle machine's clock
    rows = []
    print("| system, data | examples | bare | minutes | baselines |\n|---|---|---|---|---|", flush=True)
    for system, name in wanted([QUICK] if options.quick else chosen.only):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measured(system, name, Path(folder)))
        print(rows[-1].line(), flush=True)
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows]}))


if __name__ == "__main__":
    main()
