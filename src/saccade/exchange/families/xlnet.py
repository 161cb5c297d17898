"""XLNet (Yang et al. 2019) as Hugging Face's classes `XLNet…` store it, with any of their heads, or none.

Maps of all heads have heads and their numbers as two dimensions there. Every model there has the vector that stands for a
token to be predicted; ours has it with the head that predicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le
from pydantic import Strict
from torch import Tensor

from saccade.data.tokenizers import Vocabulary
from saccade.exchange import encoder_family, encoder_tokenizers, published
from saccade.exchange.encoder_family import Dropped, EncoderFamily, Layers, Rows, Width
from saccade.exchange.families import Needs
from saccade.exchange.layouts import TensorLayout
from saccade.readers import pieces
from saccade.trained import TrainedModel
from saccade.writers import permuted

SYSTEM, ARCHITECTURE = "xlnet", "XLNetLMHeadModel"
NEEDS: Needs = {SYSTEM: {}}
ACROSS = TensorLayout(transposed=True, by_head=True)
LAYOUTS = {f"attention.{name}_map.weight": ACROSS for name in ("query", "key", "value", "distance")}
LAYOUTS["attention.output_map.weight"] = TensorLayout(by_head=True)
HIDDEN = "mask_emb"
INNER = {
    "masked.hidden": HIDDEN,
    "encoder.embedding.": "word_embedding.",
    "encoder.layers.": "layer.",
    "attention.query_map.weight": "rel_attn.q",
    "attention.key_map.weight": "rel_attn.k",
    "attention.value_map.weight": "rel_attn.v",
    "attention.distance_map.weight": "rel_attn.r",
    "attention.output_map.weight": "rel_attn.o",
    "attention.content_bias": "rel_attn.r_w_bias",
    "attention.distance_bias": "rel_attn.r_r_bias",
    "attention.segment_bias": "rel_attn.r_s_bias",
    "attention.segments": "rel_attn.seg_embed",
    "mixed.norm.": "rel_attn.layer_norm.",
    "network.into.": "ff.layer_1.",
    "network.out.": "ff.layer_2.",
    "worked.norm.": "ff.layer_norm.",
}
KEYS = {
    "hidden_size": "d_model",
    "num_layers": "n_layer",
    "num_heads": "n_head",
    "intermediate_size": "d_inner",
    "layer_norm_eps": "layer_norm_eps",
    "dropout": "dropout",
}
FIXED = {
    "attn_type": "bi",
    "bi_data": False,
    "clamp_len": -1,
    "same_length": False,
    "untie_r": True,
    "summary_type": "last",
    "summary_use_proj": True,
    "summary_activation": "tanh",
    "tie_word_embeddings": True,
}
MOST = 512  # tokens that are read where no file says how many: there is no limit


@dataclass(frozen=True, kw_only=True)
class XLNetConfig:
    """What is read of a config.json, with the library's defaults for what it leaves out."""

    vocab_size: Rows
    d_model: Width = 1024
    n_layer: Layers = 24
    n_head: Width = 16
    d_inner: Width = 4096
    ff_activation: Annotated[str, Strict()] = "gelu"
    dropout: Dropped = 0.1
    layer_norm_eps: encoder_family.Eps = 1e-12
    mem_len: Annotated[int, Strict(), Ge(0), Le(1_000_000)] | None = 512
    id2label: dict[str, str] | None = None
    architectures: list[str] | None = None


class XLNetFamily(EncoderFamily):
    """What of an encoder's family is XLNet's own."""

    def is_computed(self, name: str, tensor: Tensor) -> bool:
        return super().is_computed(name, tensor) or name.removeprefix(self.prefix) == HIDDEN

    def _checked(self, table: Mapping[str, Any], path: Any) -> XLNetConfig:
        config = published.fields(XLNetConfig, table, path)
        encoder_family.require_shape(config, "d_model", "n_head", "ff_activation", path)
        self._require({**FIXED, "d_head": config.d_model // config.n_head}, table, path)
        return config

    def _sizes(self, config: Any, known: Vocabulary) -> dict[str, Any]:
        sizes = {ours: getattr(config, theirs) for ours, theirs in KEYS.items()}
        return sizes | {"activation": encoder_family.ACTIVATIONS[config.ff_activation]}

    def _read_by(self, sizes: Mapping[str, Any], most: int | None) -> pieces.Config:
        return pieces.Config(max_length=most or MOST, class_last=True)

    def _first_writer(self, config: Any, reader: Any, given: Mapping[str, Tensor]) -> permuted.Writer:
        return permuted.Writer(permuted.Config(mem_len=config.mem_len or 0), reader)

    def _masked_ending(self, model: TrainedModel) -> str:
        return "LMHeadModel"

    def _tensors(self, model: TrainedModel, task: str) -> dict[str, Tensor]:
        sizes = model.run.settings.model
        tensors = {}
        for name, tensor in model.module.state_dict().items():
            layout = next((one for ending, one in LAYOUTS.items() if name.endswith(ending)), None)
            own = tensor.detach().cpu()
            stored = own if layout is None else layout.stored([own]).unflatten(1, (sizes.num_heads, -1))
            tensors[self._written(name, task)] = stored.contiguous()
        hidden = HIDDEN if task == "vector" else f"{self.prefix}{HIDDEN}"
        tensors[hidden] = tensors.get(hidden, torch.zeros(sizes.hidden_size)).view(1, 1, -1)
        return tensors

    def _their_config(self, model: TrainedModel, architecture: str) -> dict[str, Any]:
        config, known = model.run.settings.model, model.task.reader.vocabulary
        return {
            "architectures": [architecture],
            "model_type": SYSTEM,
            "vocab_size": known.size,
            **{theirs: getattr(config, ours) for ours, theirs in KEYS.items()},
            "d_head": config.hidden_size // config.num_heads,
            "ff_activation": encoder_family.activation_there(config.activation),
            "summary_last_dropout": config.dropout,
            "mem_len": getattr(model.task.writer.config, "mem_len", 0) or None,
            "pad_token_id": known.pad,
            "bos_token_id": known.start,
            "eos_token_id": known.end,
            **FIXED,
            **encoder_family.labels_there(getattr(model.task.writer, "names", None)),
            "torch_dtype": "float32",
        }


FAMILY = XLNetFamily(
    SYSTEM,
    "transformer.",
    "XLNet",
    {
        "masked.bias": "lm_loss.bias",
        "pooler.": "sequence_summary.summary.",
        "label_output.": "logits_proj.",
        "tag_output.": "classifier.",
        "span_output.": "qa_outputs.",
    },
    (("lm_loss.weight", "transformer.word_embedding.weight"),),
    encoder_tokenizers.xlnet,
    inner=INNER,
    endings={**encoder_family.HEADS, "span": "ForQuestionAnsweringSimple"},
)
read, write, tensor_names, is_computed = FAMILY.read, FAMILY.write, FAMILY.tensor_names, FAMILY.is_computed


def tensor_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of one of our parameters there: but for one, its own."""
    return (1, *shape) if name == "masked.hidden" else shape
