"""Training a GRU encoder–decoder with Bahdanau attention: our engine beside the loop of the textbooks.

python benchmarks/rnn.py            a few minutes
python benchmarks/rnn.py --quick    at most a minute

One layer each way in, hidden 512, embedding 256, vocabulary 8,000, batches of 64, Adam, clipping at 1. "textbook loop"
projects the keys again at every step; "hoisted loop" projects them once. "full" batches have 64 × 16 tokens; "sentences"
have lengths as they come in text, sorted into batches, which the loops fill up with padding.
"""

import functools
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np
import torch
from kit import Report, arguments, interleave
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.cli.main import SPINS
from saccade.data.text import TextBatch
from saccade.systems.rnn_attention import Config, Model
from saccade.training.allocator import keep_pages
from saccade.training.config import Config as TrainConfig
from saccade.training.trainer import Trainer

ROWS, STEPS, HIDDEN, WIDTH, VOCABULARY = 64, 16, 512, 256, 8000


class Loop(nn.Module):
    """The per-step loop as textbooks write it."""

    def __init__(self, *, hoisted: bool) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.reader = nn.GRU(WIDTH, HIDDEN, batch_first=True)
        self.writer = nn.GRU(WIDTH + HIDDEN, HIDDEN, batch_first=True)
        self.query, self.key = nn.Linear(HIDDEN, HIDDEN, bias=False), nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.vector, self.output = nn.Linear(HIDDEN, 1, bias=False), nn.Linear(HIDDEN, VOCABULARY)
        self.hoisted = hoisted

    def forward(self, batch: TextBatch) -> Tensor:
        memory, hidden = self.reader(self.source(batch.source))
        padding = (batch.source == 0)[:, None]
        before = torch.cat((torch.ones_like(batch.target[:, :1]), batch.target[:, :-1]), 1)
        words, outputs = self.target(before), []
        keys = self.key(memory)
        for t in range(words.shape[1]):
            keys = keys if self.hoisted else self.key(memory)
            scores = self.vector(torch.tanh(self.query(hidden[-1])[:, None, None] + keys[:, None])).squeeze(-1)
            context = torch.bmm(F.softmax(scores.masked_fill(padding, -1e6), -1), memory)
            output, hidden = self.writer(torch.cat([context, words[:, t : t + 1]], -1), hidden)
            outputs.append(output)
        logits = self.output(torch.cat(outputs, 1))
        return F.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=0)


class Batches:
    """Batches that are taken in turn; enough of a corpus for the trainer."""

    def __init__(self, batches: list[TextBatch]) -> None:
        self.batches = batches
        self.lengths = np.ones(len(batches), dtype=np.int64)

    def batch(self, indices: np.ndarray[tuple[int], np.dtype[np.int64]]) -> TextBatch:
        return self.batches[int(indices[0])]


def made(lengths: Tensor) -> TextBatch:
    """A batch of random tokens with these lengths (rows, 2)."""
    sides = []
    for side in lengths.t():
        tokens = torch.randint(4, VOCABULARY, (len(side), int(side.max())))
        sides += [tokens * (torch.arange(tokens.shape[1]) < side[:, None]), side]
    return TextBatch(*sides)


def sentences(count: int) -> list[TextBatch]:
    """Batches of 64 with lengths as in captions: about 13 words, sorted by the source as is usual."""
    source = (13 + 4.5 * torch.randn(count * ROWS)).clamp(4, 40).long()
    target = (source + 2 * torch.randn(len(source))).clamp(4, 40).long()
    order = source.argsort()
    return [made(torch.stack((source, target), 1)[rows]) for rows in order.split(ROWS)]


def textbook(model: nn.Module, batches: list[TextBatch]) -> Callable[[], object]:
    """One update after the other, as in the books; the batches in turn."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    turn = iter(range(10**9))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(batches[next(turn) % len(batches)]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def ours(batches: list[TextBatch]) -> Callable[[], object]:
    """The same model in the engine."""
    model = Model(Config(embedding=WIDTH, hidden=HIDDEN, readout=0, directions=1), VOCABULARY, VOCABULARY)
    trainer = Trainer(model, Batches(batches), TrainConfig(steps=10**9, max_tokens=1, rate=1e-3))
    steps = trainer.steps()
    return lambda: next(steps)


def contestants(batches: list[TextBatch]) -> dict[str, Callable[[], object]]:
    """One pass over the batches for each."""
    torch.manual_seed(0)
    single = {
        "textbook loop": textbook(Loop(hoisted=False), batches),
        "hoisted loop": textbook(Loop(hoisted=True), batches),
        "ours": ours(batches),
    }
    return {key: functools.partial(lambda step: [step() for _ in batches], step) for key, step in single.items()}


def made_batches(kind: str) -> list[TextBatch]:
    """The batches of a case, the same in every process."""
    torch.manual_seed(0)
    return [made(torch.full((ROWS, 2), STEPS))] if kind == "full" else sentences(4)


def work(pipe: Connection, kind: str, names: list[str], threads: int, kept: bool) -> None:
    """A process of its own: runs what it is told to, and says how long one pass took.

    The first pass after a pause, in which others had the cores and the caches, is not counted.
    """
    torch.set_num_threads(threads)
    if kept:
        keep_pages()
    runs = contestants(made_batches(kind))
    runs = {name: runs[name] for name in names}
    while name := pipe.recv():
        runs[name]()
        count, started = 0, time.perf_counter()
        while count == 0 or time.perf_counter() - started < 1:
            runs[name]()
            count += 1
        pipe.send((time.perf_counter() - started) / count)


def apart(kind: str, rounds: int, threads: int) -> dict[str, list[float]]:
    """Each as its user runs it: the loops in a plain process, ours in one set up as `saccade train` does, turn by turn."""
    context = multiprocessing.get_context("spawn")
    homes: dict[str, Connection] = {}
    for names, kept in ((["textbook loop", "hoisted loop"], False), (["ours"], True)):
        here, there = context.Pipe()
        if kept:
            os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
        context.Process(target=work, args=(there, kind, names, threads, kept), daemon=True).start()
        homes |= dict.fromkeys(names, here)
    times: dict[str, list[float]] = {name: [] for name in homes}
    for _ in range(rounds):
        for name, pipe in homes.items():
            pipe.send(name)
            times[name].append(pipe.recv())
    for pipe in set(homes.values()):
        pipe.send("")
    return times


def tell(report: Report, name: str, times: dict[str, list[float]], batches: list[TextBatch]) -> None:
    """Times, ratios and target tokens per second."""
    report.case(name, times)
    tokens = sum(batch.tokens for batch in batches)
    told = ", ".join(f"{key} {tokens / statistics.median(part):,.0f}" for key, part in times.items())
    print(f"{'':38} target tokens per second: {told}", flush=True)


def main() -> None:
    """Both cases, each as its user runs it; and the first with all in one process, where the loops profit from our pages."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "")
    report, rounds = Report(), 3 if options.quick else 15
    tell(report, "full", apart("full", rounds, options.threads), made_batches("full"))
    tell(report, "sentences", apart("sentences", max(1, rounds // 4), options.threads), made_batches("sentences"))
    torch.set_num_threads(options.threads)
    keep_pages()
    batches = made_batches("full")
    tell(report, "full, all with kept pages", interleave(contestants(batches), max(3, rounds // 2), 0.5), batches)
    report.close(options.json)


if __name__ == "__main__":
    main()
