"""Tiny random models of the families of transformers, and inputs for them; nothing is downloaded."""

from functools import cache
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

from saccade.attention import Attended, Looks
from saccade.attention.looks import Later
from saccade.inside.packed_masks import Banded

WIDTH, HEADS, LAYERS, WORDS = 32, 4, 2, 40
NAMES = ("bert", "roberta", "gpt2", "llama", "mistral", "t5", "bart", "vit", "whisper")
LEFT_PADDED = ("gpt2", "llama", "mistral")
BOTH = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": WIDTH,
    "decoder_ffn_dim": WIDTH,
}
ONE = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": WIDTH,
}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "vocab_size": WORDS}
TEXT = "the cat sat on the mat"


def transformers() -> Any:
    """The library; tests are left out where it is not installed."""
    return pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")


def _kinds() -> dict[str, tuple[str, dict[str, Any]]]:
    t5 = {"d_model": WIDTH, "d_kv": 8, "d_ff": WIDTH, "num_layers": LAYERS, "num_heads": HEADS, "decoder_start_token_id": 0}
    gpt2 = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS}
    return {
        "bert": ("BertForSequenceClassification", {**ONE, **IDS}),
        "roberta": ("RobertaForMaskedLM", {**ONE, **IDS}),
        "gpt2": ("GPT2LMHeadModel", {**gpt2, **IDS}),
        "llama": ("LlamaForCausalLM", {**ONE, **IDS}),
        "mistral": ("MistralForCausalLM", {**ONE, **IDS, "num_key_value_heads": 2, "sliding_window": 6}),
        "t5": ("T5ForConditionalGeneration", {**t5, **IDS}),
        "bart": ("BartForConditionalGeneration", {**BOTH, **IDS, "forced_eos_token_id": None}),
        "vit": ("ViTForImageClassification", {**ONE, "image_size": 16, "patch_size": 4}),
        "whisper": (
            "WhisperForConditionalGeneration",
            {**BOTH, **IDS, "num_mel_bins": 8, "max_source_positions": 20, "decoder_start_token_id": 1},
        ),
    }


@cache
def model(name: str, attention: str = "sdpa") -> Any:
    """One model of the family, ready to predict; do not change it."""
    kind, sizes = _kinds()[name]
    made = getattr(transformers(), kind)
    torch.default_generator.manual_seed(1)
    own = made._from_config(made.config_class(**sizes), attn_implementation=attention).eval()
    if hasattr(own, "generation_config") and own.generation_config is not None:
        own.generation_config.eos_token_id = own.generation_config.forced_eos_token_id = None
    return own


def inputs(name: str, length: int = 9) -> dict[str, Tensor]:
    """Two samples, one of them padded."""
    if name == "vit":
        return {"pixel_values": torch.randn(2, 3, 16, 16)}
    ids = torch.randint(3, WORDS, (2, length))
    if name == "whisper":
        return {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": ids}
    mask = torch.ones(2, length, dtype=torch.int64)
    mask[1, slice(3) if name in LEFT_PADDED else slice(-3, None)] = 0
    found = {"input_ids": ids, "attention_mask": mask}
    return {**found, "decoder_input_ids": ids[:, :-2]} if name in ("t5", "bart") else found


@cache
def tokenizer() -> Any:
    """Words of a few texts."""
    words = dict.fromkeys(["[PAD]", "<s>", "</s>", "[UNK]", *TEXT.split(), *(f"w{number}" for number in range(WORDS))])
    backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = {"eos_token": "</s>", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    return transformers().PreTrainedTokenizerFast(tokenizer_object=backend, **marks)


def seen(looks: Looks, name: str = "") -> list[Attended]:
    """The attentions of one module."""
    found = [one for one in looks[name] if isinstance(one, Attended)]
    assert len(found) == len(looks[name])
    return found


def kept(looks: Looks) -> dict[int, Tensor]:
    """The tensors that a recording keeps alive, one for each storage."""
    found: dict[int, Tensor] = {}

    def take(value: object) -> None:
        if isinstance(value, Tensor):
            found[value.untyped_storage().data_ptr()] = value
        elif isinstance(value, Banded):
            take([value.low, value.high, value.by_distance])
        elif isinstance(value, list | tuple):
            for one in value:
                take(one)

    for one in [one for calls in looks._seen.values() for one in calls]:
        assert isinstance(one, Later)
        take(one.tensors)
        make: Any = one._make
        take([cell.cell_contents for cell in make.__closure__])
    return found
