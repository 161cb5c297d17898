"""Training a GRU encoder–decoder with Bahdanau attention: our engine beside the loop of the textbooks.

python benchmarks/rnn.py            a few minutes
python benchmarks/rnn.py --quick    at most a minute

One layer each way in, hidden 512, embedding 256, vocabulary 8,000, batches of 64, Adam, clipping at 1. "textbook loop"
projects the keys again at every step; "hoisted loop" projects them once. "full" batches have 64 × 16 tokens; "sentences"
have lengths as they come in text, sorted into batches, which the loops fill up with padding.
"""

import functools
import statistics
from collections.abc import Callable, Sequence

import torch
from kit import InTurn, Report, apart, arguments, interleave
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.tensors import Batch, TextInput, TextTarget
from saccade.data.tokenizers import START, learned_layout
from saccade.systems.bahdanau import Config, Model
from saccade.training.allocator import keep_pages
from saccade.training.train_config import Config as TrainConfig
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

    def forward(self, batch: Batch) -> Tensor:
        memory, hidden = self.reader(self.source(batch.input.tokens))
        padding = (batch.input.tokens == 0)[:, None]
        before = torch.cat((torch.ones_like(batch.target.tokens[:, :1]), batch.target.tokens[:, :-1]), 1)
        words, outputs = self.target(before), []
        keys = self.key(memory)
        for t in range(words.shape[1]):
            keys = keys if self.hoisted else self.key(memory)
            scores = self.vector(torch.tanh(self.query(hidden[-1])[:, None, None] + keys[:, None])).squeeze(-1)
            context = torch.bmm(F.softmax(scores.masked_fill(padding, -1e6), -1), memory)
            output, hidden = self.writer(torch.cat([context, words[:, t : t + 1]], -1), hidden)
            outputs.append(output)
        logits = self.output(torch.cat(outputs, 1))
        return F.cross_entropy(logits.flatten(0, 1), batch.target.tokens.flatten(), ignore_index=0)


def made(lengths: Tensor) -> Batch:
    """A batch of random tokens with these lengths (rows, 2)."""
    sides = []
    for side in lengths.t():
        tokens = torch.randint(4, VOCABULARY, (len(side), int(side.max())))
        sides += [tokens * (torch.arange(tokens.shape[1]) < side[:, None]), side]
    source, read, target, written = sides
    return Batch(TextInput(source, read), TextTarget(target, written, torch.full_like(written, START)))


def sentences(count: int) -> list[Batch]:
    """Batches of 64 with lengths as in captions: about 13 words, sorted by the source as is usual."""
    source = (13 + 4.5 * torch.randn(count * ROWS)).clamp(4, 40).long()
    target = (source + 2 * torch.randn(len(source))).clamp(4, 40).long()
    order = source.argsort()
    return [made(torch.stack((source, target), 1)[rows]) for rows in order.split(ROWS)]


def textbook(model: nn.Module, batches: list[Batch]) -> Callable[[], object]:
    """One update after the other, as in the books; the batches in turn."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    turn = iter(range(10**9))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(batches[next(turn) % len(batches)]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def ours(batches: list[Batch]) -> Callable[[], object]:
    """The same model in the engine."""
    config, words = (
        Config(embedding_size=WIDTH, hidden_size=HIDDEN, readout_size=0, directions=1),
        learned_layout(VOCABULARY),
    )
    trainer = Trainer(Model(config, words, words), InTurn(batches), TrainConfig(steps=10**9, learning_rate=1e-3))
    steps = trainer.steps()
    return lambda: next(steps)


LOOPS = ("textbook loop", "hoisted loop")


def contestants(kind: str, names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """One pass over the batches for each."""
    batches = made_batches(kind)
    made: dict[str, Callable[[], Callable[[], object]]] = {
        "textbook loop": lambda: textbook(Loop(hoisted=False), batches),
        "hoisted loop": lambda: textbook(Loop(hoisted=True), batches),
        "ours": lambda: ours(batches),
    }
    return {name: functools.partial(lambda step: [step() for _ in batches], made[name]()) for name in names}


def made_batches(kind: str) -> list[Batch]:
    """The batches of a case, the same in every process."""
    torch.manual_seed(0)
    return [made(torch.full((ROWS, 2), STEPS))] if kind == "full" else sentences(4)


def tell(report: Report, name: str, times: dict[str, list[float]], batches: list[Batch]) -> None:
    """Times, ratios and target tokens per second."""
    report.case(name, times)
    tokens = sum(int(batch.target.lengths.sum()) for batch in batches)
    told = ", ".join(f"{key} {tokens / statistics.median(part):,.0f}" for key, part in times.items())
    print(f"{'':38} target tokens per second: {told}", flush=True)


def main() -> None:
    """Both cases, each as its user runs it; and the first with all in one process, where the loops profit from our pages."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "")
    report, rounds = Report(), 3 if options.quick else 15
    for kind, count in (("full", rounds), ("sentences", max(1, rounds // 4))):
        times = apart(functools.partial(contestants, kind), LOOPS, ("ours",), count, options.threads)
        tell(report, kind, times, made_batches(kind))
    torch.set_num_threads(options.threads)
    keep_pages()
    runs = contestants("full", (*LOOPS, "ours"))
    tell(report, "full, all with kept pages", interleave(runs, max(3, rounds // 2), 0.5), made_batches("full"))
    report.close(options.json)


if __name__ == "__main__":
    main()
