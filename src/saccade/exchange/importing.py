"""A directory of published weights becomes a run that can be asked, looked into and scored."""

import json
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from saccade import inputs
from saccade.config import build, plain
from saccade.data.formats.text_files import SURROGATE
from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import SPECIALS, UNKNOWN, Backend, learned_layout
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
Sides = tuple[ImportedTokenizer, ImportedTokenizer, Vocabulary, Vocabulary]


def import_marian(path: Path, out: Path) -> Run:
    """The run in `out` that is the Marian model in `path`."""
    table = _json(path / "config.json")
    told = marian.published(table, path / "config.json")
    said = _said(path, table)
    search = _search(said, told)
    given = _weights(path)
    config = marian.config_of(told)
    _require_rows(path, told, given)
    source, target, source_rows, target_rows = _sides(path, told)
    ends = "end" if _ends(path, told) else "open"
    words = {"metric": "bleu", "longest": max(1, config.longest - 1), "source_ends": ends}
    task_config = build(TaskConfig, words, "task")
    task = Task(task_config, source, target)
    with torch.device("meta"):  # sizes that the weights do not have would fill the memory
        wanted = Model(config, **task.sizes()).state_dict()
    banned = _banned(path, said("bad_words_ids", ()))
    arranged = _arranged(path / WEIGHTS, wanted, given, source_rows, target_rows, banned)
    model = Model(config, **task.sizes())
    model.load_state_dict(arranged)
    settings = resolve(
        {
            "system": "transformer",
            "model": plain(config),
            "tokens": {"kind": "imported", "size": max(source.size, target.size)},
            "task": plain(task_config),
            "search": search,
        }
    )
    _require_empty(out)
    with locked(out):
        run = Run.create(out, settings).keep(lambda folder: _save(task, path, folder))
        run.checkpoints.save(0, {"model": model.state_dict()}, {"imported": str(path.resolve())}, best=True)
    return run


def _save(task: Task, path: Path, folder: Path) -> None:
    """The tokenizers, and the files that they were made from, which an export hands on."""
    task.save(folder)
    for name in SPM:
        if (path / name).exists():
            shutil.copyfile(path / name, folder / name)


def _require_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(child.name != ".lock" for child in out.iterdir())):
        raise UsageError(f"{out}: expected a new or empty directory for the run, got one in use; choose another --out")


def _json(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(inputs.text(path, "download it again"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); name the directory of a MarianMTModel") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); fix: download it again") from None
    if not isinstance(table, dict):
        raise DataError(f"{path}: expected a JSON object, got {type(table).__name__}; fix: download it again")
    return table


def _ids(path: Path) -> dict[str, int]:
    """A vocabulary: tokens and their ids."""
    table = _json(path)
    for token, index in table.items():
        if type(index) is not int or index < 0 or SURROGATE.search(token):
            got = f"{index!r:.40} for {token[:40]!r}"
            raise DataError(f"{path}: expected whole numbers from 0 on as ids of texts, got {got}; fix: download it again")
    return table


def _weights(path: Path) -> dict[str, Tensor]:
    file = path / WEIGHTS
    if not file.exists():
        got = "pytorch_model.bin, which may run code" if (path / "pytorch_model.bin").exists() else "none"
        fix = f'python -c "{CONVERT.format(path)}"'
        raise DataError(f"{path}: expected {WEIGHTS}, got {got}; convert it: {fix}")
    try:
        inputs.require_regular(file, "download it again")
        return load_file(file)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{file}: cannot be read ({error}); fix: download it again") from None


def _require_rows(path: Path, told: marian.Published, given: Mapping[str, Tensor]) -> None:
    """Vocabularies that are not those of the weights are refused before they are listed."""
    sizes = {"source": ("vocab_size", told.vocab_size)}
    sizes["target"] = ("decoder_vocab_size", told.decoder_vocab_size) if told.decoder_vocab_size else sizes["source"]
    for side, (field, size) in sizes.items():
        matrix = marian.found(f"{side}_embedding.weight", given)
        if matrix.dim() != 2 or len(matrix) != size:
            got = f"{size}, where {WEIGHTS} has a matrix of {tuple(matrix.shape)}"
            raise DataError(f"{path / 'config.json'}: {field}: expected as many as rows, got {got}; fix: download it again")


def _arranged(
    file: Path,
    wanted: Mapping[str, Tensor],
    given: Mapping[str, Tensor],
    source: Vocabulary,
    target: Vocabulary,
    banned: Collection[int],
) -> dict[str, Tensor]:
    """The weights under our names, those of tokens in our order; `wanted` tells what shapes they must have."""
    marian.check(given, wanted)
    found = {name: marian.found(name, given) for name in wanted}
    of_tokens = {"target_embedding.weight": target, "output.weight": target, "source_embedding.weight": source}
    for name, tensor in wanted.items():
        expected = (of_tokens[name].size, *tensor.shape[1:]) if name in of_tokens else tuple(tensor.shape)
        expected = (1, target.size) if name == "output.bias" else expected
        if (got := tuple(found[name].shape)) != expected:
            raise DataError(
                f"{file}: {marian.their_name(name)}: expected {expected}, got {got}; fix: take config.json of it"
            )
    for name, vocabulary in of_tokens.items():
        found[name] = vocabulary.arranged(found[name])
    found["output.bias"] = target.biases(found["output.bias"][0], banned)
    return found


def _banned(path: Path, rows: Sequence[Sequence[int]]) -> set[int]:
    """Ids that the model must never write; a ban of several tokens in a row has no counterpart here."""
    for row in rows:
        if len(row) != 1:
            fix = f"leave it out of {path / 'generation_config.json'}"
            raise DataError(f"{path}: bad_words_ids: expected single tokens, got {list(row)}; fix: {fix}")
    return {row[0] for row in rows}


def _sides(path: Path, table: marian.Published) -> Sides:
    """Tokenizers and vocabularies of both sides."""
    size, target_size = table.vocab_size, table.decoder_vocab_size or table.vocab_size
    if all((path / name).exists() for name in (*SPM, "vocab.json")):
        backends = [sentencepiece.backend(path / name) for name in SPM]
        own = path / "target_vocab.json"
        ids = [_ids(path / "vocab.json"), _ids(own if own.exists() else path / "vocab.json")]
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
    where = f"{path / 'config.json'}: "
    target = in_our_order(ids[1], _special(path, ids[1], table), target_size, where)
    # Of a vocabulary of its own, what is special to the reader is known by its name.
    source = target if ids[0] == ids[1] else in_our_order(ids[0], _special(path, ids[0], table, named=True), size, where)
    made = [
        ImportedTokenizer(backend, side.tokens, learned_layout(len(side.tokens)), language_codes=True)
        for backend, side in zip(backends, (source, target), strict=True)
    ]
    return made[0], made[1], source, target


def _ends(path: Path, table: marian.Published) -> bool:
    """Whether a source ends with the token of the end: always with sentencepiece, else if its tokenizer puts it there."""
    for name in ("tokenizer.json", "source.tokenizer.json"):
        if (path / name).exists() and not (path / SPM[0]).exists():
            return _backend(path / name).encode("a").ids[-1:] == [table.eos_token_id]
    return True


def _special(path: Path, ids: Mapping[str, int], table: marian.Published, *, named: bool = False) -> Special:
    if SPECIALS[UNKNOWN] not in ids:
        raise DataError(f"{path}: expected a token {SPECIALS[UNKNOWN]} in the vocabulary, got none; fix: add it")
    pad, end, start = table.pad_token_id, table.eos_token_id, table.decoder_start_token_id
    if named:
        pad, end = ids.get("<pad>", pad), ids.get("</s>", end)
        start = ids.get("<s>", pad)
    return Special(pad, start, end, ids[SPECIALS[UNKNOWN]])


def _backend(path: Path) -> Backend:
    try:
        inputs.require_regular(path, "download it again")
        return Backend.from_file(str(path))
    except DataError:
        raise
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        raise DataError(f"{path}: not a tokenizer ({' '.join(str(error).split())[:200]}); fix: download it again") from None


def _said(path: Path, table: Mapping[str, Any]) -> Callable[[str, Any], Any]:
    """What is said of how the model writes: by generation_config.json or, in older ones, config.json; null says nothing."""
    own = path / "generation_config.json"
    older = marian.fields(marian.Generation, table, path / "config.json")
    newer = marian.fields(marian.Generation, _json(own), own) if own.exists() else older

    def said(key: str, default: Any) -> Any:
        values = (getattr(source, key) for source in (newer, older))
        return next((value for value in values if value is not None), default)

    return said


def _search(said: Callable[[str, Any], Any], told: marian.Published) -> dict[str, Any]:
    """The search that the model was published with."""
    beam, places = said("num_beams", 1), told.max_position_embeddings
    words = {"max_length": max(1, min(said("max_length", places), places) - 1)}  # theirs counts the start, too
    if beam > 1:
        return {**words, "method": "beam", "beam": beam, "length_penalty": max(0.0, said("length_penalty", 1.0))}
    if said("do_sample", False):
        defaults = {"temperature": 1.0, "top_k": 50, "top_p": 1.0}  # the library's
        return {**words, "method": "sample", **{key: said(key, value) for key, value in defaults.items()}}
    return {**words, "method": "greedy"}
