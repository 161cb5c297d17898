"""A directory of published weights becomes a run that can be asked, looked into and scored."""

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from saccade.config import build, plain
from saccade.data.imported import Imported
from saccade.data.tokenizers import SPECIALS, UNKNOWN, Backend
from saccade.errors import DataError, UsageError
from saccade.exchange import marian, sentencepiece
from saccade.exchange.vocabulary import Special, Vocabulary, in_our_order
from saccade.systems.transformer import Model
from saccade.tasks.text_to_text import Config as TaskConfig
from saccade.tasks.text_to_text import Task
from saccade.training.lock import locked
from saccade.training.run import Run
from saccade.training.settings import resolve

SPM = ("source.spm", "target.spm")
WEIGHTS = "model.safetensors"
CONVERT = "from transformers import MarianMTModel as M; M.from_pretrained('{0}').save_pretrained('{0}')"
Sides = tuple[Imported, Imported, Vocabulary, Vocabulary]


def import_marian(path: Path, out: Path) -> Run:
    """The run in `out` that is the Marian model in `path`."""
    table = {**_defaults(), **_json(path / "config.json")}
    given = _weights(path)
    config = marian.config_of(table)
    source, target, source_rows, target_rows = _sides(path, table)
    generation = _json(path / "generation_config.json") if (path / "generation_config.json").exists() else {}
    ends = "end" if _ends(path, table) else "open"
    words = {"metric": "bleu", "longest": max(1, config.longest - 1), "source_ends": ends}
    task_config = build(TaskConfig, words, "task")
    task = Task(task_config, source, target)
    model = Model(config, **task.sizes())
    banned = _banned({**table, **generation})
    model.load_state_dict(_arranged(model.state_dict(), given, source_rows, target_rows, banned))
    settings = resolve(
        {
            "system": "transformer",
            "model": plain(config),
            "tokens": {"kind": "imported", "size": max(source.size, target.size)},
            "task": plain(task_config),
            "search": _search({**table, **generation}),
        }
    )
    _require_empty(out)
    with locked(out):
        run = Run.create(out, settings)
        task.save(out)
        for name in SPM:
            if (path / name).exists():
                shutil.copy(path / name, out / name)
        run.checkpoints.save(0, {"model": model.state_dict()}, {"imported": str(path.resolve())}, best=True)
    return run


def _require_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(child.name != ".lock" for child in out.iterdir())):
        raise UsageError(f"{out}: expected a new or empty directory for the run, got one in use; choose another --out")


def _defaults() -> dict[str, Any]:
    """What a config.json leaves out because it is the library's default."""
    return {
        "max_position_embeddings": 1024,
        **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in (("layers", 12), ("ffn_dim", 4096))},
        **{f"{side}_attention_heads": 16 for side in ("encoder", "decoder")},
        "d_model": 1024,
        "vocab_size": 58101,
        "pad_token_id": 58100,
        "eos_token_id": 0,
        "decoder_start_token_id": 58100,
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); name the directory of a MarianMTModel") from None
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); fix: download it again") from None
    if not isinstance(table, dict):
        raise DataError(f"{path}: expected a JSON object, got {type(table).__name__}; fix: download it again")
    return table


def _weights(path: Path) -> dict[str, Tensor]:
    file = path / WEIGHTS
    if not file.exists():
        got = "pytorch_model.bin, which may run code" if (path / "pytorch_model.bin").exists() else "none"
        fix = f'python -c "{CONVERT.format(path)}"'
        raise DataError(f"{path}: expected {WEIGHTS}, got {got}; convert it: {fix}")
    try:
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{file}: cannot be read ({error}); fix: download it again") from None


def _arranged(
    wanted: Mapping[str, Tensor],
    given: Mapping[str, Tensor],
    source: Vocabulary,
    target: Vocabulary,
    banned: Collection[int],
) -> dict[str, Tensor]:
    """The weights under our names, those of tokens in our order."""
    marian.check(given, wanted)
    found = {name: marian.found(name, given) for name in wanted}
    for name in ("target_embedding.weight", "output.weight"):
        found[name] = target.arranged(found[name])
    found["source_embedding.weight"] = source.arranged(found["source_embedding.weight"])
    found["output.bias"] = target.biases(found["output.bias"][0], banned)
    for name, tensor in wanted.items():
        if found[name].shape != tensor.shape:
            expected, got = tuple(tensor.shape), tuple(found[name].shape)
            raise DataError(
                f"{WEIGHTS}: {marian.their_name(name)}: expected {expected}, got {got}; fix: take config.json of it"
            )
    return found


def _banned(table: Mapping[str, Any]) -> set[int]:
    """Ids that the model must never write; a ban of several tokens in a row has no counterpart here."""
    rows = table.get("bad_words_ids") or []
    for row in rows:
        if len(row) != 1:
            raise DataError(f"bad_words_ids: expected single tokens, got {row}; fix: leave it out of generation_config.json")
    return {row[0] for row in rows}


def _sides(path: Path, table: Mapping[str, Any]) -> Sides:
    """Tokenizers and vocabularies of both sides."""
    size, target_size = table["vocab_size"], table.get("decoder_vocab_size") or table["vocab_size"]
    if all((path / name).exists() for name in (*SPM, "vocab.json")):
        backends = [sentencepiece.backend(path / name) for name in SPM]
        own = path / "target_vocab.json"
        ids = [_json(path / "vocab.json"), _json(own if own.exists() else path / "vocab.json")]
    elif (path / "tokenizer.json").exists():
        backends = [_backend(path / "tokenizer.json")] * 2
        ids = [backends[0].get_vocab(with_added_tokens=True)] * 2
    elif all((path / f"{side}.tokenizer.json").exists() for side in ("source", "target")):
        backends = [_backend(path / f"{side}.tokenizer.json") for side in ("source", "target")]
        ids = [backend.get_vocab(with_added_tokens=True) for backend in backends]
    else:
        raise DataError(
            f"{path}: expected source.spm, target.spm and vocab.json, or tokenizer.json; fix: download them, too"
        )
    target = in_our_order(ids[1], _special(path, ids[1], table), target_size)
    # Of a vocabulary of its own, what is special to the reader is known by its name.
    source = target if ids[0] == ids[1] else in_our_order(ids[0], _special(path, ids[0], table, named=True), size)
    return Imported(backends[0], source.tokens), Imported(backends[1], target.tokens), source, target


def _ends(path: Path, table: Mapping[str, Any]) -> bool:
    """Whether a source ends with the token of the end: always with sentencepiece, else if its tokenizer puts it there."""
    for name in ("tokenizer.json", "source.tokenizer.json"):
        if (path / name).exists() and not (path / SPM[0]).exists():
            return _backend(path / name).encode("a").ids[-1:] == [table["eos_token_id"]]
    return True


def _special(path: Path, ids: Mapping[str, int], table: Mapping[str, Any], *, named: bool = False) -> Special:
    if SPECIALS[UNKNOWN] not in ids:
        raise DataError(f"{path}: expected a token {SPECIALS[UNKNOWN]} in the vocabulary, got none; fix: add it")
    pad, end, start = (table[f"{name}_token_id"] for name in ("pad", "eos", "decoder_start"))
    if named:
        pad, end = ids.get("<pad>", pad), ids.get("</s>", end)
        start = ids.get("<s>", pad)
    return Special(pad, start, end, ids[SPECIALS[UNKNOWN]])


def _backend(path: Path) -> Backend:
    try:
        return Backend.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        raise DataError(f"{path}: not a tokenizer ({' '.join(str(error).split())[:200]}); fix: download it again") from None


def _search(table: Mapping[str, Any]) -> dict[str, Any]:
    """The search that the model was published with."""
    beam, places = table.get("num_beams") or 1, table["max_position_embeddings"]
    longest = min(table.get("max_length") or places, places)
    words = {"max_length": max(1, longest - 1)}  # theirs counts the start, too
    if beam > 1:
        penalty = _said(table, "length_penalty", 1.0)
        return {**words, "method": "beam", "beam": beam, "length_penalty": max(0.0, penalty)}
    if table.get("do_sample"):
        defaults = {"temperature": 1.0, "top_k": 50, "top_p": 1.0}  # the library's
        return {**words, "method": "sample", **{key: _said(table, key, value) for key, value in defaults.items()}}
    return {**words, "method": "greedy"}


def _said(table: Mapping[str, Any], key: str, default: Any) -> Any:
    """What a table says; null says nothing."""
    return default if table.get(key) is None else table[key]
