"""Marian's Transformers (Junczys-Dowmunt et al. 2018) as Hugging Face's `MarianMTModel` stores them: config and names.

They are the paper's, with all sines before all cosines, no norm at the end, and a bias for each token's logit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
from annotated_types import Ge, Gt, Le, Lt
from pydantic import Strict, TypeAdapter, ValidationError
from torch import Tensor

from saccade.config import build
from saccade.data.tokenizers import END, PAD, START
from saccade.errors import DataError
from saccade.layers.position_embeddings import sinusoids
from saccade.search.config import MOST
from saccade.systems.transformer import Config

PARTS = {
    "mixer.attention.": "self_attn.",
    "cross.": "encoder_attn.",
    "mixed.norm.": "self_attn_layer_norm.",
    "crossed.norm.": "encoder_attn_layer_norm.",
    "worked.norm.": "final_layer_norm.",
    "network.into.": "fc1.",
    "network.out.": "fc2.",
}
MAPS = {"query_map.": "q_proj.", "key_map.": "k_proj.", "value_map.": "v_proj.", "output_map.": "out_proj."}
EMBEDDINGS = {
    "source_embedding.weight": "model.encoder.embed_tokens.weight",
    "target_embedding.weight": "model.decoder.embed_tokens.weight",
    "output.weight": "lm_head.weight",
    "output.bias": "final_logits_bias",
}
SHARED = "model.shared.weight"
POSITIONS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight")
ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
# What a config of theirs may say, and must say so that a `transformer` can be it; of two sides that must be alike.
FIXED = {
    "model_type": "marian",
    "normalize_before": False,
    "add_final_layer_norm": False,
    "normalize_embedding": False,
    "static_position_embeddings": True,
}
F = TypeVar("F")

ALIKE = (("encoder_ffn_dim", "decoder_ffn_dim"), ("encoder_attention_heads", "decoder_attention_heads"))

# No more than any published model has, by far: a number beyond is a mistake, and would fill the memory.
Width = Annotated[int, Strict(), Gt(0), Le(100_000)]
Layers = Annotated[int, Strict(), Gt(0), Le(1000)]
Vocabulary = Annotated[int, Strict(), Gt(0), Le(10_000_000)]
Length = Annotated[int, Strict(), Gt(0), Le(1_000_000)]
Token = Annotated[int, Strict(), Ge(0)]
Flag = Annotated[bool, Strict()]
Dropped = Annotated[float, Strict(), Ge(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class Published:
    """What is read of a config.json, with the library's defaults for what it leaves out."""

    d_model: Width = 1024
    encoder_layers: Layers = 12
    decoder_layers: Layers = 12
    encoder_attention_heads: Width = 16
    decoder_attention_heads: Width = 16
    encoder_ffn_dim: Width = 4096
    decoder_ffn_dim: Width = 4096
    max_position_embeddings: Length = 1024
    vocab_size: Vocabulary = 58101
    decoder_vocab_size: Vocabulary | None = None
    pad_token_id: Token = 58100
    eos_token_id: Token = 0
    decoder_start_token_id: Token = 58100
    activation_function: Annotated[str, Strict()] = "gelu"
    scale_embedding: Flag = False
    share_encoder_decoder_embeddings: Flag = True
    tie_word_embeddings: Flag = True
    dropout: Dropped = 0.1
    attention_dropout: Dropped = 0.0
    activation_dropout: Dropped = 0.0


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What is read of how a model is meant to write: of its generation_config.json or, in older ones, its config.json."""

    num_beams: Annotated[int, Strict(), Gt(0), Le(MOST)] | None = None
    max_length: Length | None = None
    length_penalty: Annotated[float, Strict(), Gt(float("-inf")), Lt(float("inf"))] | None = None
    do_sample: Annotated[bool, Strict()] | None = None
    temperature: Annotated[float, Strict(), Gt(0), Lt(float("inf"))] | None = None
    top_k: Annotated[int, Strict(), Ge(0), Le(MOST)] | None = None
    top_p: Annotated[float, Strict(), Gt(0), Le(1)] | None = None
    bad_words_ids: tuple[tuple[Token, ...], ...] | None = None


def fields(kind: type[F], table: Mapping[str, Any], path: Path) -> F:
    """The fields of a file that are read, each checked; the others may be anything."""
    try:
        return TypeAdapter(kind).validate_python(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        told = f"{first['msg'][0].lower()}{first['msg'][1:]}".replace("input should", "it should")
        raise DataError(f"{path}: {first['loc'][0]}: {told}, got {_short(first['input'])}; fix: download it again") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def their_name(name: str) -> str:
    """The name of one of our tensors in a Marian file."""
    if name in EMBEDDINGS:
        return EMBEDDINGS[name]
    side, number, rest = name.split(".", 2)
    for ours, theirs in [*PARTS.items(), *MAPS.items()]:
        rest = rest.replace(ours, theirs, 1)
    return f"model.{side}.layers.{number}.{rest}"


def published(table: Mapping[str, Any], path: Path) -> Published:
    """What their config says, if a `transformer` can be it."""
    for key, needed in FIXED.items():
        if table.get(key, needed) != needed:
            raise DataError(f"{path}: expected {key} = {needed!r}, got {_short(table[key])}; only Marian's own kind is read")
    found = fields(Published, table, path)
    for one, other in ALIKE:
        if (first := getattr(found, one)) != (second := getattr(found, other)):
            raise DataError(f"{path}: expected {one} = {other}, got {first} and {second}; no fix is known")
    if found.activation_function not in ACTIVATIONS:
        expected, got = ", ".join(ACTIVATIONS), _short(found.activation_function)
        raise DataError(f"{path}: expected activation_function one of {expected}, got {got}; no fix is known")
    if found.d_model % found.encoder_attention_heads:
        got = f"{found.d_model} and {found.encoder_attention_heads}"
        raise DataError(f"{path}: expected encoder_attention_heads to divide d_model, got {got}; fix: download it again")
    return found


def config_of(given: Published) -> Config:
    """Our config for theirs."""
    tied = "one" if given.share_encoder_decoder_embeddings else "output"
    words = {
        "width": given.d_model,
        "heads": given.encoder_attention_heads,
        "hidden": given.encoder_ffn_dim,
        "encoder_layers": given.encoder_layers,
        "decoder_layers": given.decoder_layers,
        "final_norm": "none",
        "positions": "sinusoidal_halves",
        "longest": given.max_position_embeddings,
        "embeddings": tied if given.tie_word_embeddings else "separate",
        "embedding_scale": "root" if given.scale_embedding else "one",
        "output_bias": "learned",
        "activation": ACTIVATIONS[given.activation_function],
        "dropout": given.dropout,
        "attention_dropout": given.attention_dropout,
        "activation_dropout": given.activation_dropout,
    }
    return build(Config, words, "model")


def found(name: str, given: Mapping[str, Tensor]) -> Tensor:
    """The tensor that belongs to one of our names; a tied one is stored once, under any of its names."""
    theirs = their_name(name)
    others = [SHARED, EMBEDDINGS["target_embedding.weight"], EMBEDDINGS["output.weight"]]
    for candidate in [theirs, *(others if name in EMBEDDINGS and name != "output.bias" else [])]:
        if candidate in given:
            return given[candidate].float()
    raise DataError(f"model.safetensors: expected a tensor {theirs}, got none; fix: download it again")


def check(given: Mapping[str, Tensor], names: Mapping[str, Tensor]) -> None:
    """Refuse what a `transformer` of these names would leave unread."""
    known = {SHARED, *EMBEDDINGS.values(), *map(their_name, names)}
    for name, tensor in given.items():
        if POSITIONS.fullmatch(name):
            table = sinusoids(0, *tensor.shape, halves=True) if tensor.dim() == 2 else None
            if table is None or not torch.allclose(tensor.float(), table, atol=1e-3):
                raise DataError(f"model.safetensors: expected sinusoids in {name}, got others; no fix is known")
        elif name not in known:
            raise DataError(f"model.safetensors: expected the tensors of config.json, got also {name}; no fix is known")


def config_for(config: Config, source_size: int, target_size: int, longest: int) -> dict[str, Any]:
    """Their config for ours, if ours can be said there (`saccade.exchange.exporting` asks first)."""
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "vocab_size": source_size,
        "decoder_vocab_size": target_size,
        "d_model": config.width,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.hidden,
        "decoder_ffn_dim": config.hidden,
        "activation_function": config.activation,
        "scale_embedding": config.embedding_scale == "root",
        "share_encoder_decoder_embeddings": config.embeddings == "one",
        "tie_word_embeddings": config.embeddings != "separate",
        "max_position_embeddings": longest,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "pad_token_id": PAD,
        "bos_token_id": START,
        "decoder_start_token_id": START,
        "eos_token_id": END,
        "forced_eos_token_id": None,
        "static_position_embeddings": True,
        "torch_dtype": "float32",
    }
