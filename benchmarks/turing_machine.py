"""Training a Neural Turing Machine: steps per second beside a plain batched implementation of equal shape.

python benchmarks/turing_machine.py            a minute
python benchmarks/turing_machine.py --quick    half of it

The recipe `copy`: batches of 16 sequences of 1 to 20 vectors, a memory of 128 × 20, one head that reads and one that
writes, a feed-forward controller of 100; forward, gradient, clipping and Adam, and the same with an LSTM as controller. The
peer is written as usual, all sequences at once, one operation of torch after the other; it gets its batches ready-made, ours
makes them on the way.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from kit import Report, Run, apart, arguments, extra_megabytes
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import data, recipes
from saccade.data.tensors import Batch
from saccade.systems.neural_turing_machine import Config, Model
from saccade.task import Corpus, Task
from saccade.training.settings import Settings, resolve
from saccade.training.trainer import Trainer

BATCHES, CONTROLLERS = 20, ("feedforward", "lstm")


class Head(nn.Module):
    """One head: equations 5 to 9 of the paper."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.sizes = [config.memory_width, 1, 1, 3, 1]
        self.address = nn.Linear(config.hidden_size, sum(self.sizes))

    def forward(self, control: Tensor, memory: Tensor, before: Tensor) -> Tensor:
        key, strength, gate, shift, sharpness = self.address(control).split(self.sizes, -1)
        cosines = F.cosine_similarity(key.tanh()[:, None], memory, dim=-1)
        content = (F.softplus(strength) * cosines).softmax(-1)
        gate = gate.sigmoid()
        mixed = gate * content + (1 - gate) * before
        back, stay, on = shift.softmax(-1).unbind(-1)
        turned = back[:, None] * mixed.roll(-1, -1) + stay[:, None] * mixed + on[:, None] * mixed.roll(1, -1)
        powers = (turned + 1e-12) ** (1 + F.softplus(sharpness))
        weights: Tensor = powers / powers.sum(-1, keepdim=True)
        return weights


class Plain(nn.Module):
    """A machine as it is usually written."""

    def __init__(self, config: Config, channels: int, bits: int) -> None:
        super().__init__()
        self.config = config
        width, hidden = config.memory_width, config.hidden_size
        lstm = config.controller == "lstm"
        self.controller = nn.LSTMCell(channels + width, hidden) if lstm else nn.Linear(channels + width, hidden)
        self.reader, self.writer = Head(config), Head(config)
        self.erase, self.add = nn.Linear(hidden, width), nn.Linear(hidden, width)
        self.output = nn.Linear(hidden + width, bits)
        self.first = nn.Parameter(torch.zeros(2, config.memory_rows))
        self.first_read = nn.Parameter(torch.zeros(width))

    def forward(self, vectors: Tensor) -> Tensor:
        B, config = len(vectors), self.config
        memory = vectors.new_full((B, config.memory_rows, config.memory_width), 1e-6)
        reading, writing = (row.softmax(-1).expand(B, -1) for row in self.first)
        read = self.first_read.tanh().expand(B, -1)
        state = vectors.new_zeros(B, config.hidden_size), vectors.new_zeros(B, config.hidden_size)
        outputs = []
        for vector in vectors.unbind(1):
            heard = torch.cat((vector, read), -1)
            if isinstance(self.controller, nn.LSTMCell):
                state = self.controller(heard, state)
                control = state[0]
            else:
                control = self.controller(heard).tanh()
            reading = self.reader(control, memory, reading)
            writing = self.writer(control, memory, writing)
            read = (reading[:, None] @ memory)[:, 0]
            erased = memory * (1 - writing[..., None] * self.erase(control).sigmoid()[:, None])
            memory = erased + writing[..., None] * self.add(control).tanh()[:, None]
            outputs.append(torch.cat((control, read), -1))
        logits: Tensor = self.output(torch.stack(outputs, 1))
        return logits


def prepared(controller: str) -> tuple[Settings, Task, Corpus]:
    """The recipe, and its corpus."""
    words = ["train.steps=1000000000", "data.train_size=320", f"model.controller={controller}"]
    settings = resolve(recipes.load("copy"), words)
    splits = data.dataset(settings.dataset).load(settings.data)
    task = Task.fit(settings, splits)
    return settings, task, task.corpus(splits.train)


def runs(controller: str, names: Sequence[str]) -> dict[str, Run]:
    """Passes over batches, each a training step a batch."""
    settings, task, corpus = prepared(controller)
    made: dict[str, Run] = {}
    for name in names:
        torch.manual_seed(0)
        if name == "ours":
            trainer = Trainer(Model(settings.model, **task.sizes()), corpus.batches(settings.train), settings.train)
            made[name] = partial(taken, trainer.steps())
        else:
            source = corpus.batches(settings.train)
            made[name] = partial(steps_of, Plain(settings.model, **task.sizes()), [source.next() for _ in range(BATCHES)])
    return made


def taken(steps: Iterator[object]) -> None:
    """As many training steps as there are batches."""
    for _ in range(BATCHES):
        next(steps)


def steps_of(model: Plain, batches: Sequence[Batch]) -> None:
    """A training step for each batch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    for batch in batches:
        optimizer.zero_grad()
        asked = batch.target.asked[..., None]
        losses = F.binary_cross_entropy_with_logits(model(batch.input.vectors), batch.target.bits, reduction="none")
        ((losses * asked).sum() / len(asked)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()


def main() -> None:
    options = arguments(__doc__ or "")
    report = Report()
    for controller in CONTROLLERS:
        build = partial(runs, controller)
        times = apart(build, ["plain"], ["ours"], 3 if options.quick else 9, options.threads)
        report.case(f"turing machine, {controller}, {BATCHES} steps", times)
        rates = ", ".join(f"{name} {BATCHES / sorted(own)[len(own) // 2]:.0f}" for name, own in times.items())
        print(f"{'training steps per second':38} {rates}")
        torch.set_num_threads(options.threads)
        peaks = {name: extra_megabytes(run) for name, run in build(["plain", "ours"]).items()}
        print(f"{'peak memory':38} " + ", ".join(f"{name} {peak:.0f} MB" for name, peak in peaks.items()))
    report.close(options.json)


if __name__ == "__main__":
    main()
