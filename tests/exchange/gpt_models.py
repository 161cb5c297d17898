"""Small language models: as transformers publishes them, and runs of saccade's own."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn

from saccade import systems
from saccade.data.examples import Example, Splits
from saccade.data.tokenizers import Backend
from saccade.exchange.opening import load
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.training.run import Run
from saccade.training.settings import resolve

END = "<|endoftext|>"
TEXT = "to be, or not to be: that is the question. héllo wörld 你好 — Шекспир 🙂\n"
PROMPTS = ["to be", "t", "that is the question: to be", "你好 你好", "héllo wörld, or 🙂 not to be"]
SIZES: dict[str, Any] = {"n_positions": 40, "n_embd": 16, "n_layer": 2, "n_head": 2}


def byte_pairs(texts: Iterable[str], size: int = 330) -> Backend:
    """A tokenizer as GPT-2's, learned from these texts; the end is its last token, as it is there."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
    backend.add_special_tokens([END])
    return backend


def write_tokenizer(backend: Backend, path: Path) -> None:
    """The two files of the publication."""
    model = json.loads(backend.to_str())["model"]
    (path / "vocab.json").write_text(json.dumps(backend.get_vocab(with_added_tokens=True)), encoding="utf-8")
    lines = [" ".join(pair) for pair in model["merges"]]
    (path / "merges.txt").write_text("\n".join(["#version: 0.2", *lines, ""]), encoding="utf-8")


def enliven(model: nn.Module, seed: int) -> None:
    """Numbers by which what is written depends on what was read."""
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            drawn = torch.randn(weight.shape, generator=dice)
            weight.copy_(drawn * 0.4 if weight.dim() > 1 else 1 + 0.1 * drawn)


def published(path: Path, *, seed: int = 0, shards: str = "5GB", **over: Any) -> Any:
    """A directory as `GPT2LMHeadModel.save_pretrained` writes it, with vocabulary and merges; gives the model."""
    from transformers import GPT2Config, GPT2LMHeadModel

    backend = byte_pairs([TEXT])
    size = backend.get_vocab_size()
    end = backend.token_to_id(END)
    table = {"vocab_size": size, "bos_token_id": end, "eos_token_id": end, **SIZES, **over}
    model = GPT2LMHeadModel(GPT2Config(**table)).eval()
    enliven(model, seed)
    path.mkdir(exist_ok=True)
    model.save_pretrained(path, max_shard_size=shards)
    write_tokenizer(backend, path)
    return model


def opened(path: Path) -> Any:
    """The model that transformers makes of a directory, with nothing missing and nothing left over."""
    from transformers import GPT2LMHeadModel

    model, report = GPT2LMHeadModel.from_pretrained(path, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return model.eval()


def run(path: Path, *words: str, text: str = TEXT, seed: int = 3) -> TrainedModel:
    """A run of saccade's own that nobody trained."""
    sizes = "model.hidden_size=16 model.num_layers=2 model.num_heads=2 writer.context_length=24 search.max_length=20"
    made = Run.create(path, resolve({"system": "gpt2"}, [*sizes.split(), "tokens.kind=bpe", "tokens.size=300", *words]))
    task = Task.fit(made.settings, Splits([Example("", text)], [], []))
    task.save(path)
    module = systems.load("gpt2").Model(made.settings.model, **task.sizes())
    enliven(module, seed)
    made.checkpoints.save(0, {"model": module.state_dict()}, {}, best=True)
    return load(path)


def log_probs(model: TrainedModel, ids: Tensor) -> Tensor:
    """Log-probabilities after each token of rows (B, T), step by step as a text is written."""
    state, found = model.module.start(len(ids)), []
    with torch.inference_mode():
        for number in range(ids.shape[1]):
            step = model.module.step(ids[:, number, None], state)
            state = step.state
            found.append(step.log_probs[:, 0])
    return torch.stack(found, 1)
