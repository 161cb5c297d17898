"""GPT-2 (Radford et al. 2019) as Hugging Face's `GPT2LMHeadModel` stores it.

Texts are byte pairs. One token, <|endoftext|>, stands before, between and behind them. Matrices are transposed; queries,
keys and values are one tensor; the output layer is the embedding.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Le, Lt
from pydantic import Strict
from safetensors.torch import save_file
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from torch import Tensor

from saccade.config import build
from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import Backend, Vocabulary
from saccade.errors import DataError, UsageError
from saccade.exchange import generation, published, tokenizer_files
from saccade.exchange.families import PublishedModel
from saccade.exchange.layouts import TensorLayout, stored_tensors
from saccade.readers import text as text_reader
from saccade.search.search_config import Config as SearchConfig
from saccade.systems.gpt2 import Config
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.writers import continuation

SYSTEM, ARCHITECTURE = "gpt2", "GPT2LMHeadModel"
NEEDS = {SYSTEM: {"tokens.kind": ("bpe", "imported"), "model.mask": ("none",)}}
VOCABULARY, MERGES, TOKENIZER = "vocab.json", "merges.txt", "tokenizer.json"

# Names of parts of a layer, ours and theirs.
PARTS = {
    "mixer.attention.query_map.": "attn.c_attn.",
    "mixer.attention.key_map.": "attn.c_attn.",
    "mixer.attention.value_map.": "attn.c_attn.",
    "mixer.attention.output_map.": "attn.c_proj.",
    "mixed.norm.": "ln_1.",
    "worked.norm.": "ln_2.",
    "network.into.": "mlp.c_fc.",
    "network.out.": "mlp.c_proj.",
}
OTHERS = {"embedding.weight": "wte.weight", "positions.table": "wpe.weight", "norm.weight": "ln_f.weight"}
OTHERS |= {"norm.bias": "ln_f.bias"}
PREFIX, OUTPUT = "transformer.", "lm_head.weight"
COMPUTED = re.compile(r"(?:transformer\.)?h\.\d+\.attn\.(bias|masked_bias)")
# Queries, keys and values are one tensor; the matrices of all layers are transposed.
LAYOUTS = {
    **{f".{name}_map.weight": TensorLayout(part, 3, transposed=True) for part, name in enumerate(("query", "key", "value"))},
    **{f".{name}_map.bias": TensorLayout(part, 3) for part, name in enumerate(("query", "key", "value"))},
    **{f".{name}.weight": TensorLayout(transposed=True) for name in ("output_map", "network.into", "network.out")},
}

# What a config of theirs may say so that a `gpt2` can be it.
FIXED = {
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
ACTIVATIONS = ("gelu_new", "gelu_pytorch_tanh")  # two names of one function
# What a tokenizer_config.json may say.
TOKENIZED = {"add_prefix_space": False, "add_bos_token": False, "add_eos_token": False}

# No more than any published model has, by far: a number beyond is a mistake, and would fill the memory.
Width = Annotated[int, Strict(), Gt(0), Le(100_000)]
Layers = Annotated[int, Strict(), Gt(0), Le(1000)]
Rows = Annotated[int, Strict(), Gt(0), Le(10_000_000)]
Length = Annotated[int, Strict(), Gt(0), Le(1_000_000)]
Token = Annotated[int, Strict(), Ge(0)]
Dropped = Annotated[float, Strict(), Ge(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class GPT2Config:
    """What is read of a config.json, with the library's defaults for what it leaves out."""

    vocab_size: Rows = 50257
    n_positions: Length = 1024
    n_embd: Width = 768
    n_layer: Layers = 12
    n_head: Width = 12
    n_inner: Width | None = None
    activation_function: Annotated[str, Strict()] = "gelu_new"
    resid_pdrop: Dropped = 0.1
    embd_pdrop: Dropped = 0.1
    attn_pdrop: Dropped = 0.1
    bos_token_id: Token = 50256
    eos_token_id: Token = 50256
    pad_token_id: Token | None = None


# Names of tensors


def tensor_names(name: str) -> Sequence[str]:
    """The names that one of our parameters may have there: with the prefix of a language model, or without; the first is
    the one that is written."""
    return [*_inner_names(name), *([OUTPUT] if name == "embedding.weight" else [])]


def _inner_names(name: str) -> tuple[str, str]:
    inner = OTHERS.get(name) or "h." + name.removeprefix("layers.")
    for ours, theirs in PARTS.items():
        inner = inner.replace(ours, theirs, 1)
    return PREFIX + inner, inner


def tensor_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of one of our parameters; where it lies there is said by `LAYOUTS`."""
    return shape


def is_computed(name: str, tensor: Tensor) -> bool:
    """Whether a tensor is the causal mask of a layer, or what closed scores are set to; another mask is refused."""
    match = COMPUTED.fullmatch(name)
    if match is None:
        return False
    if match[1] == "masked_bias":
        fits = tensor.numel() == 1 and float(tensor) <= -1e4
    else:
        fits = tensor.dim() == 4 and bool((tensor[0, 0].bool() == torch.ones(tensor.shape[2:]).tril().bool()).all())
    if not fits:
        raise DataError(f"{published.PARAMETERS}: expected a causal mask in {name}, got another; no fix is known")
    return True


# The config, both ways


def checked(table: Mapping[str, Any], path: Path) -> GPT2Config:
    """What their config says, if a `gpt2` can be it."""
    for key, needed in FIXED.items():
        if table.get(key, needed) != needed:
            got = published.short(table[key])
            raise DataError(f"{path}: expected {key} = {needed!r}, got {got}; only GPT-2's own kind is read")
    config = published.fields(GPT2Config, table, path)
    if config.n_embd % config.n_head:
        got = f"{config.n_embd} and {config.n_head}"
        raise DataError(f"{path}: expected n_head to divide n_embd, got {got}; fix: {published.AGAIN}")
    if config.n_inner not in (None, 4 * config.n_embd):
        raise DataError(f"{path}: expected n_inner = 4 · n_embd, got {config.n_inner}; only GPT-2's own kind is read")
    if config.activation_function not in ACTIVATIONS:
        expected, got = " or ".join(ACTIVATIONS), published.short(config.activation_function)
        raise DataError(f"{path}: expected activation_function {expected}, got {got}; only GPT-2's own kind is read")
    if config.resid_pdrop != config.embd_pdrop:
        got = f"{config.resid_pdrop} and {config.embd_pdrop}"
        raise DataError(f"{path}: expected resid_pdrop = embd_pdrop, got {got}; fix: write the same for both")
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if (token := getattr(config, key)) is not None and token >= config.vocab_size:
            expected = f"an id below {config.vocab_size} (vocab_size)"
            raise DataError(f"{path}: {key}: expected {expected}, got {token}; fix: {published.AGAIN}")
    return config


def our_config(given: GPT2Config) -> Config:
    """Our config for theirs."""
    keys = {
        "hidden_size": given.n_embd,
        "num_layers": given.n_layer,
        "num_heads": given.n_head,
        "dropout": given.resid_pdrop,
        "attention_dropout": given.attn_pdrop,
    }
    return build(Config, keys, "model")


def their_config(config: Config, vocabulary: Vocabulary, context_length: int) -> dict[str, Any]:
    """Their config for ours."""
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "gpt2",
        "vocab_size": vocabulary.size,
        "n_positions": context_length,
        "n_ctx": context_length,
        "n_embd": config.hidden_size,
        "n_layer": config.num_layers,
        "n_head": config.num_heads,
        "n_inner": None,
        "activation_function": "gelu_new",
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        **FIXED,
        "pad_token_id": vocabulary.pad,
        "bos_token_id": vocabulary.end,  # which is what writing starts from
        "eos_token_id": vocabulary.end,
        "torch_dtype": "float32",
    }


# Reading


def read(path: Path, table: Mapping[str, Any], given: Mapping[str, Tensor]) -> PublishedModel:
    """The model in a directory."""
    config = checked(table, path / published.CONFIG)
    _require_tied(path, given)
    decoding = generation.read(path, table)
    banned = generation.banned(path, decoding, config.vocab_size)
    tokenizer = _tokenizer(path, config, banned)
    reader = text_reader.Reader(text_reader.Config(max_length=config.n_positions), tokenizer)
    writer = continuation.Writer(continuation.Config(context_length=config.n_positions), tokenizer)
    return PublishedModel(our_config(config), Task(reader, writer), generation.search_keys(decoding, config.n_positions))


def _require_tied(path: Path, given: Mapping[str, Tensor]) -> None:
    """All tensors have the prefix or none has; and the output layer, if it is stored, is the embedding."""
    inner = [name for name in given if name != OUTPUT]
    bare = [name for name in inner if not name.startswith(PREFIX)]
    if 0 < len(bare) < len(inner):
        got = f"some without, such as {bare[0]}"
        raise DataError(f"{path / published.PARAMETERS}: expected {PREFIX} before all names or none, got {got}")
    embedding = next((given[name] for name in _inner_names("embedding.weight") if name in given), None)
    if embedding is not None and OUTPUT in given and not torch.equal(embedding, given[OUTPUT]):
        got = "others; only GPT-2's own kind is read"
        raise DataError(f"{path / published.PARAMETERS}: expected the numbers of wte.weight in {OUTPUT}, got {got}")


def _tokenizer(path: Path, config: GPT2Config, banned: Sequence[int]) -> ImportedTokenizer:
    """Byte pairs, and the ids of the config. Ids that no token has are never written."""
    backend = _backend(path, config)
    ids = backend.get_vocab(with_added_tokens=True)
    if not isinstance(backend.model, models.BPE) or not isinstance(backend.decoder, decoders.ByteLevel):
        got = f"{type(backend.model).__name__} with {type(backend.decoder).__name__}"
        raise DataError(f"{path / TOKENIZER}: expected byte pairs (BPE, decoded by ByteLevel), got {got}; no fix is known")
    if max(ids.values()) >= config.vocab_size:
        got = f"{config.vocab_size}, where the tokenizer has ids up to {max(ids.values())}"
        raise DataError(f"{path / published.CONFIG}: vocab_size: expected more than all ids, got {got}; {published.AGAIN}")
    names = {index: token for token, index in ids.items()}
    start, end = config.bos_token_id, config.eos_token_id
    pad = end if config.pad_token_id is None else config.pad_token_id
    unnamed = [index for index in range(config.vocab_size) if index not in names]
    unwritten = tuple(sorted({*unnamed, *banned} - {pad, start, end}))
    vocabulary = Vocabulary(size=config.vocab_size, pad=pad, start=start, end=end, unwritten=unwritten)
    tokens = [names.get(index, f"<{index}>") for index in range(config.vocab_size)]
    if len(set(tokens)) < len(tokens):
        raise DataError(f"{path}: expected one id for each token, got two for one; fix: {published.AGAIN}")
    return ImportedTokenizer(backend, tokens, vocabulary)


def _backend(path: Path, config: GPT2Config) -> Backend:
    """What cuts texts: a file of the library, or the vocabulary and the merges."""
    if (path / TOKENIZER).exists():
        return published.backend(path / TOKENIZER)
    if not all((path / name).exists() for name in (VOCABULARY, MERGES)):
        raise DataError(f"{path}: expected {TOKENIZER}, or {VOCABULARY} and {MERGES}, got neither; fix: download them, too")
    if (file := path / tokenizer_files.FILE).exists():
        table = published.json_table(file)
        for key, needed in TOKENIZED.items():
            if table.get(key, needed) not in (needed, None):
                got = published.short(table[key])
                raise DataError(f"{file}: expected {key} = {needed!r}, got {got}; fix: add {TOKENIZER}, which can say so")
    ids = published.token_ids(path / VOCABULARY)
    made = published.byte_pairs(ids, path / MERGES)
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    names = {index: token for token, index in ids.items()}
    special = [names[index] for index in (config.bos_token_id, config.eos_token_id) if index in names]
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in dict.fromkeys(special)])
    return made


# Writing


def write(model: TrainedModel, out: Path) -> None:
    """The run as a directory that `GPT2LMHeadModel.from_pretrained` opens: config, parameters, tokenizer."""
    task, settings = model.task, model.run.settings
    assert settings.search is not None
    tokenizer = task.reader.tokenizer
    if json.loads(tokenizer_files.text_of(tokenizer))["model"]["type"] != "BPE":
        raise UsageError("format gpt2: expected byte pairs, got the tokens of another family; train with tokens.kind=bpe")
    vocabulary = tokenizer.vocabulary
    config = their_config(settings.model, vocabulary, settings.writer.context_length)
    published.write_json(out / published.CONFIG, config)
    published.write_json(out / generation.FILE, _their_search(settings.search, vocabulary, task.writer.banned))
    ours = {name: tensor.cpu() for name, tensor in model.module.state_dict().items()}
    tensors = stored_tensors(ours, LAYOUTS, lambda name: tensor_names(name)[0])
    save_file(tensors, out / published.PARAMETERS, metadata={"format": "pt"})
    tokenizer_files.write_backends(task, out, {"bos_token": tokenizer.tokens()[vocabulary.end]})


def _their_search(search: SearchConfig, vocabulary: Vocabulary, banned: Sequence[int]) -> dict[str, Any]:
    """The file for a search of ours. There the length of a text counts its prompt, so new tokens are counted by another key;
    and writing starts from the end of the text before."""
    table = generation.table(search, vocabulary)
    others = {key: value for key, value in table.items() if key not in ("decoder_start_token_id", "max_length")}
    return {
        **others,
        "bos_token_id": vocabulary.end,
        "bad_words_ids": [[token] for token in banned] or None,
        "max_new_tokens": search.max_length,
    }
