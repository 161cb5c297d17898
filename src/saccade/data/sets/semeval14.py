"""What is said of a term of a sentence: SemEval-2014 task 4 (Pontiki et al. 2014), restaurants and laptops.

An example is `sentence | term`; its label is negative, neutral or positive. A sentence that is held out is so with all of
its terms.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.config import Share
from saccade.data import known
from saccade.data.examples import Example, Splits, hash_order
from saccade.data.sets.sentences import lines
from saccade.errors import DataError

INPUT, TARGET = str, str
TERM, BETWEEN = "$T$", " | "
NAMES = {"-1": "negative", "0": "neutral", "1": "positive"}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which reviews."""

    corpus: Literal["restaurants", "laptops"] = "restaurants"
    "What the sentences are about."
    held_out: Share = 0.1
    "Share of the training sentences held out for validation; 0: none."


def load(config: Config) -> Splits:
    """All three parts."""
    folder = config.corpus.capitalize()
    learned, test = (_examples(known.find("semeval14", f"{folder}_{part}.xml.seg")) for part in ("Train", "Test_Gold"))
    held = [hash_order(pair.input.rpartition(BETWEEN)[0], "held") % 1000 < 1000 * config.held_out for pair in learned]
    train, valid = ([pair for pair, out in zip(learned, held, strict=True) if out == wanted] for wanted in (False, True))
    return Splits(train, valid, test)


def _examples(path: Path) -> list[Example]:
    """Three lines each: a sentence with $T$ where its term stands, the term, and -1, 0 or 1."""
    rows = lines(path)
    if len(rows) % 3:
        raise DataError(f"{path}: expected three lines for each example, got {len(rows)} lines; download it again")
    examples = []
    for start in range(0, len(rows), 3):
        sentence, term, label = rows[start : start + 3]
        if TERM not in sentence or label not in NAMES:
            got = f"{sentence[:40]!r} and {label[:10]!r}"
            raise DataError(f"{path}:{start + 1}: expected a sentence with {TERM}, its term, and -1, 0 or 1, got {got}")
        examples.append(Example(f"{sentence.replace(TERM, term)}{BETWEEN}{term}", NAMES[label]))
    return examples
