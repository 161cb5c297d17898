"""Small runs for the tests: a few seconds at most, everything that carries state switched on."""

import hashlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch._dynamo  # noqa: F401 - the optimizer would import it in every child, which takes seconds

from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.settings import Settings, resolve
from saccade.training.train import train
from saccade.training.trainer import Report

TINY = [
    "data.train_size=120",
    "data.valid_size=20",
    "data.test_size=20",
    "data.locales=en_US,de_DE,ja_JP",
    "model.embedding_size=8",
    "model.hidden_size=12",
    "model.readout_size=6",
    "model.dropout=0.2",
    "tokens.kind=char",
    "writer.share_tokenizer=false",
    "writer.metric=exact_match",
    "writer.label_smoothing=0.0",
    "train.steps=14",
    "train.batch_tokens=800",
    "train.learning_rate=0.01",
    "train.schedule=cosine",
    "train.warmup=3",
    "train.log_every=1",
    "train.valid_every=6",
    "train.save_every=4",
    "train.patience=0",
    "train.threads=1",
    "train.patience=0",
    "tokens.kind=char",
    "writer.metric=exact_match",
    "writer.label_smoothing=0",
    "writer.share_tokenizer=false",
    "search.max_length=14",
]


def tiny(*words: str) -> Settings:
    """The date reader, made small."""
    return resolve({"system": "bahdanau", "data": {"name": "dates"}}, [*TINY, *words])


def tiny_epochs(*words: str) -> Settings:
    """The date reader, trained for a number of epochs instead of steps."""
    left_out = ["train.steps"] + ["train.batch_tokens"] * any(word.startswith("train.batch_size") for word in words)
    common = [word for word in TINY if word.partition("=")[0] not in left_out]
    return resolve({"system": "bahdanau", "data": {"name": "dates"}}, [*common, *words])


def tiny_transformer(*words: str) -> Settings:
    """The same with a Transformer with dropout everywhere."""
    model = ["hidden_size=8", "num_heads=2", "intermediate_size=16", "encoder_layers=2", "decoder_layers=1"]
    model += ["dropout=0.2", "attention_dropout=0.1", "activation_dropout=0.1"]
    shared = ["writer.share_tokenizer=true", *(f"model.{word}" for word in model)]
    common = [word for word in TINY if not word.startswith("model.")]
    return resolve({"system": "transformer", "data": {"name": "dates"}}, [*common, *shared, *words])


TIMED = ("time", "tokens_per_second", "examples_per_second", "rss_mb")  # what depends on the clock and the machine


class StopAt(Quiet):
    """Presses Ctrl-C in the middle of a step."""

    def __init__(self, step: int) -> None:
        self.at = step

    def step(self, report: Report, entry: Mapping[str, Any] | None) -> None:
        if report.step == self.at:
            os.kill(os.getpid(), signal.SIGINT)


def contents(run: Path) -> dict[str, str]:
    """What a run came to: a hash of each file of its last checkpoint that holds numbers, and its log without times."""
    last = run / "checkpoints" / (run / "checkpoints" / "LAST").read_text().split()[0]
    files = {path.name: path.read_bytes() for path in last.iterdir() if path.name != "MANIFEST.json"}
    return {**{name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, "log": log(run)}


def log(run: Path) -> str:
    """The log without what depends on the clock and the machine's memory."""
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    timeless = [{k: v for k, v in line.items() if k not in TIMED} for line in lines]
    return json.dumps(timeless)


def forked(work: Callable[[], object]) -> int:
    """The process id of a child that does this and ends; torch is already imported, which saves seconds."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        os._exit(1)


def interrupted(run: Path, settings: Settings, step: int) -> int:
    """A child that trains this run and is stopped by Ctrl-C in this step; its exit status."""

    def work() -> None:
        with pytest.raises(Interrupted) as stop:
            train(run, settings, StopAt(step))
        assert stop.value.exit_code == 130

    return ended(forked(work))


def ended(child: int) -> int:
    """Its exit status, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(run: Path, settings: Settings, *, resume: bool = False) -> int:
    """A child that trains this run."""
    return forked(lambda: train(run, settings, Quiet(), resume=resume))
