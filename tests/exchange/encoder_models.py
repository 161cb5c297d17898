"""Small encoders as transformers publishes them, with each of their heads, and runs of saccade's own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from saccade import systems
from saccade.data.examples import Splits
from saccade.data.tokenizers import Backend
from saccade.exchange.opening import load
from saccade.task import Task
from saccade.trained import TrainedModel
from saccade.training.run import Run
from saccade.training.settings import resolve

from ..systems.tiny import examples
from .gpt_models import enliven

TEXT = "To be, or not to be: that is the question. Héllo wörld 你好 — Шекспир 🙂 unaffable cats sat on mats"
TEXTS = ["To be or not", "the question", "Héllo wörld, unaffable 你好!", "q", "cats that sat on the mat . To be cats"]
PAIRS = [("who sat ?", "cats sat on the mat"), ("be", "To be, or not to be: that is the question")]
SPECIAL = {
    "bert": {"cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "unk": "[UNK]", "mask": "[MASK]"},
    "roberta": {"cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"},
}
CLASSES = {"bert": ("Bert", "BertForPreTraining"), "roberta": ("Roberta", "RobertaForMaskedLM")}
HEADS = {
    "label": "ForSequenceClassification",
    "tags": "ForTokenClassification",
    "span": "ForQuestionAnswering",
    "vector": "Model",
}
SIZES: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def backend(family: str, *, lower: bool = True, learned: Sequence[str] = ()) -> Backend:
    """A tokenizer as that of the family, learned from a text, or from many."""
    more = 600 if learned else 0
    special = list(SPECIAL[family].values())
    if family == "bert":
        made = Backend(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=lower)
        made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece("##")
        trainer = trainers.WordPieceTrainer(vocab_size=90 + more, special_tokens=special)
        made.train_from_iterator(learned or [TEXT] * 2, trainer)
    else:
        made = Backend(models.BPE(unk_token=None))
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        order = ["<s>", "<pad>", "</s>", "<unk>"]
        trainer = trainers.BpeTrainer(vocab_size=320 + more, special_tokens=order, initial_alphabet=alphabet)
        made.train_from_iterator(learned or [TEXT], trainer)
        made.add_special_tokens([AddedToken("<mask>", special=True, normalized=False, lstrip=True)])
    ids = {role: made.token_to_id(token) for role, token in SPECIAL[family].items()}
    cls, sep = SPECIAL[family]["cls"], SPECIAL[family]["sep"]
    between = "" if family == "bert" else f" {sep}"
    made.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep}{between} $B:1 {sep}:1",
        special_tokens=[(cls, ids["cls"]), (sep, ids["sep"])],
    )
    return made


def write_tokenizer(family: str, made: Backend, path: Path, *, files: bool, lower: bool = True) -> None:
    """The library's file, or those of the publication."""
    names = {f"{role}_token": token for role, token in SPECIAL[family].items()}
    if not files:
        made.save(str(path / "tokenizer.json"))
        table: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    elif family == "bert":
        ids = made.get_vocab(with_added_tokens=True)
        (path / "vocab.txt").write_text("\n".join(sorted(ids, key=ids.__getitem__)) + "\n", encoding="utf-8")
        table = {"tokenizer_class": "BertTokenizer", "do_lower_case": lower, **names}
    else:
        model = json.loads(made.to_str())["model"]
        (path / "vocab.json").write_text(json.dumps(made.get_vocab(with_added_tokens=True)), encoding="utf-8")
        lines = ["#version: 0.2", *(" ".join(pair) for pair in model["merges"]), ""]
        (path / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
        table = {"tokenizer_class": "RobertaTokenizer"}  # which knows its special tokens
    (path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 30, **table}), encoding="utf-8")


def published(
    family: str,
    path: Path,
    task: str = "masked",
    *,
    files: bool = False,
    lower: bool = True,
    seed: int = 0,
    learned: Sequence[str] = (),
    **over: Any,
) -> Any:
    """A directory as transformers writes it; gives the model."""
    import transformers

    made = backend(family, lower=lower, learned=learned)
    prefix, masked = CLASSES[family]
    positions = 32 if family == "bert" else 33 + (made.token_to_id("<pad>") or 0)
    table = {"vocab_size": made.get_vocab_size(), "max_position_embeddings": positions, **SIZES}
    table |= {
        "pad_token_id": made.token_to_id(SPECIAL[family]["pad"]),
        "layer_norm_eps": 1e-12 if family == "bert" else 1e-5,
    }
    table |= {"type_vocab_size": 2 if family == "bert" else 1}
    if task in ("label", "tags"):
        table["id2label"] = {0: "O", 1: "B-cat", 2: "I-cat"}
        table["label2id"] = {name: number for number, name in table["id2label"].items()}
    kind = getattr(transformers, masked if task == "masked" else f"{prefix}{HEADS[task]}")
    model = kind(getattr(transformers, f"{prefix}Config")(**{**table, **over})).eval()
    enliven(model, seed)
    path.mkdir(exist_ok=True)
    model.save_pretrained(path)
    write_tokenizer(family, made, path, files=files, lower=lower)
    return model


def opened(path: Path) -> Any:
    """The model that transformers makes of a directory, with nothing missing and nothing left over."""
    import transformers

    (name,) = json.loads((path / "config.json").read_text(encoding="utf-8"))["architectures"]
    model, report = getattr(transformers, name).from_pretrained(path, output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    return model.eval()


def run(system: str, path: Path, task: str, *words: str) -> TrainedModel:
    """A run of saccade's own that nobody trained."""
    sizes = "model.hidden_size=16 model.num_layers=2 model.num_heads=2 model.intermediate_size=24 model.max_positions=40"
    table = {"system": system, "task": task}
    made = Run.create(path, resolve(table, [*sizes.split(), "reader.max_length=32", "tokens.size=300", *words]))
    known = examples(*systems.sides(system, task)).train
    fitted = Task.fit(made.settings, Splits(known, [], []))
    fitted.save(path)
    module = systems.load(system).Model(made.settings.model, **fitted.sizes())
    enliven(module, 3)
    made.checkpoints.save(0, {"model": module.state_dict()}, {}, best=True)
    return load(path)


def inputs_of(model: Any, texts: list[Any], tokenizer: Any) -> dict[str, torch.Tensor]:
    """Texts or pairs as transformers takes them together."""
    firsts = [text if isinstance(text, str) else text[0] for text in texts]
    seconds = None if isinstance(texts[0], str) else [text[1] for text in texts]
    found = tokenizer(firsts, seconds, padding=True, return_tensors="pt", return_token_type_ids=True)
    if model.config.type_vocab_size == 1:
        found.pop("token_type_ids")
    return dict(found)
