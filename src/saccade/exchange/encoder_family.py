"""What the published layouts of encoders (BERT, RoBERTa) have in common: which head a directory has, names of tensors and
configs both ways. A family says what is its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Le, Lt
from pydantic import Strict
from safetensors.torch import save_file
from torch import Tensor

from saccade import systems
from saccade.config import build
from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import Vocabulary
from saccade.errors import DataError, UsageError
from saccade.exchange import encoder_tokenizers, published
from saccade.exchange.families import PublishedModel
from saccade.readers import pieces, placed_pieces
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.writers import label, masked, span, tags, vector

# Names inside the encoder, ours and theirs.
INNER = {
    "encoder.embedding.": "embeddings.word_embeddings.",
    "encoder.positions.table": "embeddings.position_embeddings.weight",
    "encoder.segment_embedding.": "embeddings.token_type_embeddings.",
    "encoder.embedding_norm.": "embeddings.LayerNorm.",
    "encoder.layers.": "encoder.layer.",
    "mixer.attention.query_map.": "attention.self.query.",
    "mixer.attention.key_map.": "attention.self.key.",
    "mixer.attention.value_map.": "attention.self.value.",
    "mixer.attention.output_map.": "attention.output.dense.",
    "mixed.norm.": "attention.output.LayerNorm.",
    "network.into.": "intermediate.dense.",
    "network.out.": "output.dense.",
    "worked.norm.": "output.LayerNorm.",
    "pooler.": "pooler.dense.",
}
# The end of the class that opens a head, by task.
HEADS = {"label": "ForSequenceClassification", "tags": "ForTokenClassification", "span": "ForQuestionAnswering"}
OLD = {".LayerNorm.weight": ".LayerNorm.gamma", ".LayerNorm.bias": ".LayerNorm.beta"}  # of the first publication
NUMBERED = ("embeddings.position_ids", "embeddings.token_type_ids")  # places and zeros, which older files hold
POOLER = "pooler.dense."
KEYS = {
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "layer_norm_eps": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "swish"}
FIXED = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}

# No more than any published model has, by far: a number beyond is a mistake, and would fill the memory.
Width = Annotated[int, Strict(), Gt(0), Le(100_000)]
Layers = Annotated[int, Strict(), Gt(0), Le(1000)]
Rows = Annotated[int, Strict(), Gt(0), Le(10_000_000)]
Length = Annotated[int, Strict(), Gt(0), Le(1_000_000)]
Token = Annotated[int, Strict(), Ge(0)]
Dropped = Annotated[float, Strict(), Ge(0), Lt(1)]
Eps = Annotated[float, Gt(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What is read of a config.json, with the library's defaults for what it leaves out."""

    vocab_size: Rows
    hidden_size: Width = 768
    num_hidden_layers: Layers = 12
    num_attention_heads: Width = 12
    intermediate_size: Width = 3072
    hidden_act: Annotated[str, Strict()] = "gelu"
    hidden_dropout_prob: Dropped = 0.1
    attention_probs_dropout_prob: Dropped = 0.1
    max_position_embeddings: Length = 512
    type_vocab_size: Width = 2
    layer_norm_eps: Eps = 1e-12
    id2label: dict[str, str] | None = None
    architectures: list[str] | None = None


@dataclass(frozen=True)
class EncoderFamily:
    """A family of encoders: the module of our system, the prefix of its classes and tensors, and the names of its heads."""

    system: str
    prefix: str
    name: str
    "What its classes begin with."
    heads: Mapping[str, str]
    "Names of parts outside the encoder, ours and theirs."
    tied: tuple[tuple[str, str], ...]
    "Tensors that are stored again under another name: the copy, and what it is a copy of."
    tokenizer: Callable[[Path, int], ImportedTokenizer]
    double_separator: bool = False
    inner: Mapping[str, str] = field(default_factory=lambda: INNER)
    "Names inside the encoder, ours and theirs."
    endings: Mapping[str, str] = field(default_factory=lambda: HEADS)
    "The end of the class that opens a head, by task."

    @property
    def module(self) -> Any:
        """Our system."""
        return systems.load(self.system)

    def tensor_names(self, name: str) -> Sequence[str]:
        """The names that one of our parameters may have there, with the prefix and without."""
        theirs, inner = [], name
        for ours, part in self.heads.items():
            if name.startswith(ours):
                theirs.append(part + name.removeprefix(ours))
        for ours, part in self.inner.items():
            inner = inner.replace(ours, part, 1)
        if inner != name:
            theirs += [self.prefix + inner, inner]
        return [*theirs, *(old for one in theirs for new, end in OLD.items() if (old := one.replace(new, end)) != one)]

    def is_computed(self, name: str, tensor: Tensor) -> bool:
        """Whether a tensor holds numbers of places or those of another tensor, or is a pooler that the head does not use."""
        inner = name.removeprefix(self.prefix)
        return inner in NUMBERED or inner.startswith(POOLER) or name in {copy for copy, _ in self.tied}

    def read(self, path: Path, table: Mapping[str, Any], given: Mapping[str, Tensor]) -> PublishedModel:
        """The model in a directory."""
        config = self._checked(table, path / published.CONFIG)
        self._require_tied(path / published.PARAMETERS, given)
        tokenizer = self.tokenizer(path, config.vocab_size)
        task = self._task(config, given)
        sizes = self._sizes(config, tokenizer.vocabulary)
        read = self._read_by(sizes, encoder_tokenizers.most(path))
        reader = (placed_pieces if task in ("tags", "span") else pieces).Reader(read, tokenizer)
        both = Task(reader, self._writer(path, task, config, reader, given))
        return PublishedModel(build(self.module.Config, sizes, "model"), both, {}, task_name=task)

    def _sizes(self, config: Any, known: Vocabulary) -> dict[str, Any]:
        """Our sizes of the model."""
        places = config.max_position_embeddings - self.module.Model.first_position(known)
        sizes = {ours: getattr(config, theirs) for ours, theirs in KEYS.items()}
        return sizes | {"max_positions": places, "activation": ACTIVATIONS[config.hidden_act]}

    def _read_by(self, sizes: Mapping[str, Any], most: int | None) -> pieces.Config:
        """How its texts are read, `most` tokens where a file says so."""
        places = sizes["max_positions"]
        return pieces.Config(max_length=min(places, most or places), double_separator=self.double_separator)

    def _require(self, fixed: Mapping[str, Any], table: Mapping[str, Any], path: Path) -> None:
        """Refuse a config with other values of these keys."""
        for key, needed in fixed.items():
            if table.get(key, needed) != needed:
                got = published.short(table[key])
                raise DataError(f"{path}: expected {key} = {needed!r}, got {got}; only {self.name}'s own kind is read")

    def _checked(self, table: Mapping[str, Any], path: Path) -> Any:
        """What their config says, if our system can be it."""
        self._require(FIXED, table, path)
        config = published.fields(EncoderConfig, table, path)
        require_shape(config, "hidden_size", "num_attention_heads", "hidden_act", path)
        if config.type_vocab_size != self.module.Model.SEGMENTS:
            got = f"{config.type_vocab_size}; only {self.name}'s own kind is read"
            raise DataError(f"{path}: expected type_vocab_size = {self.module.Model.SEGMENTS}, got {got}")
        return config

    def _require_tied(self, file: Path, given: Mapping[str, Tensor]) -> None:
        """What is stored twice is the same."""
        for copy, own in self.tied:
            original = next((given[name] for name in (own, own.removeprefix(self.prefix)) if name in given), None)
            if copy in given and original is not None and not torch.equal(given[copy], original):
                raise DataError(f"{file}: expected the numbers of {own} in {copy}, got others; no fix is known")

    def _task(self, config: Any, given: Mapping[str, Tensor]) -> str:
        """Which head the tensors have; where those of labels and of tags have one name, the config tells them apart."""
        has = {ours for ours, theirs in self.heads.items() if any(name.startswith(theirs) for name in given)}
        if any(ours.startswith("masked.") for ours in has):
            return str(self.module.WRITES)
        if "span_output." in has:
            return "span"
        named = any(name.endswith(HEADS["tags"]) for name in config.architectures or ())
        if "tag_output." in has and (named or "label_output." not in has):
            return "tags"
        return "label" if "label_output." in has else "vector"

    def _first_writer(self, config: Any, reader: Any, given: Mapping[str, Tensor]) -> Any:
        """That of the task that it is pre-trained with."""
        following = self.heads.get("following.", "")
        has = bool(following) and any(name.startswith(following) for name in given)
        return masked.Writer(masked.Config(next_sentence=has), reader)

    def _writer(self, path: Path, task: str, config: Any, reader: Any, given: Mapping[str, Tensor]) -> Any:
        match task:
            case self.module.WRITES:
                return self._first_writer(config, reader, given)
            case "span":
                return span.Writer(span.Config(), reader, some_have_none=False)
            case "label":
                return label.Writer(
                    label.Config(), _names(path, config, _rows(given, self.tensor_names("label_output.bias")))
                )
            case "tags":
                return tags.Writer(tags.Config(), _names(path, config, _rows(given, self.tensor_names("tag_output.bias"))))
        pooler = any(name.removeprefix(self.prefix).startswith(POOLER) for name in given)
        return vector.Writer(encoder_tokenizers.pooling(path, pooler=pooler))

    def write(self, model: TrainedModel, out: Path) -> None:
        """The run as a directory that transformers opens: config, parameters, tokenizer."""
        task = model.run.settings.task or self.module.WRITES
        ending = self._masked_ending(model) if task == self.module.WRITES else self.endings.get(task, "Model")
        published.write_json(out / published.CONFIG, self._their_config(model, f"{self.name}{ending}"))
        save_file(self._tensors(model, task), out / published.PARAMETERS, metadata={"format": "pt"})
        encoder_tokenizers.write(model.task.reader, out)

    def _masked_ending(self, model: TrainedModel) -> str:
        """The end of the class that opens the head of the first task."""
        follows = model.task.writer.config.next_sentence
        if follows and "following." not in self.heads:
            raise UsageError(f"format {self.system} needs writer.next_sentence=false, got true; train with that")
        return "ForPreTraining" if follows else "ForMaskedLM"

    def _tensors(self, model: TrainedModel, task: str) -> dict[str, Tensor]:
        """The parameters under their names."""
        return {
            self._written(name, task): tensor.detach().cpu().contiguous()
            for name, tensor in model.module.state_dict().items()
        }

    def _written(self, name: str, task: str) -> str:
        """The name that is written: that of the head, or that with the prefix; a model without a head has none."""
        names = self.tensor_names(name)
        if name.startswith("pooler.") and task != "label":
            names = [one for one in names if one.startswith(self.prefix)]
        return names[0].removeprefix(self.prefix) if task == "vector" else names[0]

    def _their_config(self, model: TrainedModel, architecture: str) -> dict[str, Any]:
        """Their config for ours."""
        config, known = model.run.settings.model, model.task.reader.vocabulary
        return {
            "architectures": [architecture],
            "model_type": self.system,
            "vocab_size": known.size,
            **{theirs: getattr(config, ours) for ours, theirs in KEYS.items()},
            "hidden_act": activation_there(config.activation),
            "max_position_embeddings": config.max_positions + self.module.Model.first_position(known),
            "type_vocab_size": self.module.Model.SEGMENTS,
            "pad_token_id": known.pad,
            "bos_token_id": known.start,
            "eos_token_id": known.end,
            **FIXED,
            **labels_there(getattr(model.task.writer, "names", None)),
            "torch_dtype": "float32",
        }


def require_shape(config: Any, width: str, heads: str, activation: str, path: Path) -> None:
    """Refuse heads that do not divide the width, and functions that we do not have; by the names of their keys."""
    if getattr(config, width) % getattr(config, heads):
        got = f"{getattr(config, width)} and {getattr(config, heads)}"
        raise DataError(f"{path}: expected {heads} to divide {width}, got {got}; fix: {published.AGAIN}")
    if getattr(config, activation) not in ACTIVATIONS:
        expected, got = ", ".join(ACTIVATIONS), published.short(getattr(config, activation))
        raise DataError(f"{path}: expected {activation} one of {expected}, got {got}; no fix is known")


def activation_there(name: str) -> str:
    """Their name of a function of ours."""
    return {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}[name]


def labels_there(names: Sequence[str] | None) -> dict[str, Any]:
    """What their config says of labels."""
    if names is None:
        return {}
    return {
        "id2label": {str(i): name for i, name in enumerate(names)},
        "label2id": {name: i for i, name in enumerate(names)},
    }


def _rows(given: Mapping[str, Tensor], names: Sequence[str]) -> int:
    """How many labels a head has."""
    return next((len(given[name]) for name in names if name in given), 0)


def _names(path: Path, config: Any, count: int) -> list[str]:
    """The labels by their numbers."""
    known = config.id2label or {}
    names = [known.get(str(number), f"LABEL_{number}") for number in range(count)]
    if count < 2 or len({*names}) < count:
        got = f"{count} with the names {', '.join(names[:5])}"
        raise DataError(f"{path / published.CONFIG}: expected at least two labels with names of their own, got {got}")
    return names
