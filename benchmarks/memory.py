"""Training memory networks: stories per second beside a plain batched MemN2N.

python benchmarks/memory.py            a minute
python benchmarks/memory.py --quick    half of it

The joint training on bAbI: batches of 32 questions of all tasks, 50 statements, three hops, width 50, position encoding;
forward, gradient, clipping and SGD. The peer embeds statements hop by hop with `nn.Embedding`, padded to the memory's size
(plain) or to the longest story and sentence of its batch (trimmed), from tensors that are ready; ours makes its batches from
the encoded corpus on the way. Without the data, stories of like lengths are drawn.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from kit import Report, Run, apart, arguments, extra_megabytes
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import data, recipes
from saccade.data.examples import Example, Splits, Story
from saccade.data.tensors import Batch
from saccade.errors import DataError
from saccade.systems.memory_network import Model
from saccade.task import Corpus, Task
from saccade.training.settings import Settings, resolve
from saccade.training.trainer import Trainer

BATCHES, MEMORY, HOPS, WIDTH = 100, 50, 3, 50


class Plain(nn.Module):
    """A MemN2N as it is usually written: adjacent tying, a lookup of every word for each use."""

    def __init__(self, words: int, answers: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(words, WIDTH, padding_idx=0) for _ in range(HOPS + 1))
        self.times = nn.ParameterList(torch.randn(MEMORY, WIDTH) * 0.1 for _ in range(HOPS + 1))
        self.answer = nn.Linear(WIDTH, answers, bias=False)

    def encoded(self, tokens: Tensor, table: nn.Module) -> Tensor:
        """Word vectors under the weights of their places, added up."""
        most = tokens.shape[-1]
        sizes = (tokens > 0).sum(-1, keepdim=True).clamp(min=1)[..., None]
        place = torch.arange(1, most + 1)[:, None] / sizes
        across = torch.arange(1, WIDTH + 1) / WIDTH
        weights = (1 - place) - across * (1 - 2 * place)
        vectors: Tensor = (table(tokens) * weights).sum(-2)
        return vectors

    def forward(self, stories: Tensor, questions: Tensor) -> Tensor:
        there = (stories > 0).any(-1)
        state = self.encoded(questions, self.tables[0])
        for hop in range(HOPS):
            own = self.times[hop][: stories.shape[1]], self.times[hop + 1][: stories.shape[1]]
            keys = self.encoded(stories, self.tables[hop]) + own[0]
            values = self.encoded(stories, self.tables[hop + 1]) + own[1]
            scores = (keys @ state[..., None])[..., 0].masked_fill(~there, -torch.inf)
            state = state + (scores.softmax(-1)[:, None] @ values)[:, 0]
        scored: Tensor = self.answer(state)
        return scored


def drawn() -> Splits:
    """Stories of like lengths, where bAbI is not here."""
    torch.manual_seed(0)
    names = [f"word{number}" for number in range(160)]
    counts = torch.distributions.Geometric(0.11).sample((3200,)).long().clamp(2, MEMORY).tolist()

    def sentence(size: int) -> str:
        return " ".join(names[number] for number in torch.randint(160, (size,)).tolist())

    stories = [Story(tuple(sentence(6) for _ in range(count)), sentence(4)) for count in counts]
    return Splits([Example(story, names[number % 50]) for number, story in enumerate(stories)], [], [])


def prepared() -> tuple[Settings, Task, Corpus]:
    """The recipe, and its corpus."""
    settings = resolve(recipes.load("babi-joint"), ["train.steps=1000000000", "model.linear_steps=0", "train.warmup=0"])
    try:
        splits = data.dataset("babi").load(settings.data)
    except DataError as error:
        print(f"stories are drawn: {error}")
        splits = drawn()
    task = Task.fit(settings, splits)
    return settings, task, task.corpus(splits.train)


def rectangles(batch: Batch, *, trimmed: bool) -> tuple[Tensor, Tensor, Tensor]:
    """What a plain model reads: stories (B, M, K), questions (B, K), and labels."""
    given, size = batch.input, 12
    tokens = F.pad(given.tokens, (0, size - given.tokens.shape[1]))
    stories = torch.zeros(len(given.counts), MEMORY, size, dtype=torch.long)
    start = 0
    for row, count in enumerate(given.counts.tolist()):
        stories[row, :count] = tokens[start : start + count].flip(0)
        start += count
    if trimmed:
        stories = stories[:, : given.most, : given.tokens.shape[1]].contiguous()
    return stories, tokens[start:], batch.target.labels


def runs(names: Sequence[str]) -> dict[str, Run]:
    """Passes over the same batches, each a training step a batch."""
    settings, task, corpus = prepared()
    source = corpus.batches(settings.train)
    batches = [source.next() for _ in range(BATCHES)]
    made: dict[str, Run] = {}
    for name in names:
        torch.manual_seed(0)
        if name == "ours":
            trainer = Trainer(Model(settings.model, **task.sizes()), corpus.batches(settings.train), settings.train)
            steps = trainer.steps()
            made[name] = partial(taken, steps)
            continue
        words, answers = task.sizes()["source"].size, len(task.sizes()["answers"])
        rows = [rectangles(batch, trimmed=name == "trimmed") for batch in batches]
        made[name] = partial(steps_of, Plain(words, answers), rows)
    return made


def taken(steps: Iterator[object]) -> None:
    """As many training steps as there are batches."""
    for _ in range(BATCHES):
        next(steps)


def steps_of(model: Plain, rows: Sequence[tuple[Tensor, Tensor, Tensor]]) -> None:
    """A training step for each batch."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for stories, questions, labels in rows:
        optimizer.zero_grad()
        F.cross_entropy(model(stories, questions), labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.25)
        optimizer.step()


def main() -> None:
    options = arguments(__doc__ or "")
    report = Report()
    times = apart(runs, ["plain", "trimmed"], ["ours"], 3 if options.quick else 9, options.threads)
    report.case(f"memory network, {BATCHES} steps", times)
    stories = BATCHES * 32
    rates = ", ".join(f"{name} {stories / sorted(own)[len(own) // 2]:,.0f}" for name, own in times.items())
    print(f"{'stories per second':38} {rates}")
    torch.set_num_threads(options.threads)
    peaks = {name: extra_megabytes(run) for name, run in runs(["plain", "ours"]).items()}
    print(f"{'peak memory':38} " + ", ".join(f"{name} {peak:.0f} MB" for name, peak in peaks.items()))
    report.close(options.json)


if __name__ == "__main__":
    main()
