"""Training a small Transformer: target tokens per second beside nn.Transformer, Marian, x-transformers and Joey NMT.

python benchmarks/train_seq2seq.py            some minutes
python benchmarks/train_seq2seq.py --quick    at most a minute

3 + 3 layers, width 256, 8 heads, hidden 1024, vocabulary 8,000, one set of vectors for source, target and output, dropout
0.1 (of attention weights, too), label smoothing 0.1, fused Adam. "full": 128 × 16 tokens on both sides, no padding.
"captions": the lengths of Multi30k where its data is there (else drawn like them), batches of about 2,048 target tokens,
padding included: Joey NMT's as its sampler makes them, without regard to length, ours by length; tokens that are not padding
are counted. A peer that is not installed is left out, and said to be. The extra `bench` brings all but Joey NMT, whose pins
fit nothing newer: pip install --no-deps joeynmt, and what it then asks for.
"""

import functools
import importlib.util
import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from kit import InTurn, Report, apart, arguments
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.data.batches import plan
from saccade.data.sets import multi30k
from saccade.data.tensors import Batch, TextInput, TextTarget, padded
from saccade.data.tokenizers import START, learned_layout
from saccade.errors import DataError
from saccade.systems.transformer import Config, Model
from saccade.training.train_config import Config as TrainConfig
from saccade.training.trainer import Trainer

VOCABULARY, WIDTH, HIDDEN, HEADS, LAYERS, DROPOUT, SMOOTHING = 8000, 256, 1024, 8, 3, 0.1, 0.1
ROWS, STEPS, TOKENS = 128, 16, 2048
PEERS = {"nn.Transformer": "torch", "hf": "transformers", "x-transformers": "x_transformers", "joey": "joeynmt"}


def answers_loss(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=SMOOTHING)


class Plain(nn.Module):
    """torch.nn.Transformer with embeddings and positions around it."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
        nn.init.normal_(self.vectors.weight, std=WIDTH**-0.5)
        self.body = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, DROPOUT, batch_first=True)
        self.dropout = nn.Dropout(DROPOUT)
        angles = torch.arange(64)[:, None] * torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(1e4) / WIDTH))
        self.places = torch.cat((angles.sin(), angles.cos()), 1)

    def _embedded(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.vectors(tokens) * math.sqrt(WIDTH) + self.places[: tokens.shape[1]])
        return embedded

    def forward(self, source: Tensor, before: Tensor, target: Tensor) -> Tensor:
        padding = source == 0
        later = torch.ones(before.shape[1], before.shape[1], dtype=torch.bool).triu(1)
        states = self.body(
            self._embedded(source),
            self._embedded(before),
            tgt_mask=later,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return answers_loss(F.linear(states, self.vectors.weight), target)


class HuggingFace(nn.Module):
    """MarianMTModel."""

    def __init__(self) -> None:
        super().__init__()
        import transformers

        transformers.logging.set_verbosity_error()
        sides = {
            f"{side}_{key}": value
            for side in ("encoder", "decoder")
            for key, value in {"layers": LAYERS, "attention_heads": HEADS, "ffn_dim": HIDDEN}.items()
        }
        config = transformers.MarianConfig(
            **sides,
            vocab_size=VOCABULARY,
            decoder_vocab_size=VOCABULARY,
            d_model=WIDTH,
            dropout=DROPOUT,
            attention_dropout=DROPOUT,
            activation_function="relu",
            max_position_embeddings=64,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            forced_eos_token_id=None,
        )
        self.model = transformers.MarianMTModel(config)

    def forward(self, source: Tensor, before: Tensor, target: Tensor) -> Tensor:
        given = {"input_ids": source, "attention_mask": (source != 0).long(), "decoder_input_ids": before}
        return answers_loss(self.model(**given, use_cache=False).logits, target)


class XTransformers(nn.Module):
    """x_transformers.XTransformer, which keeps an output layer of its own."""

    def __init__(self) -> None:
        super().__init__()
        from x_transformers import XTransformer

        side = {
            "num_tokens": VOCABULARY,
            "depth": LAYERS,
            "heads": HEADS,
            "attn_dim_head": WIDTH // HEADS,
            "ff_mult": HIDDEN // WIDTH,
            "max_seq_len": 64,
            "attn_dropout": DROPOUT,
            "ff_dropout": DROPOUT,
            "emb_dropout": DROPOUT,
            "attn_flash": True,
        }
        both = {f"{name}_{key}": value for name in ("enc", "dec") for key, value in side.items()}
        self.model = XTransformer(dim=WIDTH, tie_token_emb=True, **both)

    def forward(self, source: Tensor, before: Tensor, target: Tensor) -> Tensor:
        mask = source != 0
        seen = self.model.encoder(source, mask=mask, return_embeddings=True)
        return answers_loss(self.model.decoder.net(before, context=seen, context_mask=mask), target)


class Joey(nn.Module):
    """joeynmt's model, pre-norm as it is by default."""

    def __init__(self) -> None:
        super().__init__()
        from joeynmt.model import build_model
        from joeynmt.vocabulary import Vocabulary

        special = {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
        names = {f"{name}_token": f"<{name}>" for name in special}
        numbers = {f"{name}_id": number for name, number in special.items()}
        marks = SimpleNamespace(**names, **numbers, sep_token=None, sep_id=None, lang_tags=[])
        words = Vocabulary([str(number) for number in range(VOCABULARY - len(special))], marks)
        side = {
            "type": "transformer",
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "embeddings": {"embedding_dim": WIDTH, "scale": True, "dropout": DROPOUT},
            "hidden_size": WIDTH,
            "ff_size": HIDDEN,
            "dropout": DROPOUT,
        }
        config = {"tied_embeddings": True, "tied_softmax": True, "encoder": dict(side), "decoder": dict(side)}
        self.model = build_model(config, words, words)
        self.model.loss_function = ("crossentropy", SMOOTHING)

    def forward(self, source: Tensor, before: Tensor, target: Tensor) -> Tensor:
        numbers = [tokens + (tokens < 4) for tokens in (source, before, target)]  # its padding is 1, its start 2
        loss, *_ = self.model(
            return_type="loss",
            src=numbers[0],
            trg_input=numbers[1],
            trg=numbers[2],
            src_mask=(source != 0)[:, None],
            src_length=(source != 0).sum(1),
            trg_mask=(target != 0)[:, None],
        )
        total: Tensor = loss / (target != 0).sum()
        return total


def theirs(model: nn.Module, batches: list[Batch]) -> Callable[[], object]:
    """One update after the other."""
    optimizer = torch.optim.Adam(model.train().parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)
    turn = itertools.cycle(batches)

    def step() -> None:
        batch = next(turn)
        before = torch.cat((torch.full_like(batch.target.tokens[:, :1], START), batch.target.tokens[:, :-1]), 1)
        optimizer.zero_grad(set_to_none=True)
        model(batch.input.tokens, before, batch.target.tokens).backward()
        optimizer.step()

    return step


def ours(batches: list[Batch]) -> Callable[[], object]:
    """The engine's updates."""
    sizes: dict[str, Any] = {"encoder_layers": LAYERS, "decoder_layers": LAYERS, "dropout": DROPOUT}
    config = Config(hidden_size=WIDTH, num_heads=HEADS, intermediate_size=HIDDEN, attention_dropout=DROPOUT, **sizes)
    settings = TrainConfig(steps=10**9, learning_rate=1e-4, beta2=0.98)
    words = learned_layout(VOCABULARY)
    steps = Trainer(Model(config, words, words), InTurn(batches), settings).steps()
    return lambda: next(steps)


def made(lengths: Sequence[tuple[int, int]]) -> Batch:
    """A batch of random tokens of these lengths."""
    source, target = (
        [torch.randint(4, VOCABULARY, (length,)).tolist() for length in side] for side in zip(*lengths, strict=True)
    )
    first = torch.full((len(target),), START)
    return Batch(TextInput(*padded(source)), TextTarget(*padded(target), first, SMOOTHING))


def caption_lengths(count: int) -> list[tuple[int, int]]:
    """Source and target lengths of Multi30k in words, the end counted; drawn like them where the data is not there."""
    try:
        pairs = multi30k.load(multi30k.Config(source="de", target="en")).train[:count]
        return [(len(pair.input.split()) + 1, len(pair.target.split()) + 1) for pair in pairs]
    except DataError:
        print("the data of Multi30k is not there: lengths are drawn")
        source = (12.4 + 4.2 * torch.randn(count)).clamp(3, 40).round().int()
        target = (source + 0.6 + 2.2 * torch.randn(count)).clamp(3, 40).round().int()
        return list(zip(source.tolist(), target.tolist(), strict=True))


def unsorted_batches(lengths: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """As Joey NMT cuts them: in random order, until the longest of a batch times its rows reaches the budget."""
    found: list[list[tuple[int, int]]] = [[]]
    for pair in lengths:
        found[-1].append(pair)
        if max(max(one) for one in found[-1]) * len(found[-1]) >= TOKENS:
            found.append([])
    return found[:-1]


def batches_of(kind: str, name: str, count: int = 29_000) -> list[Batch]:
    """The batches of a case, the same in every process."""
    torch.manual_seed(0)
    if kind == "full":
        return [made([(STEPS, STEPS)] * ROWS)]
    lengths = caption_lengths(count)
    if name == "joey":
        chosen = unsorted_batches(lengths)
    else:
        chosen = [[lengths[i] for i in batch] for batch in plan(np.array(lengths), 2 * TOKENS, 0, 0)]
    return [made(batch) for batch in chosen[:4]]


def build(kind: str, names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """One pass over the batches for each of the named."""
    models = {"nn.Transformer": Plain, "hf": HuggingFace, "x-transformers": XTransformers, "joey": Joey}
    runs: dict[str, Callable[[], object]] = {}
    for name in names:
        batches = batches_of(kind, name)
        torch.manual_seed(0)
        step = ours(batches) if name == "ours" else theirs(models[name](), batches)
        runs[name] = functools.partial(lambda step, count: [step() for _ in range(count)], step, len(batches))
    return runs


def work(batch: Batch) -> float:
    """Billions of operations in the products of a step, forward and backward, of tokens that are not padding."""
    read = LAYERS * (4 * WIDTH**2 + 2 * WIDTH * HIDDEN + 2 * STEPS * WIDTH)
    written = LAYERS * (8 * WIDTH**2 + 2 * WIDTH * HIDDEN + 4 * STEPS * WIDTH) + VOCABULARY * WIDTH
    total: float = 6e-9 * (int(batch.input.lengths.sum()) * read + int(batch.target.lengths.sum()) * written)
    return total


def peak() -> float:
    """GFLOP/s of the best plain product."""
    one, other, out = torch.randn(2048, 2048), torch.randn(2048, 2048), torch.empty(2048, 2048)
    times = []
    for _ in range(12):
        started = time.perf_counter()
        torch.mm(one, other, out=out)
        times.append(time.perf_counter() - started)
    return 2e-9 * 2048**3 / min(times)


def main() -> None:
    """Full batches for all, captions for Joey NMT and ours."""
    options = arguments(__doc__.splitlines()[0] if __doc__ else "")
    torch.set_num_threads(options.threads)
    report, rounds, best = Report(), 2 if options.quick else 7, 0.0
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    for name in PEERS.keys() - set(peers):
        print(f"{name} is left out: {PEERS[name]} is not installed")
    for kind, rivals in (("full", peers), ("captions", [name for name in peers if name == "joey"])):
        times = apart(functools.partial(build, kind), rivals, ("ours",), rounds, options.threads)
        speed, best = {}, max(best, peak())
        for name, taken in times.items():
            batches, middle = batches_of(kind, name), statistics.median(taken)
            tokens = sum(int(batch.target.lengths.sum()) for batch in batches)
            places = sum(batch.target.tokens.numel() for batch in batches)
            rate = sum(map(work, batches)) / middle
            speed[name] = tokens / middle
            told = f"{tokens / middle:,.0f} target tokens per second, {1 - tokens / places:.1%} padding"
            print(
                f"{kind:38} {name}: {told}, {rate:.0f} GFLOP/s, {rate / best:.0%} of a large product's",
                flush=True,
            )
        for name in rivals:
            pairs = zip(times[name], times["ours"], strict=True)
            share = speed["ours"] * statistics.median(times["ours"]) / (speed[name] * statistics.median(times[name]))
            ratio = statistics.median(share * peer / own for peer, own in pairs)
            report.value(kind, name, ratio, "target tokens per second")
    report.close(options.json)


if __name__ == "__main__":
    main()
