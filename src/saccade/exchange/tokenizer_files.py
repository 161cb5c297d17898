"""Tokenizers of a run as the files that transformers opens: of the tokenizers library, or of sentencepiece."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tokenizers import processors

from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import Backend, LearnedTokenizer, Tokenizer
from saccade.exchange.published import write_json
from saccade.task import Task

FILE = "tokenizer_config.json"


def special_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """The special tokens by the names of that file; a start that is padding or the end as well has none of its own."""
    known, tokens = tokenizer.vocabulary, tokenizer.tokens()
    ids = {"pad_token": known.pad, "eos_token": known.end, "unk_token": known.unknown}
    if known.start not in (known.pad, known.end):
        ids["bos_token"] = known.start
    return {key: tokens[index] for key, index in ids.items() if index is not None}


def write_pieces(task: Task, pieces: Sequence[Path], kind: str, out: Path) -> None:
    """The files of sentencepiece as they came, and the ids; `kind` is the class that opens them."""
    source, target = task.reader.tokenizer, task.writer.tokenizer
    for file in pieces:
        shutil.copy(file, out / file.name)
    separate = source.tokens() != target.tokens()
    for tokenizer, name in ((source, "vocab.json"), *([(target, "target_vocab.json")] if separate else [])):
        write_json(out / name, {token: index for index, token in enumerate(tokenizer.tokens())})
    special = {key: token for key, token in special_tokens(target).items() if key != "bos_token"}
    most = task.reader.config.max_length
    write_json(out / FILE, {"tokenizer_class": kind, "separate_vocabs": separate, "model_max_length": most, **special})


def write_backends(task: Task, out: Path, special: Mapping[str, str] = MappingProxyType({})) -> None:
    """The library's own files: one if both sides have the same tokenizer, else one for each; `special` are more tokens that
    the class which opens them should know by name."""
    source, target = task.reader.tokenizer, task.writer.tokenizer
    shared = source is target or text_of(source) == text_of(target)
    for side, tokenizer in {"": source}.items() if shared else {"source.": source, "target.": target}.items():
        backend, end = Backend.from_str(text_of(tokenizer)), tokenizer.vocabulary.end
        if task.reader.config.append_end:
            name = tokenizer.tokens()[end]
            backend.post_processor = processors.TemplateProcessing(single=f"$A {name}", special_tokens=[(name, end)])
        backend.save(str(out / f"{side}tokenizer.json"))
    write_json(out / FILE, {"tokenizer_class": "PreTrainedTokenizerFast", **special_tokens(target), **special})


def text_of(tokenizer: LearnedTokenizer | ImportedTokenizer) -> str:
    """The library's file of a tokenizer, without what it puts around a text."""
    backend = tokenizer.backend.to_str() if isinstance(tokenizer, ImportedTokenizer) else tokenizer.text()
    return json.dumps({**json.loads(backend), "post_processor": None})
