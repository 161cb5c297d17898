"""Validation examples held out of stored examples: the ones that `data/hold_out.py` chooses, without all keys in memory."""

import json
from functools import partial
from pathlib import Path

import numpy as np

from saccade.data.batches import Integers
from saccade.data.hold_out import MOST, most_held, rarest, taken
from saccade.data.stored.preparations import followed, name_of, prepared
from saccade.data.stored.ragged import MANY, mapped
from saccade.data.stored.stored_examples import LAYOUT, StoredExamples

TRAIN, VALID, FACTS = "train.bin", "valid.bin", "facts.json"
ROUNDS = 8  # how many times more keys are looked at than are wanted, at first, and then each time


def held_back(examples: StoredExamples, share: float) -> tuple[StoredExamples, StoredExamples]:
    """All examples of a store in two parts, for training and for validation; those with equal keys stay together."""
    if not share or len(examples) < 2:
        return examples, examples[:0]
    name = name_of("held-out", LAYOUT, examples.fingerprint, share, MOST)
    folder = prepared(name, partial(_write, examples, most_held(len(examples), share)))
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    train, valid = (mapped(folder / file, np.int64) for file in (TRAIN, VALID))
    return StoredExamples(examples.store, train, facts["train"]), StoredExamples(examples.store, valid, facts["valid"])


def chosen(examples: StoredExamples, count: int) -> Integers:
    """The rows that are held out, in their order: as many as this, or fewer where equal ones are more."""
    share = count / len(examples)
    while True:
        share *= ROUNDS
        where: dict[bytes, list[int]] = {}
        rows = _below(examples, share)
        for row, digest in zip(rows.tolist(), examples.keys.digests(rows), strict=True):
            where.setdefault(digest, []).append(row)
        held, left = taken(where, count)
        if left == 0 or share >= 1:
            return np.array(sorted(held or rarest(where)), dtype=np.int64)


def _below(examples: StoredExamples, share: float) -> Integers:
    """The rows whose hashes are in the first part of all that there can be."""
    hashes, bound = examples.store.hashes, np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    parts = [np.flatnonzero(hashes[start : start + MANY] <= bound) + start for start in range(0, len(hashes), MANY)]
    return np.concatenate(parts)


def _write(examples: StoredExamples, count: int, folder: Path) -> None:
    held = chosen(examples, count)
    held.tofile(folder / VALID)
    with (folder / TRAIN).open("wb") as file:
        for start in followed(
            range(0, len(examples), MANY), "holding out validation examples", len(examples), lambda start: MANY
        ):
            rows = np.arange(start, min(start + MANY, len(examples)))
            file.write(rows[~np.isin(rows, held)].tobytes())
    parts = {name: StoredExamples(examples.store, mapped(folder / file, np.int64)) for name, file in PARTS.items()}
    facts = {name: part.fingerprint for name, part in parts.items()}
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")


PARTS = {"train": TRAIN, "valid": VALID}
