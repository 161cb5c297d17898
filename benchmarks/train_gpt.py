"""Training small GPT-2s: tokens per second beside transformers' two attention paths and a plain PyTorch module.

python benchmarks/train_gpt.py            some minutes
python benchmarks/train_gpt.py --quick    at most a minute, without torch.compile

"wide": 6 layers of 384, 6 heads, 256 characters, batch 12, dropout 0.2 (of attention weights, too). "wide, weights kept":
the same without dropout of attention weights. "narrow": the recipe gpt-shakespeare, 4 layers of 128, 4 heads, 64 characters,
batch 12, no dropout. 65 characters, tied embeddings, fused AdamW for all. `plain` is a pre-norm decoder without biases and
torch's scaled_dot_product_attention, `compiled` the same through torch.compile; `hf` needs transformers.
"""

import functools
import importlib.util
import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from kit import InTurn, Report, apart, arguments
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.tensors import Batch, TextTarget
from saccade.data.tokenizers import learned_layout
from saccade.systems.gpt2 import Config, Model
from saccade.training.train_config import Config as TrainConfig
from saccade.training.trainer import Trainer

VOCABULARY, ROWS = 65, 12


@dataclass(frozen=True)
class Shape:
    """Sizes of a model and its windows."""

    layers: int
    width: int
    heads: int
    context: int
    dropout: float
    attention_dropout: float

    def work(self) -> float:
        """Billions of operations in the products of a step, forward and backward; of attention the half that is open."""
        layer = 12 * self.width**2 + self.context * self.width
        return 6e-9 * ROWS * self.context * (self.layers * layer + VOCABULARY * self.width)


WIDE = Shape(layers=6, width=384, heads=6, context=256, dropout=0.2, attention_dropout=0.2)
NARROW = Shape(layers=4, width=128, heads=4, context=64, dropout=0.0, attention_dropout=0.0)
CASES = {"wide": WIDE, "wide, weights kept": replace(WIDE, attention_dropout=0.0), "narrow": NARROW}
PEERS = {"hf eager": "transformers", "hf sdpa": "transformers", "plain": "torch", "compiled": "torch"}


class PlainBlock(nn.Module):
    """Attention and a network of four times the width, each behind a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.shape = shape
        self.norms = nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(2))
        self.joint, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.network = nn.Sequential(
            nn.Linear(width, 4 * width, bias=False),
            nn.GELU(),
            nn.Linear(4 * width, width, bias=False),
            nn.Dropout(shape.dropout),
        )
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (self.shape.heads, -1)).transpose(1, 2) for part in self.joint(self.norms[0](x)).chunk(3, -1)
        )
        share = self.shape.attention_dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=share, is_causal=True)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).flatten(2)))
        added: Tensor = x + self.network(self.norms[1](x))
        return added


class Plain(nn.Module):
    """What one writes by hand."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embedding, self.places = nn.Embedding(VOCABULARY, shape.width), nn.Embedding(shape.context, shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.blocks = nn.Sequential(*(PlainBlock(shape) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, before: Tensor, target: Tensor) -> Tensor:
        x = self.blocks(self.dropout(self.embedding(before) + self.places.weight))
        logits = F.linear(self.norm(x), self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())


class HuggingFace(nn.Module):
    """transformers' GPT2LMHeadModel."""

    def __init__(self, shape: Shape, attention: str) -> None:
        super().__init__()
        import transformers

        transformers.logging.set_verbosity_error()
        config = transformers.GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=shape.context,
            n_embd=shape.width,
            n_layer=shape.layers,
            n_head=shape.heads,
            resid_pdrop=shape.dropout,
            embd_pdrop=shape.dropout,
            attn_pdrop=shape.attention_dropout,
            bos_token_id=0,
            eos_token_id=0,
            use_cache=False,
            attn_implementation=attention,
        )
        self.model = transformers.GPT2LMHeadModel(config)

    def forward(self, before: Tensor, target: Tensor) -> Tensor:
        logits = self.model(before).logits
        return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def model_of(name: str, shape: Shape) -> nn.Module:
    """A peer's model of this shape."""
    if name.startswith("hf"):
        return HuggingFace(shape, name.removeprefix("hf "))
    plain = Plain(shape)
    return torch.compile(plain, dynamic=False) if name == "compiled" else plain  # type: ignore[return-value]


def theirs(model: nn.Module, batches: Sequence[Batch]) -> Callable[[], object]:
    """One update after the other."""
    settings = {"lr": 1e-4, "betas": (0.9, 0.99), "weight_decay": 0.1}
    optimizer = torch.optim.AdamW(model.train().parameters(), fused=True, **settings)  # type: ignore[arg-type]
    turn = itertools.cycle([(batch.target.before(), batch.target.tokens) for batch in batches])

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(*next(turn)).backward()
        optimizer.step()

    return step


def ours(shape: Shape, batches: Sequence[Batch]) -> Callable[[], object]:
    """The engine's updates."""
    sizes = {"hidden_size": shape.width, "num_layers": shape.layers, "num_heads": shape.heads}
    config = Config(**sizes, dropout=shape.dropout, attention_dropout=shape.attention_dropout)  # type: ignore[arg-type]
    settings = TrainConfig(
        steps=10**9, optimizer="adamw", learning_rate=1e-4, beta2=0.99, weight_decay=0.1, decay="matrices"
    )
    model = Model(config, learned_layout(VOCABULARY), shape.context)
    steps = Trainer(model, InTurn(batches), settings).steps()
    return lambda: next(steps)


def made(shape: Shape) -> list[Batch]:
    """Windows of random characters, the same in every process."""
    torch.manual_seed(0)
    lengths = torch.full((ROWS,), shape.context)
    rows = [torch.randint(4, VOCABULARY, (ROWS, shape.context + 1)) for _ in range(4)]
    return [Batch(None, TextTarget(row[:, 1:].contiguous(), lengths, row[:, 0])) for row in rows]


def build(shape: Shape, names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """An update of each of the named."""
    runs: dict[str, Callable[[], object]] = {}
    for name in names:
        torch.manual_seed(0)
        runs[name] = ours(shape, made(shape)) if name == "ours" else theirs(model_of(name, shape), made(shape))
    return runs


def main() -> None:
    """Every case with every peer that is there."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "", cases=True)
    report, rounds = Report(), 2 if options.quick else 7
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    for name in PEERS.keys() - set(peers):
        print(f"{name} is left out: {PEERS[name]} is not installed")
    if options.quick:
        peers.remove("compiled")
    for case, shape in CASES.items():
        if not case.startswith(options.only):
            continue
        times = apart(functools.partial(build, shape), peers, ("ours",), rounds, options.threads)
        for name, taken in times.items():
            middle = statistics.median(taken)
            speed = f"{ROWS * shape.context / middle:,.0f} tokens per second, {shape.work() / middle:.0f} GFLOP/s"
            print(f"{case:38} {name}: {speed}", flush=True)
        report.case(case, times)
    report.close(options.json)


if __name__ == "__main__":
    main()
