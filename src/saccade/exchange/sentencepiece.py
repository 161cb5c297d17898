"""A model file of sentencepiece (Kudo and Richardson 2018) as a tokenizer that cuts texts into the same pieces.

The file is a protobuf message (sentencepiece_model.proto); the few fields that are needed are read here. Pieces that
sentencepiece never finds in a text, such as `</s>`, are left out: ids come from elsewhere, so that no place must be kept.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers

from saccade.data.tokenizers import Backend
from saccade.errors import DataError
from saccade.inputs import require_regular

NORMAL, UNKNOWN, USER_DEFINED, BYTE = 1, 2, 4, 6  # types of pieces
UNIGRAM = 1  # type of a model
TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
SPACE = "▁"
NOBODY = "\ue000"  # stands for what is unknown, and is never looked up: the piece itself is
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
LONGEST_VARINT = 63  # bits


@dataclass
class PieceModel:
    """What a file says: pieces with their log-probabilities and types, and how texts are normalized first."""

    pieces: list[tuple[str, float, int]] = field(default_factory=list)
    kind: int = UNIGRAM
    characters: bytes = b""
    prefix: bool = True
    squeeze: bool = True
    suffix: bool = False


def backend(path: Path) -> Backend:
    """The tokenizer of a file."""
    return _opened(path, _built)


def with_ids(path: Path) -> Backend:
    """The pieces of a file, each at its place there, and the file's own rules for characters; no more."""
    return _opened(path, _in_place)


def _opened(path: Path, make: Callable[[PieceModel], Backend]) -> Backend:
    try:
        require_regular(path, "download it again")
        model = _model(path.read_bytes())
    except (OSError, ValueError, TypeError, AttributeError, LookupError, struct.error) as error:
        raise DataError(f"{path}: expected a model of sentencepiece ({error}); fix: download it again") from None
    if not model.pieces or model.kind != UNIGRAM or model.suffix:
        kind = "spaces as suffixes" if model.suffix else TYPES.get(model.kind, "nothing") if model.pieces else "no pieces"
        raise DataError(f"{path}: expected a unigram model of sentencepiece, got {kind}; only unigram can be imported")
    try:
        return make(model)
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: expected rules and scores of sentencepiece ({reason}); fix: download it again") from None


def _built(model: PieceModel) -> Backend:
    built = Backend(models.Unigram(_scored(model), 0, any(kind == BYTE for _, _, kind in model.pieces)))
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(model.characters)] if model.characters else []
    if model.squeeze:
        steps += [
            normalizers.Replace(tokenizers.Regex(f"^ +|[ {SPACE}]+$"), ""),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    # The pre-tokenizer that is meant for spaces puts none before a text that begins with one; sentencepiece does.
    steps += [normalizers.Prepend(SPACE)] if model.prefix else []
    built.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", SPACE)])
    spaces = decoders.Metaspace(replacement=SPACE, prepend_scheme="always" if model.prefix else "never")
    built.decoder = decoders.Sequence([decoders.ByteFallback(), spaces])
    return built


def _in_place(model: PieceModel) -> Backend:
    unknown = next(place for place, (_, _, kind) in enumerate(model.pieces) if kind == UNKNOWN)
    built = Backend(models.Unigram([(piece, score) for piece, score, _ in model.pieces], unknown, False))
    if model.characters:
        built.normalizer = normalizers.Precompiled(model.characters)
    return built


def _scored(model: PieceModel) -> list[tuple[str, float]]:
    """Pieces and scores; one of the user's own scores about as many of the best pieces as it has letters."""
    best = max((score for _, score, kind in model.pieces if kind == NORMAL), default=0.0)
    scores = {
        piece: len(piece) * best - 0.1 if kind == USER_DEFINED else score
        for piece, score, kind in model.pieces
        if kind in (NORMAL, USER_DEFINED, BYTE)
    }
    return [(NOBODY, 0.0), *scores.items()]


def _model(data: bytes) -> PieceModel:
    model = PieceModel()
    for number, value in _fields(data):
        if number == 1:
            model.pieces.append(_piece(value))
        elif number == 2:
            trainer = dict(_fields(value))
            model.kind, model.suffix = trainer.get(3, UNIGRAM), bool(trainer.get(24, 0))
        elif number == 3:
            rules = dict(_fields(value))
            model.characters = rules.get(2, b"")
            model.prefix, model.squeeze = bool(rules.get(3, 1)), bool(rules.get(4, 1))
    return model


def _piece(data: bytes) -> tuple[str, float, int]:
    table = dict(_fields(data))
    return table[1].decode(), struct.unpack("<f", table.get(2, bytes(4)))[0], table.get(3, NORMAL)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number and value, an integer or bytes."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        if key & 7 == VARINT:
            value, place = _varint(data, place)
            yield key >> 3, value
            continue
        if key & 7 not in (FIXED64, BYTES, FIXED32):
            raise ValueError(f"a field of type {key & 7} at byte {place}")
        size, place = _varint(data, place) if key & 7 == BYTES else (8 if key & 7 == FIXED64 else 4, place)
        if place + size > len(data):
            raise ValueError("the file is cut off")
        yield key >> 3, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """An integer in groups of seven bits, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
        if shift > LONGEST_VARINT:
            raise ValueError(f"a number without an end at byte {place}")
