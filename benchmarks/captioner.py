"""Captions of pictures: training beside the loop of the textbooks, and beam search of many pictures beside one at a time.

python benchmarks/captioner.py            a few minutes
python benchmarks/captioner.py --quick    at most a minute

Show, attend and tell with soft attention over features that a network has computed: an LSTM of 512, embedding 512, additive
attention of 512, the gate, the doubly stochastic penalty, vocabulary 3,000, Adam, clipping at 5. Training: 32 pictures of
14 × 14 cells with captions of 8 to 16 words. "textbook loop" is the usual one: keys are projected at every step, an
`nn.LSTMCell` and the output layer are called at every step, finished captions leave the batch. Search: 32 pictures of 7 × 7
cells, beam 5, 14 tokens; "one at a time" is our own search of one picture after the other, "textbook search" theirs.
"""

import functools
import statistics
from collections.abc import Callable, Sequence

import torch
from kit import InTurn, Report, apart, arguments
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.tensors import Batch, PictureInput, TextTarget
from saccade.data.tokenizers import START, learned_layout
from saccade.layers.backbones import Backbone
from saccade.search import Config as SearchConfig
from saccade.search import search
from saccade.systems.show_attend_tell import Config, Model
from saccade.training.train_config import Config as TrainConfig
from saccade.training.trainer import Trainer

ROWS, HIDDEN, VOCABULARY, BEAM, TOKENS = 32, 512, 3000, 5, 14
FEATURES = Backbone("resnet", {}, (0.0,), (1.0,))  # computed before, so that only the writer is compared


class Loop(nn.Module):
    """The captioner as tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.key, self.query = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.vector, self.gate = nn.Linear(HIDDEN, 1), nn.Linear(HIDDEN, 1)
        self.cell = nn.LSTMCell(2 * HIDDEN, HIDDEN)
        self.first_state, self.first_cell = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.state_map, self.context_map = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.output, self.dropout = nn.Linear(HIDDEN, VOCABULARY), nn.Dropout(0.5)

    def start(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        mean = cells.mean(1)
        return torch.tanh(self.first_state(mean)), torch.tanh(self.first_cell(mean))

    def step(
        self, word: Tensor, cells: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        scores = self.vector(torch.tanh(self.key(cells) + self.query(state[0])[:, None])).squeeze(2)
        weights = F.softmax(scores, 1)
        context = torch.sigmoid(self.gate(state[0])) * (cells * weights[..., None]).sum(1)
        state = self.cell(torch.cat([word, context], 1), state)
        read = torch.tanh(word + self.state_map(state[0]) + self.context_map(context))
        return self.output(self.dropout(read)), weights, state

    def forward(self, batch: Batch) -> Tensor:
        lengths, order = batch.target.lengths.sort(descending=True)
        cells = self.dropout(batch.input.pixels.flatten(2).transpose(1, 2)[order])
        words = self.dropout(self.embedding(batch.target.before()[order]))
        target, state = batch.target.tokens[order], self.start(cells)
        logits = words.new_zeros(len(words), words.shape[1], VOCABULARY)
        seen = words.new_zeros(len(words), words.shape[1], cells.shape[1])
        for t in range(words.shape[1]):
            count = int((lengths > t).sum())
            own = (state[0][:count], state[1][:count])
            logits[:count, t], seen[:count, t], state = self.step(words[:count, t], cells[:count], own)
        live = torch.arange(words.shape[1]) < lengths[:, None]
        penalty = (1 - seen.sum(1)).square().sum()
        loss: Tensor = (F.cross_entropy(logits[live], target[live], reduction="sum") + penalty) / live.sum()
        return loss

    @torch.no_grad()
    def caption(self, cells: Tensor) -> list[int]:
        """Beam search of one picture, (1, K, D)."""
        cells, state = cells.expand(BEAM, -1, -1), self.start(cells.expand(BEAM, -1, -1))
        texts, totals = torch.full((BEAM, 1), START), torch.zeros(BEAM)
        for step in range(TOKENS):
            logits, _, state = self.step(self.embedding(texts[:, -1]), cells, state)
            scores = totals[:, None] + logits.log_softmax(1)
            totals, best = (scores[0] if step == 0 else scores.flatten()).topk(BEAM)
            parents, tokens = best // VOCABULARY, best % VOCABULARY
            state = (state[0][parents], state[1][parents])
            texts = torch.cat([texts[parents], tokens[:, None]], 1)
        found: list[int] = texts[0, 1:].tolist()
        return found


def made(side: int) -> Batch:
    """Pictures of side × side cells with captions of 8 to 16 tokens."""
    lengths = torch.arange(ROWS) % 9 + 8
    tokens = torch.randint(4, VOCABULARY, (ROWS, int(lengths.max())))
    tokens = tokens.where(torch.arange(tokens.shape[1]) < lengths[:, None], 0)
    return Batch(
        PictureInput(torch.randn(ROWS, HIDDEN, side, side)), TextTarget(tokens, lengths, torch.full((ROWS,), START))
    )


def model(side: int) -> Model:
    config = Config(embedding_size=HIDDEN, hidden_size=HIDDEN, dropout=0.5)
    return Model(config, HIDDEN, side, side, learned_layout(VOCABULARY), FEATURES)


def textbook(batch: Batch) -> Callable[[], object]:
    loop = Loop()
    optimizer = torch.optim.Adam(loop.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loop(batch).backward()
        nn.utils.clip_grad_norm_(loop.parameters(), 5.0)
        optimizer.step()

    return step


def ours(batch: Batch) -> Callable[[], object]:
    trainer = Trainer(model(14), InTurn([batch]), TrainConfig(steps=10**9, learning_rate=1e-3, clip=5.0))
    steps = trainer.steps()
    return lambda: next(steps)


def searched(batch: Batch, size: int) -> Callable[[], object]:
    """Captions of all pictures, so many at a time; none ends, so that all are of one length."""
    captioner, config = model(7).eval(), SearchConfig(method="beam", beam=BEAM, max_length=TOKENS)

    @torch.inference_mode()
    def run() -> None:
        for pixels in batch.input.pixels.split(size):
            memory = captioner.read(PictureInput(pixels))
            search(captioner, memory, config, inputs=len(pixels), start=START, end=0)

    return run


def loop_search(batch: Batch) -> Callable[[], object]:
    loop, cells = Loop().eval(), batch.input.pixels.flatten(2).transpose(1, 2)
    return lambda: [loop.caption(one[None]) for one in cells]


def training(names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """One update for each."""
    torch.manual_seed(0)
    batch = made(14)
    makers = {"textbook loop": textbook, "ours": ours}
    return {name: makers[name](batch) for name in names}


def searching(names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """Captions of all pictures for each."""
    torch.manual_seed(0)
    batch = made(7)
    makers: dict[str, Callable[[Batch], Callable[[], object]]] = {
        "textbook search": loop_search,
        "one at a time": functools.partial(searched, size=1),
        "ours": functools.partial(searched, size=ROWS),
    }
    return {name: makers[name](batch) for name in names}


def main() -> None:
    """Both, each as its user runs it."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "")
    report, rounds = Report(), 3 if options.quick else 9
    cases = (
        ("training", training, ("textbook loop",), ("ours",)),
        ("beam 5", searching, ("textbook search",), ("one at a time", "ours")),
    )
    for name, build, peers, own in cases:
        times = apart(build, peers, own, rounds, options.threads)
        report.case(name, times)
        rates = ", ".join(f"{key} {ROWS / statistics.median(part):,.1f}" for key, part in times.items())
        print(f"{'':38} pictures per second: {rates}", flush=True)
    report.close(options.json)


if __name__ == "__main__":
    main()
