"""Small models that are lively: what they write depends on what they read, and comes to an end."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import models, pre_tokenizers, processors
from torch import Tensor, nn

from saccade.data import tokenizers
from saccade.data.stored.ragged import Ragged
from saccade.data.tensors import Batch, TextInput, padded
from saccade.data.tokenizers import END, START, Backend, LearnedTokenizer
from saccade.errors import DataError
from saccade.exchange.ct2 import NEVER
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.layers.position_embeddings import sinusoids
from saccade.readers.text import Reader
from saccade.search import Config as SearchConfig
from saccade.search import search
from saccade.systems.transformer import Model
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.training.run import Run
from saccade.training.settings import resolve
from saccade.writers.text import TextTargets, Writer

WORDS = [f"w{number}" for number in range(24)]
DICE = random.Random(0)
SOURCES = [" ".join(DICE.choices(WORDS, k=length)) for length in (3, 1, 7, 4, 6, 2, 8, 5, 3, 1, 6, 4)]
LONGEST = 40
DOZENS = 70  # steps of learning
WIDTH = 16
COMMON = sinusoids(0, 12, WIDTH, halves=True).mean(0)
ENDING = 1.5  # what is added to the logit of the end
SHARP, LOOKING = 3.0, ("query_map", "key_map", "q_proj", "k_proj")  # heads that do not look everywhere alike
SIZES: dict[str, Any] = {
    "hidden_size": WIDTH,
    "num_heads": 2,
    "intermediate_size": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
}


def enliven(model: nn.Module, tables: Iterable[Tensor], scale: float, seed: int) -> None:
    """Weights by which what is written depends on what is read and on the place, and comes to an end.

    Sinusoids are much alike from place to place. The tokens' vectors take away what they have in common; otherwise that
    drowns all else, and a model that has learned nothing repeats one token for ever.
    """
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.requires_grad:
                drawn = torch.randn(weight.shape, generator=dice)
                size = SHARP if any(part in name for part in LOOKING) else 1.5
                norm = float("norm" in name and name.endswith("weight"))
                weight.copy_(drawn * size / weight.shape[-1] ** 0.5 if weight.dim() == 2 else 0.1 * drawn + norm)
        for table in tables:
            table.copy_((torch.randn(table.shape, generator=dice) - COMMON) / scale)


def teach(network: Model, tokenizer: LearnedTokenizer, end: list[int], steps: int, seed: int) -> None:
    """A little of writing texts backwards. A few steps let no weight be what it began with; after some dozens, texts differ
    and end, but nothing is sure yet."""
    dice, optimizer = random.Random(seed), torch.optim.Adam(network.eval().parameters(), 0.01)
    for _ in range(steps):
        rows = [tokenizer.encode(" ".join(dice.choices(WORDS, k=dice.randint(1, 6)))) for _ in range(24)]
        targets = TextTargets(Ragged.of([[*row[::-1], END] for row in rows]), np.full(len(rows), START), 0, 0.0)
        output = network(Batch(read_in([[*row, *end] for row in rows]), targets.batch(range(len(rows)))))
        optimizer.zero_grad()
        (output.loss / output.count).backward()
        optimizer.step()


def run(
    path: Path,
    *,
    steps: int = 5,
    seed: int = 0,
    reader: dict[str, Any] | None = None,
    writer: dict[str, Any] | None = None,
    searching: dict[str, Any] | None = None,
    **model: Any,
) -> TrainedModel:
    """A run of saccade's own that has learned a little; padding and start are as unlikely as more training makes them."""
    table = {
        "system": "transformer",
        "model": {"embeddings": "separate", "output_bias": "learned", "max_positions": LONGEST, **SIZES, **model},
        "reader": {"max_length": LONGEST, **(reader or {})},
        "writer": {"share_tokenizer": True, "max_length": LONGEST, **(writer or {})},
        "tokens": {"kind": "word"},
        "search": {"max_length": LONGEST - 1, **(searching or {"method": "beam", "beam": 5})},
    }
    made = Run.create(path, resolve(table))
    texts, settings = [" ".join(WORDS)], made.settings
    both = tokenizers.train(texts, tokenizers.Config(kind="word"))
    shared = settings.writer.share_tokenizer
    other = both if shared else tokenizers.train([texts[0] + " extra"], tokenizers.Config(kind="word"))
    Task(Reader(settings.reader, both), Writer(settings.writer, other)).save(path)
    torch.manual_seed(seed)
    network = Model(settings.model, both.vocabulary, other.vocabulary)
    teach(network, both, [END] if settings.reader.append_end else [], steps, seed)
    with torch.no_grad():
        network.source_embedding.weight[0] = network.target_embedding.weight[0] = 0.0
        if network.output.bias is not None:
            network.output.bias[: START + 1] = NEVER
    made.checkpoints.save(0, {"model": network.state_dict()}, {}, best=True)
    return load(path)


def read_in(rows: list[list[int]], pad: int = 0) -> TextInput:
    """Sources as a model reads them."""
    return TextInput(*padded(rows, pad))


def encoded(model: TrainedModel, texts: list[str]) -> list[list[int]]:
    """The ids of texts as the run's reader has them, the end included where it appends that."""
    return list(model.task.reader.encode(texts).rows)


def written(model: TrainedModel, rows: list[list[int]], config: SearchConfig | None = None) -> list[list[int]]:
    """What our search writes for these sources, the end included; by default with the run's own search."""
    known = model.task.writer.vocabulary
    with torch.inference_mode():
        memory = model.module.read(read_in(rows, model.task.reader.tokenizer.vocabulary.pad))
        config = config or model.run.settings.search or SearchConfig()
        special: Any = {"start": known.start, "end": known.end, "banned": known.banned}
        found = search(model.module, memory, config, inputs=len(rows), **special)
    return [[*best[0].tokens, *[known.end] * best[0].finished] for best in found]


def logits(model: TrainedModel, rows: list[list[int]], before: Tensor) -> Tensor:
    """Log-probabilities of our model after every token of `before` (B, T), step by step as it translates."""
    with torch.inference_mode():
        memory = model.module.read(read_in(rows, model.task.reader.tokenizer.vocabulary.pad))
        state, found = model.module.start(memory), []
        for number in range(before.shape[1]):
            step = model.module.step(before[:, number : number + 1], state)
            state = step.state
            found.append(step.log_probs[:, 0])
    return torch.stack(found, 1)


def lively(texts: list[list[int]], end: int = END) -> bool:
    """Whether texts differ from each other, some have more than one word, and some end."""
    return (
        len(set(map(tuple, texts))) > 2
        and any(len({*text} - {end}) > 1 for text in texts)
        and any(end in text for text in texts)
    )


def published(path: Path, *, seed: int = 0, loud: bool = True, **over: Any) -> Any:
    """A directory as `MarianMTModel.save_pretrained` writes it, with a tokenizer.json of words; gives the model."""
    from transformers import MarianConfig, MarianMTModel

    size = len(WORDS) + 3
    table: dict[str, Any] = {
        "vocab_size": size,
        "d_model": WIDTH,
        **{f"{side}_{key}": 2 for side in ("encoder", "decoder") for key in ("layers", "attention_heads")},
        **{f"{side}_ffn_dim": 24 for side in ("encoder", "decoder")},
        "activation_function": "swish",
        "scale_embedding": True,
        "max_position_embeddings": LONGEST,
        "pad_token_id": size - 1,
        "decoder_start_token_id": size - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": None,
    }
    model = MarianMTModel(MarianConfig(**{**table, **over})).eval()
    embeddings = [model.model.encoder.embed_tokens.weight, model.model.decoder.embed_tokens.weight]
    if loud:
        enliven(model, embeddings, WIDTH**0.5 if model.config.scale_embedding else 1.0, seed)
    with torch.no_grad():
        for weight in model.parameters() if not loud else ():  # so that norms and biases count, too
            weight.add_(0.1 * torch.randn(weight.shape) * weight.requires_grad)
        for weight in embeddings:
            weight[-1] = 0.0
        model.final_logits_bias.normal_(std=0.2, generator=torch.Generator().manual_seed(seed))
        model.final_logits_bias[0, 0] = ENDING
    path.mkdir(exist_ok=True)
    model.save_pretrained(path)
    tokenizer_of_words().save(str(path / "tokenizer.json"))
    return model


def tokenizer_of_words() -> Backend:
    """Words with the ids that published models have: the end first, padding last."""
    ids = {token: index for index, token in enumerate(["</s>", "<unk>", *WORDS, "<pad>"])}
    backend = Backend(models.WordLevel(ids, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    return backend


def told(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def words(text: str) -> list[int]:
    """A source as published models read it."""
    return list(tokenizer_of_words().encode(text).ids)


def read(texts: list[str]) -> dict[str, Tensor]:
    """Sources as transformers reads them."""
    rows = [words(text) for text in texts]
    longest, pad = max(map(len, rows)), tokenizer_of_words().token_to_id("<pad>")
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[i < len(row) for i in range(longest)] for row in rows]).long()
    return {"input_ids": ids, "attention_mask": mask}


def opened(path: Path) -> Any:
    """The model that transformers makes of a directory, with nothing missing and nothing left over."""
    from transformers import MarianMTModel

    model, report = MarianMTModel.from_pretrained(path, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return model.eval()


def change(path: Path, **keys: Any) -> None:
    """Other values for some keys of a JSON file."""
    path.write_text(json.dumps({**told(path), **keys}))


def refused(opus: Path) -> str:
    """The one line that is said, and nothing is left behind."""
    with pytest.raises(DataError) as error:
        import_model(opus, opus / "run")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert not (opus / "run").exists()
    return str(error.value)
