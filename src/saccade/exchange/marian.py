"""Marian's Transformers (Junczys-Dowmunt et al. 2018) as Hugging Face's `MarianMTModel` stores them: config and names.

They are the paper's, with all sines before all cosines, no norm at the end, and a bias for each token's logit.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from saccade.config import build
from saccade.data.tokenizers import END, PAD, START
from saccade.errors import DataError
from saccade.layers.positions import sinusoids
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
ALIKE = (("encoder_ffn_dim", "decoder_ffn_dim"), ("encoder_attention_heads", "decoder_attention_heads"))


def their_name(name: str) -> str:
    """The name of one of our tensors in a Marian file."""
    if name in EMBEDDINGS:
        return EMBEDDINGS[name]
    side, number, rest = name.split(".", 2)
    for ours, theirs in [*PARTS.items(), *MAPS.items()]:
        rest = rest.replace(ours, theirs, 1)
    return f"model.{side}.layers.{number}.{rest}"


def config_of(table: Mapping[str, Any]) -> Config:
    """Our config for theirs."""
    for key, needed in FIXED.items():
        if table.get(key, needed) != needed:
            raise DataError(f"config.json: expected {key} = {needed!r}, got {table[key]!r}; only Marian's own kind is read")
    for one, other in ALIKE:
        if table[one] != table[other]:
            raise DataError(f"config.json: expected {one} = {other}, got {table[one]} and {table[other]}; no fix is known")
    activation = str(table.get("activation_function", "gelu"))
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise DataError(f"config.json: expected activation_function one of {known}, got {activation!r}; no fix is known")
    tied = "one" if table.get("share_encoder_decoder_embeddings", True) else "output"
    words = {
        "width": table["d_model"],
        "heads": table["encoder_attention_heads"],
        "hidden": table["encoder_ffn_dim"],
        "encoder_layers": table["encoder_layers"],
        "decoder_layers": table["decoder_layers"],
        "final_norm": "none",
        "positions": "sinusoidal_halves",
        "longest": table["max_position_embeddings"],
        "embeddings": tied if table.get("tie_word_embeddings", True) else "separate",
        "embedding_scale": "root" if table.get("scale_embedding", False) else "one",
        "output_bias": "learned",
        "activation": ACTIVATIONS[activation],
        "dropout": table.get("dropout", 0.1),
        "attention_dropout": table.get("attention_dropout", 0.0),
        "activation_dropout": table.get("activation_dropout", 0.0),
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
            table = sinusoids(0, *tensor.shape, halves=True)
            if not torch.allclose(tensor.float(), table, atol=1e-3):
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
