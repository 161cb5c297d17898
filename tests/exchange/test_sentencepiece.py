"""Models of sentencepiece: read without that library, they cut texts as it does, and give the ids of MarianTokenizer."""

import json
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import DataError
from saccade.exchange.exporting import export
from saccade.exchange.importing import import_model
from saccade.exchange.opening import load
from saccade.exchange.sentencepiece import backend

from .models import published

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece (of the dev extra) is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that are only compared with

TEXTS = [
    "Ein kleiner Hund läuft über die große Wiese.",
    "Two dogs are running; a third one – the smallest – sleeps.",
    "Die Katze schläft, während es draußen regnet und stürmt.",
    "How much wood would a woodchuck chuck, if a woodchuck could chuck wood?",
    "Zwei Männer spielen Schach im Park, drei Frauen sehen zu.",
    "The quick brown fox jumps over 13 lazy dogs & runs away!",
]
ODD = [
    "",
    "   ",
    "  zwei   Leerzeichen ",
    "Tab\tund\u00a0fest\u3000breit",
    "ﬁne ½ ｆｕｌｌ Ⅳ",
    "e\u0301le\u0300ve",
    "Небо и земля",
    "</s> <s> <unk> <pad>",
    "a▁b",
    "▁x  ▁▁ y▁",
    "😀👍🏽 ok",
    "x<sep>y <sep>",
    "\u0001\u200b",
]


def learned(path: Path, **options: Any) -> Path:
    """A small model of sentencepiece."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 3),
        model_prefix=str(path.with_suffix("")),
        vocab_size=options.pop("vocab_size", 120),
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    path.with_suffix(".model").rename(path)
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalization_rule_name": "identity"},
        {"add_dummy_prefix": False},
        {"remove_extra_whitespaces": False},
        {"user_defined_symbols": ["<sep>"]},
        {"split_by_whitespace": False},
        {"byte_fallback": True, "vocab_size": 400},
    ],
    ids=lambda options: "-".join(options) or "usual",
)
def test_texts_are_cut_as_sentencepiece_cuts_them(options: dict[str, Any], tmp_path: Path) -> None:
    path = learned(tmp_path / "one.spm", **options)
    wanted = sentencepiece.SentencePieceProcessor(model_file=str(path))
    found = backend(path)
    for text in [*TEXTS, *ODD]:
        pieces = found.encode(text, add_special_tokens=False).tokens
        assert pieces == wanted.encode(text, out_type=str), text
        assert pieces == [] or found.decoder.decode(pieces).strip() == wanted.decode_pieces(pieces).strip(), text


def test_other_models_and_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    pairs = learned(tmp_path / "pairs.spm", model_type="bpe")
    with pytest.raises(DataError, match="expected a unigram model of sentencepiece, got bpe"):
        backend(pairs)
    whole = learned(tmp_path / "whole.spm").read_bytes()
    (tmp_path / "half.spm").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.spm").write_text("no model at all")
    for name in ("half.spm", "text.spm", "none.spm"):
        with pytest.raises(DataError) as told:
            backend(tmp_path / name)
        assert name in str(told.value)
        assert "\n" not in str(told.value)


def directory(path: Path, *, separate: bool) -> None:
    """A published model with sentencepiece on both sides, and pieces that its vocabulary lacks."""
    path.mkdir()
    sides = {"source": learned(path / "source.spm"), "target": learned(path / "target.spm", vocab_size=90)}
    pieces = {}
    for side, file in sides.items():
        model = sentencepiece.SentencePieceProcessor(model_file=str(file))
        pieces[side] = [model.id_to_piece(index) for index in range(3, model.get_piece_size()) if index % 10]
    if not separate:
        both = list(dict.fromkeys([*pieces["source"], *pieces["target"]]))
        pieces = {"source": both, "target": both}
    ids = {
        side: {token: index for index, token in enumerate(["</s>", "<unk>", *own, ">>fra<<", "<pad>"])}
        for side, own in pieces.items()
    }
    sizes: dict[str, Any] = {"vocab_size": len(ids["source"]), "decoder_vocab_size": len(ids["target"])}
    ends: dict[str, Any] = dict.fromkeys(("pad_token_id", "decoder_start_token_id"), sizes["decoder_vocab_size"] - 1)
    published(path, share_encoder_decoder_embeddings=not separate, **sizes, **ends)
    (path / "tokenizer.json").unlink()
    (path / "vocab.json").write_text(json.dumps(ids["source"]))
    if separate:
        (path / "target_vocab.json").write_text(json.dumps(ids["target"]))
        (path / "tokenizer_config.json").write_text(json.dumps({"separate_vocabs": True}))


@pytest.mark.parametrize("separate", [False, True], ids=["one vocabulary", "two vocabularies"])
def test_ids_are_those_of_the_marian_tokenizer(separate: bool, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    directory(tmp_path / "published", separate=separate)
    import_model(tmp_path / "published", tmp_path / "run")
    task = load(tmp_path / "run").task
    source, target = task.reader.tokenizer, task.writer.tokenizer
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "published")
    assert {token: index for index, token in enumerate(source.tokens())} == tokenizer.encoder
    special = ["<s>", "</s>", "<pad>", "<unk>"]  # which texts can spell there, and not here
    texts = [*TEXTS, *(text for text in ODD if not any(mark in text for mark in special)), ">>fra<< Ein Hund", ">>xx<< ein"]
    unknown = 0
    for text in texts:
        for side, given in ((source, "text"), (target, "text_target")):
            assert side.encode(text) == tokenizer(**{given: text}).input_ids[:-1], text
            unknown += side.encode(text).count(side.vocabulary.unknown)
    assert unknown > 5
    assert task.reader.encode([TEXTS[0]]).rows[0][-1] == 0


def test_what_came_with_sentencepiece_leaves_with_it(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers (of the dev extra) is not installed")
    directory(tmp_path / "published", separate=False)
    import_model(tmp_path / "published", tmp_path / "run")
    model = load(tmp_path / "run")
    export(model, tmp_path / "out", "marian")
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.encoder == json.loads((tmp_path / "published" / "vocab.json").read_text())
    source, target = model.task.reader.tokenizer, model.task.writer.tokenizer
    for text in TEXTS:
        assert tokenizer(text).input_ids == [*source.encode(text), 0]
        ids = target.encode(text)
        decoded = tokenizer.decode(ids, skip_special_tokens=True)
        assert decoded == target.decode([index for index in ids if index != target.vocabulary.unknown])


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x02\x15\x00",  # a piece that is cut off
        b"\x0a\x05\x15" + bytes(4),  # a piece without a text
        b"\x0a\x02\x08\x05",  # a number as its text
        b"\x08\x05",  # a number as a piece
        b"\x0a\x07\x0a\x01a\x10\x03\x18\x01",  # a score that is no float
        b"\x08" + b"\xff" * 1_000_000,  # a number without an end: every byte of it would take longer than the last
        b"\x0a\x03\x0a\x01a\x1a\x04\x12\x02ab",  # rules that are none
    ],
)
def test_a_malformed_file_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.spm").write_bytes(data)
    with pytest.raises(DataError, match=r"bad\.spm: expected .* of sentencepiece .*; fix: download it again") as told:
        backend(tmp_path / "bad.spm")
    assert "\n" not in str(told.value)
