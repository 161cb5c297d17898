"""What the published layouts of encoders (BERT, RoBERTa) have in common: which head a directory has, names of tensors and
configs both ways. A family says what is its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from saccade.systems import bert
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
    layer_norm_eps: Annotated[float, Gt(0), Lt(1)] = 1e-12
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
        for ours, part in INNER.items():
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
        first = self.module.Model.first_position(tokenizer.vocabulary)
        places = config.max_position_embeddings - first
        task = self._task(config, given)
        most = min(places, encoder_tokenizers.most(path) or places)
        read = pieces.Config(max_length=most, double_separator=self.double_separator)
        reader = (placed_pieces if task in ("tags", "span") else pieces).Reader(read, tokenizer)
        model = {ours: getattr(config, theirs) for ours, theirs in KEYS.items()}
        model |= {"max_positions": places, "activation": ACTIVATIONS[config.hidden_act]}
        both = Task(reader, self._writer(path, task, config, reader, given))
        return PublishedModel(build(self.module.Config, model, "model"), both, {}, task_name=task)

    def _checked(self, table: Mapping[str, Any], path: Path) -> EncoderConfig:
        """What their config says, if our system can be it."""
        for key, needed in FIXED.items():
            if table.get(key, needed) != needed:
                got = published.short(table[key])
                raise DataError(f"{path}: expected {key} = {needed!r}, got {got}; only {self.name}'s own kind is read")
        config = published.fields(EncoderConfig, table, path)
        if config.hidden_size % config.num_attention_heads:
            got = f"{config.hidden_size} and {config.num_attention_heads}"
            raise DataError(f"{path}: expected num_attention_heads to divide hidden_size, got {got}; fix: {published.AGAIN}")
        if config.hidden_act not in ACTIVATIONS:
            expected, got = ", ".join(ACTIVATIONS), published.short(config.hidden_act)
            raise DataError(f"{path}: expected hidden_act one of {expected}, got {got}; no fix is known")
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

    def _task(self, config: EncoderConfig, given: Mapping[str, Tensor]) -> str:
        """Which head the tensors have; that of labels and that of tags have one name, and the config tells them apart."""
        masked_head = self.heads["masked.transform."]
        if any(name.startswith(masked_head) for name in given):
            return "masked"
        if "qa_outputs.weight" in given:
            return "span"
        if any(name.startswith("classifier.") for name in given):
            return "tags" if any(name.endswith(HEADS["tags"]) for name in config.architectures or ()) else "label"
        return "vector"

    def _writer(self, path: Path, task: str, config: EncoderConfig, reader: Any, given: Mapping[str, Tensor]) -> Any:
        match task:
            case "masked":
                following = self.heads.get("following.", "")
                has = bool(following) and any(name.startswith(following) for name in given)
                return masked.Writer(masked.Config(next_sentence=has), reader)
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
        settings, tokenizer = model.run.settings, model.task.reader.tokenizer
        task = settings.task or "masked"
        ending = HEADS.get(task, "Model")
        if task == "masked":
            follows = model.task.writer.config.next_sentence
            if follows and "following." not in self.heads:
                raise UsageError(f"format {self.system} needs writer.next_sentence=false, got true; train with that")
            ending = "ForPreTraining" if follows else "ForMaskedLM"
        names = getattr(model.task.writer, "names", None)
        table = self._their_config(settings.model, tokenizer.vocabulary, f"{self.name}{ending}", names)
        published.write_json(out / published.CONFIG, table)
        tensors = {
            self._written(name, task): tensor.detach().cpu().contiguous()
            for name, tensor in model.module.state_dict().items()
        }
        save_file(tensors, out / published.PARAMETERS, metadata={"format": "pt"})
        encoder_tokenizers.write(model.task.reader, out)

    def _written(self, name: str, task: str) -> str:
        """The name that is written: that of the head, or that with the prefix; a model without a head has none."""
        names = self.tensor_names(name)
        if name.startswith("pooler.") and task != "label":
            names = [one for one in names if one.startswith(self.prefix)]
        return names[0].removeprefix(self.prefix) if task == "vector" else names[0]

    def _their_config(
        self, config: bert.Config, known: Vocabulary, architecture: str, names: Sequence[str] | None
    ) -> dict[str, Any]:
        """Their config for ours."""
        back = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
        labels: dict[str, Any] = {}
        if names is not None:
            labels = {"id2label": {str(i): name for i, name in enumerate(names)}}
            labels["label2id"] = {name: i for i, name in enumerate(names)}
        return {
            "architectures": [architecture],
            "model_type": self.system,
            "vocab_size": known.size,
            **{theirs: getattr(config, ours) for ours, theirs in KEYS.items()},
            "hidden_act": back[config.activation],
            "max_position_embeddings": config.max_positions + self.module.Model.first_position(known),
            "type_vocab_size": self.module.Model.SEGMENTS,
            "pad_token_id": known.pad,
            "bos_token_id": known.start,
            "eos_token_id": known.end,
            **FIXED,
            **labels,
            "torch_dtype": "float32",
        }


def _rows(given: Mapping[str, Tensor], names: Sequence[str]) -> int:
    """How many labels a head has."""
    return next((len(given[name]) for name in names if name in given), 0)


def _names(path: Path, config: EncoderConfig, count: int) -> list[str]:
    """The labels by their numbers."""
    known = config.id2label or {}
    names = [known.get(str(number), f"LABEL_{number}") for number in range(count)]
    if count < 2 or len({*names}) < count:
        got = f"{count} with the names {', '.join(names[:5])}"
        raise DataError(f"{path / published.CONFIG}: expected at least two labels with names of their own, got {got}")
    return names
