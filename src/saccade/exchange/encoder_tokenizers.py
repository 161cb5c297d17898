"""Tokenizers of published encoders: WordPiece of vocab.txt, byte pairs of vocab.json and merges.txt, pieces of spiece.model,
or tokenizer.json; and what sentence-transformers writes beside them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from saccade import inputs
from saccade.data.imported import ImportedTokenizer
from saccade.data.tokenizers import Backend, LearnedTokenizer, Vocabulary
from saccade.errors import DataError
from saccade.exchange import published, sentencepiece, tokenizer_files
from saccade.readers import pieces
from saccade.writers import vector

TOKENIZER, WORDPIECES, PAIRS, MERGES = "tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"
PIECES = "spiece.model"
POOLING, MODULES, SENTENCES = "1_Pooling/config.json", "modules.json", "sentence_bert_config.json"
BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
ROBERTA = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
XLNET = {"cls_token": "<cls>", "sep_token": "<sep>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
LONGEST = 1_000_000  # beyond, a model_max_length means that there is none


def bert(path: Path, size: int) -> ImportedTokenizer:
    """The tokenizer of a BERT."""
    names = _named(path, BERT)
    if (path / TOKENIZER).exists():
        return _made(path, published.backend(path / TOKENIZER), names, size)
    if not (path / WORDPIECES).exists():
        raise DataError(f"{path}: expected {TOKENIZER} or {WORDPIECES}, got neither; fix: download it, too")
    lines = inputs.text(path / WORDPIECES, published.AGAIN).splitlines()
    ids = {token: number for number, token in enumerate(lines) if token}
    if names["unk_token"] not in ids:
        raise DataError(f"{path / WORDPIECES}: expected a line {names['unk_token']}, got none; fix: {published.AGAIN}")
    table = _settings(path)
    lower = table.get("do_lower_case", True)
    backend = Backend(models.WordPiece(ids, unk_token=names["unk_token"], max_input_chars_per_word=100))
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=table.get("tokenize_chinese_chars", True),
        strip_accents=table.get("strip_accents"),
        lowercase=lower,
    )
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece("##")
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in names.values()])
    return _made(path, backend, names, size)


def roberta(path: Path, size: int) -> ImportedTokenizer:
    """The tokenizer of a RoBERTa."""
    names = _named(path, ROBERTA)
    if (path / TOKENIZER).exists():
        return _made(path, published.backend(path / TOKENIZER), names, size)
    if not all((path / name).exists() for name in (PAIRS, MERGES)):
        raise DataError(f"{path}: expected {TOKENIZER}, or {PAIRS} and {MERGES}, got neither; fix: download them, too")
    backend = published.byte_pairs(published.token_ids(path / PAIRS), path / MERGES)
    first = bool(_settings(path).get("add_prefix_space", False))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=first), decoders.ByteLevel()
    mask = names["mask_token"]
    backend.add_special_tokens(
        [AddedToken(token, special=True, normalized=False, lstrip=token == mask) for token in names.values()]
    )
    return _made(path, backend, names, size)


def xlnet(path: Path, size: int) -> ImportedTokenizer:
    """The tokenizer of an XLNet."""
    names = _named(path, XLNET)
    if (path / TOKENIZER).exists():
        return _made(path, published.backend(path / TOKENIZER), names, size)
    if not (path / PIECES).exists():
        raise DataError(f"{path}: expected {TOKENIZER} or {PIECES}, got neither; fix: download it, too")
    backend = sentencepiece.with_ids(path / PIECES)
    lower = [normalizers.Lowercase()] if _settings(path).get("do_lower_case", False) else []
    quotes = [normalizers.Replace(marks, '"') for marks in ("``", "''")]
    own = [] if backend.normalizer is None else [backend.normalizer]
    backend.normalizer = normalizers.Sequence([*quotes, normalizers.NFKD(), normalizers.StripAccents(), *lower, *own])
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    backend.decoder = decoders.Metaspace()
    mask = names["mask_token"]
    backend.add_special_tokens(
        [AddedToken(token, special=True, normalized=False, lstrip=token == mask) for token in names.values()]
    )
    return _made(path, backend, names, size)


def _settings(path: Path) -> Mapping[str, Any]:
    """What tokenizer_config.json says, if it is there."""
    file = path / tokenizer_files.FILE
    return published.json_table(file) if file.exists() else {}


def _named(path: Path, default: Mapping[str, str]) -> dict[str, str]:
    """The special tokens by their roles."""
    table = _settings(path)
    given = {key: table[key] for key in default if table.get(key)}
    return {**default, **{key: str(one["content"] if isinstance(one, Mapping) else one) for key, one in given.items()}}


def _made(path: Path, backend: Backend, names: Mapping[str, str], size: int) -> ImportedTokenizer:
    """The tokenizer with its special tokens by their ids. Ids that no token has are never written."""
    backend.no_truncation()
    backend.no_padding()
    ids = backend.get_vocab(with_added_tokens=True)
    missing = [token for token in names.values() if token not in ids]
    if missing:
        raise DataError(f"{path}: expected special tokens {', '.join(missing)} in the vocabulary, got none; fix: add them")
    if max(ids.values()) >= size:
        got = f"{size}, where the tokenizer has ids up to {max(ids.values())}"
        raise DataError(f"{path / published.CONFIG}: vocab_size: expected more than all ids, got {got}; {published.AGAIN}")
    tokens = {index: token for token, index in ids.items()}
    unnamed = tuple(index for index in range(size) if index not in tokens)
    vocabulary = Vocabulary(
        size=size,
        pad=ids[names["pad_token"]],
        start=ids[names["cls_token"]],
        end=ids[names["sep_token"]],
        unknown=ids[names["unk_token"]],
        mask=ids[names["mask_token"]],
        unwritten=unnamed,
    )
    return ImportedTokenizer(backend, [tokens.get(index, f"<{index}>") for index in range(size)], vocabulary)


def most(path: Path) -> int | None:
    """How many tokens are read at most, where a file says so."""
    for file, key in ((path / SENTENCES, "max_seq_length"), (path / tokenizer_files.FILE, "model_max_length")):
        found = published.json_table(file).get(key) if file.exists() else None
        if isinstance(found, int | float) and pieces.SPECIAL < found < LONGEST:
            return int(found)
    return None


def pooling(path: Path, *, pooler: bool) -> vector.Config:
    """How sentence-transformers makes a vector of a text, if it says so; else the mean, as it is."""
    table = published.json_table(path / POOLING) if (path / POOLING).exists() else {}
    try:
        steps = json.loads(inputs.text(path / MODULES, published.AGAIN)) if (path / MODULES).exists() else []
        normalized = any(str(step["type"]).endswith(".Normalize") for step in steps)
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path / MODULES}: expected a list of steps with a type each; fix: {published.AGAIN}") from None
    first = bool(table.get("pooling_mode_cls_token"))
    if table and not (first or table.get("pooling_mode_mean_tokens")):
        raise DataError(f"{path / POOLING}: expected the mean or the first token, got another pooling; no fix is known")
    return vector.Config(pool="first" if first else "mean", normalized=normalized, pooler=pooler)


def write(reader: pieces.Reader, out: Path) -> None:
    """The file of the library, which puts special tokens around texts, and their names."""
    tokenizer, known = reader.tokenizer, reader.vocabulary
    assert isinstance(tokenizer, LearnedTokenizer | ImportedTokenizer)
    names = tokenizer.tokens()
    start, end = names[known.start], names[known.end]
    backend = Backend.from_str(tokenizer_files.text_of(tokenizer))
    if isinstance(tokenizer, LearnedTokenizer) and known.mask is not None:  # in whose files no special token is declared
        spaced = tokenizer.kind != "char"
        backend.add_special_tokens([AddedToken(names[known.mask], special=True, normalized=False, lstrip=spaced)])
    between = f" {end}:1" if reader.config.double_separator else ""
    first, last = ("", f" {start}:2") if reader.config.class_last else (f"{start} ", "")
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first}$A {end}{last}",
        pair=f"{first}$A {end}{between} $B:1 {end}:1{last}",
        special_tokens=[(start, known.start), (end, known.end)],
    )
    backend.save(str(out / TOKENIZER))
    ids: dict[str, int | None] = {"cls_token": known.start, "sep_token": known.end, "pad_token": known.pad}
    ids |= {"unk_token": known.unknown, "mask_token": known.mask}
    special = {key: names[index] for key, index in ids.items() if index is not None}
    side = {"padding_side": "left"} if reader.config.class_last else {}
    published.write_json(
        out / tokenizer_files.FILE,
        {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": reader.config.max_length, **side, **special},
    )
