"""Marian's Transformers (Junczys-Dowmunt et al. 2018) as Hugging Face's `MarianMTModel` stores them.

They are the paper's, with all sines before all cosines, no norm at the end, and a bias for each token's logit. Texts end
with </s>, which is 0; where writing starts from, the last id, is padding as well.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Le, Lt
from pydantic import Strict
from safetensors.torch import save_file
from torch import Tensor

from saccade.config import build
from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import Backend, Vocabulary
from saccade.errors import DataError
from saccade.exchange import families, generation, published, sentencepiece, tokenizer_files
from saccade.exchange.families import PublishedModel
from saccade.exchange.layouts import TensorLayout
from saccade.layers.position_embeddings import sinusoids
from saccade.readers import text as text_reader
from saccade.systems.transformer import Config, Model
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.writers import text as text_writer

SYSTEM, ARCHITECTURE = "transformer", "MarianMTModel"
SPM = ("source.spm", "target.spm")
UNKNOWN = "<unk>"

# Names of parts of a layer, ours and theirs.
PARTS = {
    "mixer.attention.": "self_attn.",
    "cross.": "encoder_attn.",
    "mixed.norm.": "self_attn_layer_norm.",
    "crossed.norm.": "encoder_attn_layer_norm.",
    "worked.norm.": "final_layer_norm.",
    "network.into.": "fc1.",
    "network.out.": "fc2.",
    "query_map.": "q_proj.",
    "key_map.": "k_proj.",
    "value_map.": "v_proj.",
    "output_map.": "out_proj.",
}
# Names outside the layers; a matrix that is tied is stored once, under any of its names.
SHARED, OUTPUT, WRITTEN = "model.shared.weight", "lm_head.weight", "model.decoder.embed_tokens.weight"
OTHERS = {
    "source_embedding.weight": ("model.encoder.embed_tokens.weight", SHARED, WRITTEN, OUTPUT),
    "target_embedding.weight": (WRITTEN, SHARED, OUTPUT),
    "output.weight": (OUTPUT, SHARED, WRITTEN),
    "output.bias": ("final_logits_bias",),
}
LAYOUTS: Mapping[str, TensorLayout] = {}  # all tensors are as ours
POSITIONS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight")
# Keys of our config, and those of theirs, of both sides, that say the same.
KEYS = {
    "hidden_size": ("d_model",),
    "num_heads": ("encoder_attention_heads", "decoder_attention_heads"),
    "intermediate_size": ("encoder_ffn_dim", "decoder_ffn_dim"),
    "encoder_layers": ("encoder_layers",),
    "decoder_layers": ("decoder_layers",),
    "dropout": ("dropout",),
    "attention_dropout": ("attention_dropout",),
    "activation_dropout": ("activation_dropout",),
}
ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
# What all their models are: our preset, and what a config of theirs may say, and must say so that a `transformer` can be it.
PRESET = {"norm": "post", "final_norm": "none", "positions": "sinusoidal_halves", "output_bias": "learned"}
FIXED = {
    "normalize_before": False,
    "add_final_layer_norm": False,
    "normalize_embedding": False,
    "static_position_embeddings": True,
}
NEEDS = {
    SYSTEM: {
        "model.norm": ("post",),
        "model.final_norm": ("none", "auto"),
        "model.positions": ("sinusoidal_halves",),
        **families.PLAIN_ATTENTION,
        "writer.start": ("one",),
    }
}

# No more than any published model has, by far: a number beyond is a mistake, and would fill the memory.
Width = Annotated[int, Strict(), Gt(0), Le(100_000)]
Layers = Annotated[int, Strict(), Gt(0), Le(1000)]
Rows = Annotated[int, Strict(), Gt(0), Le(10_000_000)]
Length = Annotated[int, Strict(), Gt(0), Le(1_000_000)]
Token = Annotated[int, Strict(), Ge(0)]
Flag = Annotated[bool, Strict()]
Dropped = Annotated[float, Strict(), Ge(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class MarianConfig:
    """What is read of a config.json, with the library's defaults for what it leaves out."""

    d_model: Width = 1024
    encoder_layers: Layers = 12
    decoder_layers: Layers = 12
    encoder_attention_heads: Width = 16
    decoder_attention_heads: Width = 16
    encoder_ffn_dim: Width = 4096
    decoder_ffn_dim: Width = 4096
    max_position_embeddings: Length = 1024
    vocab_size: Rows = 58101
    decoder_vocab_size: Rows | None = None
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


# Names of tensors


def tensor_names(name: str) -> Sequence[str]:
    """The names that one of our parameters may have in a Marian file; the first is its own."""
    if name in OTHERS:
        return OTHERS[name]
    side, number, rest = name.split(".", 2)
    for ours, theirs in PARTS.items():
        rest = rest.replace(ours, theirs, 1)
    return (f"model.{side}.layers.{number}.{rest}",)


def tensor_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that one of our parameters has there."""
    return (1, *shape) if name == "output.bias" else shape


def is_computed(name: str, tensor: Tensor) -> bool:
    """Whether a tensor holds the sinusoids that are computed here; others in their place are refused."""
    if not POSITIONS.fullmatch(name):
        return False
    table = sinusoids(0, *tensor.shape, halves=True) if tensor.dim() == 2 else None
    if table is None or not torch.allclose(tensor.float(), table, atol=1e-3):
        raise DataError(f"{published.PARAMETERS}: expected sinusoids in {name}, got others; no fix is known")
    return True


# The config, both ways


def checked(table: Mapping[str, Any], path: Path) -> MarianConfig:
    """What their config says, if a `transformer` can be it."""
    for key, needed in FIXED.items():
        if table.get(key, needed) != needed:
            got = published.short(table[key])
            raise DataError(f"{path}: expected {key} = {needed!r}, got {got}; only Marian's own kind is read")
    config = published.fields(MarianConfig, table, path)
    for one, *others in KEYS.values():
        for other in others:
            if (first := getattr(config, one)) != (second := getattr(config, other)):
                raise DataError(f"{path}: expected {one} = {other}, got {first} and {second}; no fix is known")
    if config.activation_function not in ACTIVATIONS:
        expected, got = ", ".join(ACTIVATIONS), published.short(config.activation_function)
        raise DataError(f"{path}: expected activation_function one of {expected}, got {got}; no fix is known")
    if config.d_model % config.encoder_attention_heads:
        got = f"{config.d_model} and {config.encoder_attention_heads}"
        raise DataError(f"{path}: expected encoder_attention_heads to divide d_model, got {got}; fix: {published.AGAIN}")
    return config


def our_config(given: MarianConfig) -> Config:
    """Our config for theirs."""
    tied = "one" if given.share_encoder_decoder_embeddings else "output"
    keys = {
        **PRESET,
        **{ours: getattr(given, theirs[0]) for ours, theirs in KEYS.items()},
        "max_positions": given.max_position_embeddings,
        "embeddings": tied if given.tie_word_embeddings else "separate",
        "embedding_scale": "root" if given.scale_embedding else "one",
        "activation": ACTIVATIONS[given.activation_function],
    }
    return build(Config, keys, "model")


def their_config(config: Config, source: Vocabulary, target: Vocabulary, max_positions: int) -> dict[str, Any]:
    """Their config for ours, if ours can be said there (`NEEDS`)."""
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "marian",
        "vocab_size": source.size,
        "decoder_vocab_size": target.size,
        **{key: getattr(config, ours) for ours, theirs in KEYS.items() for key in theirs},
        "activation_function": config.activation,
        "scale_embedding": config.embedding_scale == "root",
        "share_encoder_decoder_embeddings": config.embeddings == "one",
        "tie_word_embeddings": config.embeddings != "separate",
        "max_position_embeddings": max_positions,
        **generation.special_ids(target),
        "forced_eos_token_id": None,
        "static_position_embeddings": True,
        "torch_dtype": "float32",
    }


# Reading


def read(path: Path, table: Mapping[str, Any], given: Mapping[str, Tensor]) -> PublishedModel:
    """The model in a directory."""
    config = checked(table, path / published.CONFIG)
    decoding = generation.read(path, table)
    _require_rows(path, config, given)
    source, target = _tokenizers(path, config, generation.banned(path, decoding, _sizes(config)[1]))
    most = max(1, config.max_position_embeddings - 1)
    read = text_reader.Config(max_length=most, append_end=_appends_end(path, config))
    written = text_writer.Config(metric="bleu", max_length=most, share_tokenizer=source is target)
    task = Task(text_reader.Reader(read, source), text_writer.Writer(written, target))
    files = [path / name for name in SPM if (path / name).exists()]
    return PublishedModel(our_config(config), task, generation.search_keys(decoding, config.max_position_embeddings), files)


def _sizes(config: MarianConfig) -> tuple[int, int]:
    """Of both vocabularies."""
    return config.vocab_size, config.decoder_vocab_size or config.vocab_size


def _require_rows(path: Path, config: MarianConfig, given: Mapping[str, Tensor]) -> None:
    """Vocabularies that are not those of the parameters are refused before they are listed."""
    fields = ("vocab_size", "decoder_vocab_size" if config.decoder_vocab_size else "vocab_size")
    for side, field, size in zip(("source", "target"), fields, _sizes(config), strict=True):
        names = tensor_names(f"{side}_embedding.weight")
        matrix = next((given[name] for name in names if name in given), None)
        if matrix is not None and (matrix.dim() != 2 or len(matrix) != size):
            got = f"{size}, where {published.PARAMETERS} has a matrix of {tuple(matrix.shape)}"
            where = f"{path / published.CONFIG}: {field}"
            raise DataError(f"{where}: expected as many as rows, got {got}; fix: {published.AGAIN}")


def _tokenizers(path: Path, config: MarianConfig, banned: tuple[int, ...]) -> tuple[ImportedTokenizer, ImportedTokenizer]:
    """Those of source and target; one and the same, if one file is for both."""
    backends, ids = _files(path)
    size, target_size = _sizes(config)
    made = _tokenizer(path, backends[1], ids[1], _special(path, config, ids[1], target_size, banned))
    if backends[0] is backends[1]:
        return made, made
    if ids[0] == ids[1]:
        return ImportedTokenizer(backends[0], made.tokens(), made.vocabulary, language_codes=True), made
    return _tokenizer(path, backends[0], ids[0], _named(path, config, ids[0], size)), made


def _files(path: Path) -> tuple[list[Backend], list[dict[str, int]]]:
    """What cuts the texts of both sides, and the ids of both."""
    if all((path / name).exists() for name in (*SPM, "vocab.json")):
        own = path / "target_vocab.json"
        vocabularies = (path / "vocab.json", own if own.exists() else path / "vocab.json")
        return [sentencepiece.backend(path / name) for name in SPM], [published.token_ids(file) for file in vocabularies]
    if (path / "tokenizer.json").exists():
        backends = [published.backend(path / "tokenizer.json")] * 2
    elif all((path / f"{side}.tokenizer.json").exists() for side in ("source", "target")):
        backends = [published.backend(path / f"{side}.tokenizer.json") for side in ("source", "target")]
    else:
        raise DataError(
            f"{path}: expected source.spm, target.spm and vocab.json, or tokenizer.json; fix: download them, too"
        )
    return backends, [backend.get_vocab(with_added_tokens=True) for backend in backends]


def _special(
    path: Path, config: MarianConfig, ids: Mapping[str, int], size: int, banned: tuple[int, ...] = ()
) -> Vocabulary:
    """The special tokens that the config names."""
    if UNKNOWN not in ids:
        raise DataError(f"{path}: expected a token {UNKNOWN} in the vocabulary, got none; fix: add it")
    pad, end, start = config.pad_token_id, config.eos_token_id, config.decoder_start_token_id
    special, largest = (pad, end, ids[UNKNOWN]), max(ids.values())
    if max(*special, start, largest) >= size or len({*special}) < len(special):
        expected = f"expected ids below {size} (vocab_size) and three different ones for padding, end and unknown"
        got = f"ids up to {largest}, pad_token_id {pad}, eos_token_id {end}, decoder_start_token_id {start}"
        fix = "fix: take config.json and vocabulary of one model"
        raise DataError(f"{path / published.CONFIG}: {expected}, got {got} and {ids[UNKNOWN]} for unknown; {fix}")
    unwritten = tuple(token for token in banned if token not in (pad, start, end))  # the end can always be written
    return Vocabulary(size=size, pad=pad, start=start, end=end, unknown=ids[UNKNOWN], unwritten=unwritten)


def _named(path: Path, config: MarianConfig, ids: Mapping[str, int], size: int) -> Vocabulary:
    """Those of a vocabulary of the source alone, where the config's are the target's: they are known by their names."""
    pad = ids.get("<pad>", config.pad_token_id)
    end, start = ids.get("</s>", config.eos_token_id), ids.get("<s>", pad)
    own = replace(config, pad_token_id=pad, eos_token_id=end, decoder_start_token_id=start)
    return _special(path, own, ids, size)


def _tokenizer(path: Path, backend: Backend, ids: Mapping[str, int], vocabulary: Vocabulary) -> ImportedTokenizer:
    names = {index: token for token, index in ids.items()}
    tokens = [names.get(index, f"<{index}>") for index in range(vocabulary.size)]
    if len(set(tokens)) < len(tokens):
        expected = "expected one id for each token of the vocabulary, got two for one"
        raise DataError(f"{path / published.CONFIG}: {expected}; fix: take the published file")
    return ImportedTokenizer(backend, tokens, vocabulary, language_codes=True)


def _appends_end(path: Path, config: MarianConfig) -> bool:
    """Whether a source ends with the end token: always with sentencepiece, else if its tokenizer puts it there."""
    for name in ("tokenizer.json", "source.tokenizer.json"):
        if (path / name).exists() and not (path / SPM[0]).exists():
            return published.backend(path / name).encode("a").ids[-1:] == [config.eos_token_id]
    return True


# Writing


def write(model: TrainedModel, out: Path) -> None:
    """The run as a directory that `MarianMTModel.from_pretrained` opens: config, parameters, tokenizers."""
    task, settings = model.task, model.run.settings
    assert settings.search is not None
    most = max(settings.reader.max_length + 1, settings.search.max_length + 1)
    table = their_config(settings.model, task.reader.tokenizer.vocabulary, task.writer.vocabulary, most)
    published.write_json(out / published.CONFIG, table)
    published.write_json(out / generation.FILE, generation.table(settings.search, task.writer.vocabulary))
    save_file(their_tensors(model.module), out / published.PARAMETERS, metadata={"format": "pt"})
    if all((model.run.path / name).exists() for name in SPM):
        tokenizer_files.write_pieces(task, [model.run.path / name for name in SPM], "MarianTokenizer", out)
    else:
        tokenizer_files.write_backends(task, out)


def their_tensors(model: Model) -> dict[str, Tensor]:
    """Every parameter under their name, tied ones once."""
    ours = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    bias = ours.pop("output.bias", torch.zeros(len(ours["output.weight"])))
    tied = {"one": 3, "output": 2, "separate": 1}[model.config.embeddings]
    for name in ("output.weight", "source_embedding.weight")[: tied - 1]:
        del ours[name]
    theirs = {tensor_names(name)[0]: tensor.contiguous() for name, tensor in ours.items()}
    if model.config.embeddings == "one":
        theirs[SHARED] = theirs.pop(WRITTEN)
    return {**theirs, "final_logits_bias": bias[None]}
