"""Writes a run as a directory that `MarianMTModel.from_pretrained` opens: config, weights, tokenizer."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import processors
from torch import Tensor

from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import END, PAD, SPECIALS, START, UNKNOWN, Backend, LearnedTokenizer
from saccade.exchange import marian
from saccade.systems.transformer import Config, Model
from saccade.training.trained import Trained

SPM = ("source.spm", "target.spm")
NAMES = {"pad_token": PAD, "bos_token": START, "eos_token": END, "unk_token": UNKNOWN}


def export_marian(trained: Trained, out: Path) -> None:
    """Config, weights and tokenizers."""
    model, task, settings = trained.model, trained.task, trained.run.settings
    assert isinstance(model, Model)
    longest = max(settings.task.longest + 1, settings.search.max_length + 1)
    table = marian.config_for(settings.model, task.source.size, task.target.size, longest)
    _write(out / "config.json", table)
    _write(out / "generation_config.json", _generation(settings.search))
    save_file(_tensors(settings.model, model), out / "model.safetensors", metadata={"format": "pt"})
    if all((trained.run.path / name).exists() for name in SPM):
        _pieces(trained, out)
    else:
        _tokenizers(task, out)


def _generation(search: Any) -> dict[str, Any]:
    """The search that the run was made for; transformers does not save a file with a word for another method."""
    table: dict[str, Any] = {
        "pad_token_id": PAD,
        "bos_token_id": START,
        "decoder_start_token_id": START,
        "eos_token_id": END,
        "bad_words_ids": [[PAD], [START]],
        "max_length": search.max_length + 1,
        "num_beams": search.beam if search.method == "beam" else 1,
        "do_sample": search.method == "sample",
    }
    if table["num_beams"] > 1:
        table |= {"length_penalty": search.length_penalty, "early_stopping": "never"}
    if table["do_sample"]:
        table |= {"temperature": search.temperature, "top_k": search.top_k, "top_p": search.top_p}
    return table


def _tensors(config: Config, model: Model) -> dict[str, Tensor]:
    """Every weight under their name, tied ones once."""
    ours = model.state_dict()
    bias = ours.pop("output.bias", torch.zeros(len(ours["output.weight"])))
    tied = {"one": 3, "output": 2, "separate": 1}[config.embeddings]
    for name in ("output.weight", "source_embedding.weight")[: tied - 1]:
        del ours[name]
    theirs = {marian.their_name(name): tensor.contiguous() for name, tensor in ours.items()}
    if config.embeddings == "one":
        theirs[marian.SHARED] = theirs.pop(marian.EMBEDDINGS["target_embedding.weight"])
    return {**theirs, "final_logits_bias": bias[None]}


def _pieces(trained: Trained, out: Path) -> None:
    """What `MarianTokenizer` opens: the files of sentencepiece as they came, and ids in our order."""
    task = trained.task
    for name in SPM:
        shutil.copy(trained.run.path / name, out / name)
    for tokenizer, name in ((task.source, "vocab.json"), (task.target, "target_vocab.json")):
        if name == "vocab.json" or task.source.tokens() != task.target.tokens():
            _write(out / name, {token: index for index, token in enumerate(tokenizer.tokens())})
    separate = (out / "target_vocab.json").exists()
    special = {key: SPECIALS[index] for key, index in NAMES.items() if key != "bos_token"}
    _write(
        out / "tokenizer_config.json",
        {
            "tokenizer_class": "MarianTokenizer",
            "separate_vocabs": separate,
            "model_max_length": task.config.longest,
            **special,
        },
    )


def _tokenizers(task: Any, out: Path) -> None:
    """What the tokenizers library opens: one file if both sides have the same tokenizer, else one for each."""
    shared = task.source is task.target or _file(task.source) == _file(task.target)
    sides = {"": task.source} if shared else {"source.": task.source, "target.": task.target}
    for side, tokenizer in sides.items():
        backend = Backend.from_str(json.dumps(_file(tokenizer)))
        if task.config.source_ends == "end":
            end = SPECIALS[END]
            backend.post_processor = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, END)])
        backend.save(str(out / f"{side}tokenizer.json"))
    special = {key: SPECIALS[index] for key, index in NAMES.items()}
    _write(out / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **special})


def _file(tokenizer: LearnedTokenizer | ImportedTokenizer) -> dict[str, Any]:
    """The library's file of a tokenizer, with our ids."""
    if isinstance(tokenizer, ImportedTokenizer):
        return _renumbered(json.loads(tokenizer.backend.to_str()), tokenizer.tokens())
    table: dict[str, Any] = json.loads(tokenizer.text())
    return table


def _renumbered(table: dict[str, Any], vocabulary: list[str]) -> dict[str, Any]:
    """The same tokenizer with the ids of this vocabulary; of what it lacks, ids go on behind it."""
    model = table["model"]
    listed = isinstance(model["vocab"], list)  # of unigram models, as pairs of piece and score
    known = dict(model["vocab"]) if listed else dict.fromkeys(model["vocab"], 0.0)
    lowest = min(known.values(), default=0.0) - 100.0
    ids = {token: index for index, token in enumerate(dict.fromkeys([*vocabulary, *known]))}
    model["vocab"] = [[token, known.get(token, lowest)] for token in ids] if listed else ids
    if listed:
        model["unk_id"] = UNKNOWN
    added = [{**token, "id": ids[token["content"]]} for token in table["added_tokens"] if token["content"] in ids]
    return {**table, "model": model, "added_tokens": added, "post_processor": None}


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(table, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")
