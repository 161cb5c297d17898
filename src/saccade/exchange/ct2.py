"""Writes a run as a model of CTranslate2 (Klein et al. 2020), whose `Translator` takes and gives lists of tokens.

Of that library's specification only the sizes are asked for; every parameter is put in its place here, so that models with a
norm before each part and such with a norm at the end go as well.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade.data.tokenizers import Vocabulary
from saccade.exchange import families
from saccade.layers.feed_forward import FeedForward
from saccade.layers.multihead import MultiHeadAttention
from saccade.layers.transformer_blocks import DecoderLayer, EncoderLayer, SelfAttention
from saccade.systems.transformer import Config, Model
from saccade.trained import TrainedModel

NEEDS = {"transformer": families.PLAIN_ATTENTION}
MODULES, EXTRA = ("ctranslate2",), "ct2"
NEVER = -1e4  # added to the logit of a token that is never written: its probability is 0


def write(model: TrainedModel, out: Path) -> None:
    """The model, its vocabularies, and what it starts from and ends with."""
    module, task, settings = model.module, model.task, model.run.settings
    assert isinstance(module, Model)
    assert settings.search is not None
    source, target = task.reader.tokenizer, task.writer.tokenizer
    longest = max(settings.reader.max_length + 1, settings.search.max_length + 1)
    if module.config.positions == "learned":
        longest = min(longest, module.config.max_positions)
    spec = specification(module, target.vocabulary, longest)
    spec.register_source_vocabulary(source.tokens())
    spec.register_target_vocabulary(target.tokens())
    known, names = target.vocabulary, target.tokens()
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = (
        names[index] for index in (known.unknown, known.start, known.end)
    )
    # Of a run that writes several languages, the language's token is given as the target's prefix.
    spec.config.decoder_start_token = names[known.start] if task.writer.config.start == "one" else None
    spec.config.add_source_eos = task.reader.config.append_end
    spec.validate()
    spec.optimize()
    spec.save(str(out))


def specification(model: Model, target: Vocabulary, longest: int) -> Any:
    """The parameters in their places, with positions for so many tokens; vocabularies and names are missing yet."""
    spec = _sized(model.config)
    _fill(spec, model, target, longest)
    return spec


def _sized(config: Config) -> Any:
    """The specification of this size. It knows norms at the end only of models with norms before, so is told that first."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    activation = {"relu": Activation.RELU, "gelu": Activation.GELU, "swish": Activation.SWISH}[config.activation]
    layers = (config.encoder_layers, config.decoder_layers)
    none = not config.ends_with_norm
    spec = TransformerSpec.from_config(layers, config.num_heads, pre_norm=True, no_final_norm=none, activation=activation)
    spec.encoder.pre_norm = spec.decoder.pre_norm = config.norm == "pre"
    return spec


@torch.no_grad()
def _fill(spec: Any, model: Model, target: Vocabulary, longest: int) -> None:
    for side, embedding in ((spec.encoder, model.source_embedding), (spec.decoder, model.target_embedding)):
        scale = math.sqrt(model.config.hidden_size) if model.config.embedding_scale == "root" else 1.0
        side.scale_embeddings = np.float32(scale)
        side.position_encodings.encodings = _array(model.positions(0, longest))
        place = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        place.weight = _array(embedding.weight)
    if model.config.ends_with_norm:
        _norm(spec.encoder.layer_norm, model.encoder_norm)
        _norm(spec.decoder.layer_norm, model.decoder_norm)
    spec.decoder.projection.weight = _array(model.output.weight)
    spec.decoder.projection.bias = _array(_biases(model, target))
    for place, layer in zip((*spec.encoder.layer, *spec.decoder.layer), (*model.encoder, *model.decoder), strict=True):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        _layer(place, layer)


def _biases(model: Model, target: Vocabulary) -> Tensor:
    """What is added to logits. Our search is told which tokens are never written; here a bias must see to that."""
    biases = model.no_bias.clone() if model.config.output_bias == "none" else model.output.bias.clone()
    biases[list(target.banned)] = NEVER
    return biases


def _layer(spec: Any, layer: EncoderLayer | DecoderLayer) -> None:
    assert isinstance(layer.mixer, SelfAttention)
    _attention(spec.self_attention, layer.mixer.attention, shares=(3,))
    _norm(spec.self_attention.layer_norm, layer.mixed.norm)
    if isinstance(layer, DecoderLayer):
        _attention(spec.attention, layer.cross, shares=(1, 2))
        _norm(spec.attention.layer_norm, layer.crossed.norm)
    _network(spec.ffn, layer.network)
    _norm(spec.ffn.layer_norm, layer.worked.norm)


def _attention(spec: Any, layer: MultiHeadAttention, shares: tuple[int, ...]) -> None:
    """Queries, keys and values, so many of them in each product, and the output."""
    maps = [layer.query_map, layer.key_map, layer.value_map]
    for place, share in zip(spec.linear, shares, strict=False):
        taken, maps = maps[:share], maps[share:]
        place.weight = _array(torch.cat([one.weight for one in taken]))
        place.bias = _array(torch.cat([one.bias for one in taken]))
    _linear(spec.linear[-1], layer.output_map)


def _network(spec: Any, layer: FeedForward) -> None:
    _linear(spec.linear_0, layer.into)
    _linear(spec.linear_1, layer.out)


def _linear(spec: Any, layer: nn.Linear) -> None:
    spec.weight, spec.bias = _array(layer.weight), _array(layer.bias)


def _norm(spec: Any, layer: nn.Module) -> None:
    assert isinstance(layer, nn.LayerNorm)
    spec.gamma, spec.beta = _array(layer.weight), _array(layer.bias)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().float().cpu().contiguous().numpy()
