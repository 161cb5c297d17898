"""Tokenizers by character, word or byte pair, learned from a run's own texts and kept with it as `tokenizer.json`.

The file is that of the Hugging Face `tokenizers` library; opened there, it gives the same ids. In every kind a mark such
as `<de_DE>` that occurs in the training texts is one token; a mark that was not learned is spelled like any other text.

No text becomes a special token: `</s>` written in the data is spelled as `<`, `/`, `s` and `>`. Only the code that builds
batches puts padding, start and end there, which is why the file does not declare them as tokens to be found in texts.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, Protocol

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from saccade.config import Positive
from saccade.data.stored import preparations
from saccade.data.stored.text_parts import TextParts, are_stored, name_of_learned, spread
from saccade.errors import DataError, SaccadeError, UsageError

# The layout of learned tokenizers; imported ones have that of their family.
PAD, START, END, UNKNOWN = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
# What follows them where a tokenizer has a token to fill in. No text is cut so: it is neither a character nor a word nor a
# mark, and byte pairs come after all bytes.
MASK, MASKED = 4, "[MASK]"
MARK = re.compile(r"<(?!(?:pad|s|unk)>)[A-Za-z][A-Za-z0-9_-]*>")
# do|n't, it|'s and 16.95 as the Penn Treebank cuts them, whether a space stands between or not; ’ is read as '
WORD = r"\w+(?=(?i:n't)\b)|(?i:n't)\b|'(?i:s|m|d|ll|re|ve)\b|\d+(?:[.,]\d+)+|\w+|[^\w\s]"
CURLED, STRAIGHT = "’", "'"
BYTES = 256
FILE = "tokenizer.json"
LAYOUT = 2  # of what is learned; another number has all stored texts learned from anew
TOGETHER = 2000  # texts that are encoded at once
ENOUGH = 1_000_000  # stored texts beyond which byte pairs are learned from a share of them: more take only time and memory

Kind = Literal["char", "word", "bpe"]
Backend = tokenizers.Tokenizer


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The number of ids, and those of the special tokens. Several may have one id; None means there is no such token."""

    size: int
    pad: int
    start: int
    end: int
    unknown: int | None = None
    mask: int | None = None
    unwritten: tuple[int, ...] = ()
    """Other tokens that are never written: those that a published model is told to leave out."""

    def __post_init__(self) -> None:
        special = (self.pad, self.start, self.end, self.unknown, self.mask, *self.unwritten)
        if any(token is not None and not 0 <= token < self.size for token in special):
            raise UsageError(f"special tokens: expected ids from 0 to {self.size - 1}, got {self}")

    @property
    def special(self) -> tuple[int, ...]:
        """The ids of all special tokens."""
        known = (self.pad, self.start, self.end, self.unknown, self.mask)
        return tuple(sorted({token for token in known if token is not None}))

    @property
    def banned(self) -> tuple[int, ...]:
        """What is never written: padding, start, mask and what is said to be unwritten, unless one of them is the end."""
        never = (self.pad, self.start, self.mask, *self.unwritten)
        return tuple(sorted({token for token in never if token not in (self.end, None)}))


class Tokenizer(Protocol):
    """Texts as ids and back, learned or imported."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The number of ids, and those of the special tokens."""
        ...

    @property
    def size(self) -> int:
        """The number of ids."""
        ...

    @property
    def marks(self) -> Sequence[str]:
        """The marks such as `<de_DE>` that are one token each, without their brackets."""
        ...

    @property
    def cuttable(self) -> bool:
        """Whether the ids of a text are those of its pieces, where it is cut after a newline between two other letters."""
        ...

    def tokens(self) -> list[str]:
        """The tokens by their ids, as the file spells them."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start or end."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; padding, start and end are left out."""
        ...

    def pieces(self, text: str) -> list[str]:
        """The part of the text behind each id of `encode`, also where that is the unknown token."""
        ...

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where in the text the part behind each id of `encode` begins and ends."""
        ...

    def labels(self, ids: Sequence[int]) -> list[str]:
        """Each id as text, special tokens by their name."""
        ...

    def text(self) -> str:
        """What its file says."""
        ...

    def save(self, path: Path) -> None:
        """Writes a file that `saccade.data.imported.load` reads."""
        ...


def encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> Iterator[list[int]]:
    """The ids of each text; not those of all are in memory at once."""
    for start in range(0, len(texts), TOGETHER):
        yield from tokenizer.encode_batch(list(texts[start : start + TOGETHER]))


def unknown_places(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """Which of these tokens are unknown to the tokenizer."""
    unknown = tokenizer.vocabulary.unknown
    return [place for place, token in enumerate(ids) if unknown is not None and token == unknown]


def learned_layout(size: int, *, masked: bool = False) -> Vocabulary:
    """The vocabulary of a learned tokenizer, with a token to fill in or without."""
    return Vocabulary(size=size, pad=PAD, start=START, end=END, unknown=UNKNOWN, mask=MASK if masked else None)


@dataclass(frozen=True, kw_only=True)
class Config:
    """How texts become ids."""

    kind: Literal["char", "word", "bpe", "imported"] = "char"
    """char: each Unicode code point; word: runs of letters and digits, each punctuation mark, and do|n't, it|'s, 16.95;
    bpe: byte pairs; imported: those that came with published weights (`saccade import`), which are not learned here.
    Systems that label texts or read sets take word by default."""
    size: Positive = 8000
    """Largest vocabulary, special tokens included; of bpe the size aimed at."""
    min_count: Positive = 1
    """How often something must occur to be learned."""
    lower: bool = False
    """Whether texts are turned to lower case first."""


class _Read:
    """Texts as a tokenizer reads them, of which the listener is told."""

    def __init__(self, texts: Iterable[str], lower: bool) -> None:
        self.texts, self.lower = texts, lower

    def __iter__(self) -> Iterator[str]:
        return (prepared(text, self.lower) for text in preparations.followed(self.texts, "learning a tokenizer", 0))


def train(texts: Iterable[str], config: Config, *, masked: bool = False) -> "LearnedTokenizer":
    """The tokenizer of these texts, perhaps with a token to fill in; the same texts give the same file, byte for byte. Of
    stored texts it is learned once."""
    specials = (*SPECIALS, MASKED) if masked else SPECIALS
    if not are_stored(texts):
        return _learned_from(texts, config, specials)
    name = name_of_learned(texts, LAYOUT, [asdict(config), masked], tokenizers.__version__)
    folder = preparations.prepared(name, lambda folder: _learned_from(texts, config, specials).save(folder / FILE))
    return LearnedTokenizer.load(folder / FILE)


def _learned_from(texts: Iterable[str], config: Config, specials: Sequence[str]) -> "LearnedTokenizer":
    if config.kind == "imported":
        raise UsageError("tokens.kind: imported tokenizers are not learned; expected char, word or bpe")
    least = len(specials) + (BYTES if config.kind == "bpe" else 1)
    if config.size < least:
        raise UsageError(f"size of the tokenizer: expected at least {least} for {config.kind}, got {config.size}")
    read = _Read(texts if isinstance(texts, TextParts | Sequence) else list(texts), config.lower)
    if not any(read):
        count = sum(1 for _ in read)
        raise DataError(f"nothing to learn a tokenizer from: expected text, got {count} texts, all empty")
    if config.kind == "bpe":
        some = _Read(spread(read.texts, ENOUGH), config.lower)
        vocabulary, merges = _learn_pairs(some, _counted_marks(read), config, specials)
    else:
        vocabulary, merges = _learn_pieces(read, config, specials), []
    return LearnedTokenizer(_backend(config.kind, config.lower, vocabulary, merges), config.kind, config.lower)


def prepared(text: str, lower: bool = False) -> str:
    """The text as a tokenizer reads it; what is not Unicode is refused."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"half a surrogate pair, {text[error.start]!r}, at character {error.start + 1}"
        raise DataError(f"expected Unicode text, got {half}; fix: decode the text as UTF-8") from None
    # Python alone writes a capital sigma at the end of a word as ς; letter by letter, as the library does, it is σ.
    return text.replace("Σ", "σ").lower() if lower else text


def check_ids(ids: Sequence[int], size: int) -> None:
    """Refuse ids that are not in the vocabulary."""
    if len(ids) and not (min(ids) >= 0 and max(ids) < size):
        raise SaccadeError(f"expected ids from 0 to {size - 1}, got {min(ids)} to {max(ids)}")


def _split(text: str, marks: AbstractSet[str]) -> list[str]:
    """The text cut at these marks: text, mark, text, …, mark, text."""
    parts, start = [], 0
    for match in MARK.finditer(text) if "<" in text else ():
        if match[0] in marks:
            parts += [text[start : match.start()], match[0]]
            start = match.end()
    return [*parts, text[start:]]


def _frequent(counts: Mapping[str, int], config: Config) -> list[str]:
    """What occurs often enough, the most frequent first, equals by their text."""
    enough = (item for item in counts.items() if item[1] >= config.min_count)
    return [text for text, _ in sorted(enough, key=lambda item: (-item[1], item[0]))]


def _counted_marks(texts: Iterable[str]) -> Counter[str]:
    return Counter(mark for text in texts if "<" in text for mark in MARK.findall(text))


def _learn_pieces(texts: Iterable[str], config: Config, specials: Sequence[str]) -> dict[str, int]:
    """The vocabulary of characters or words."""
    marks = _counted_marks(texts)
    kept = set(_frequent(marks, config))
    words = _pre_tokenizer("word")
    counts = Counter({mark: marks[mark] for mark in kept})
    for text in texts:
        for part in _split(text, kept)[::2]:
            plain = part.replace(CURLED, STRAIGHT)
            counts.update(part if config.kind == "char" else [word for word, _ in words.pre_tokenize_str(plain)])
    learned = _frequent(counts, config)[: config.size - len(specials)]
    if not learned:
        raise DataError(f"no {config.kind} occurs {config.min_count} times; fix: more text or a smaller min_count")
    return {token: index for index, token in enumerate([*specials, *learned])}


def _learn_pairs(
    texts: Iterable[str], found: Mapping[str, int], config: Config, specials: Sequence[str]
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary of byte pairs, special tokens and marks first, and the pairs that are merged, in their order."""
    marks = _frequent(found, config)[: config.size - len(specials) - BYTES]
    learner = Backend(models.BPE())
    learner.pre_tokenizer = _pre_tokenizer("bpe")
    trainer = trainers.BpeTrainer(
        vocab_size=config.size,
        min_frequency=config.min_count,
        special_tokens=[*specials, *marks],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    kept = set(marks)
    learner.train_from_iterator((part for text in texts for part in _split(text, kept)[::2]), trainer)
    return _learned(json.loads(learner.to_str()))


def _learned(table: dict[str, Any]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of a file's table."""
    model = table["model"]
    return model["vocab"], [(left, right) for left, right in model.get("merges", [])]


def _pre_tokenizer(kind: Kind) -> pre_tokenizers.PreTokenizer:
    if kind == "char":
        return pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    if kind == "word":
        return pre_tokenizers.Split(tokenizers.Regex(WORD), "removed", invert=True)
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


def _backend(kind: Kind, lower: bool, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Backend:
    """The library's tokenizer. Marks are declared, and not as special: `decode` there would leave special tokens out."""
    if kind == "bpe":
        backend = Backend(models.BPE(vocab=vocabulary, merges=merges))
        backend.decoder = decoders.ByteLevel()
    else:
        backend = Backend(models.WordLevel(vocabulary, unk_token=SPECIALS[UNKNOWN]))
        if kind == "char":
            backend.decoder = decoders.Fuse()
    backend.pre_tokenizer = _pre_tokenizer(kind)
    small: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lower else []
    if kind == "word":
        backend.normalizer = normalizers.Sequence([normalizers.Replace(CURLED, STRAIGHT), *small])
    elif lower:
        (backend.normalizer,) = small
    marks = sorted(filter(MARK.fullmatch, vocabulary), key=vocabulary.__getitem__)
    backend.add_tokens([tokenizers.AddedToken(mark, normalized=lower, special=False) for mark in marks])
    return backend


def _opened(text: str) -> "LearnedTokenizer":
    """The tokenizer of a file's text; ValueError if `train` cannot have made it."""
    backend = Backend.from_str(text)
    table = json.loads(backend.to_str())
    plain: Kind = "word" if table["decoder"] is None else "char"
    kind: Kind = "bpe" if table["model"]["type"] == "BPE" else plain
    vocabulary, merges = _learned(table)
    lower = "Lowercase" in str(table["normalizer"])
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    if json.loads(text)["model"]["vocab"] != vocabulary:  # of two tokens with one id the library keeps either
        raise ValueError("expected one id for each token")
    if [vocabulary[token] for token in tokens] != list(range(len(tokens))) or tuple(tokens[:4]) != SPECIALS:
        raise ValueError(f"expected ids without gaps that begin with {', '.join(SPECIALS)}")
    if kind == "bpe" and not set(letters_of_bytes()) <= set(tokens):
        raise ValueError("expected a token for each of the 256 bytes")
    if _backend(kind, lower, vocabulary, merges).to_str() != backend.to_str():
        raise ValueError("settings that saccade does not write")
    return LearnedTokenizer(backend, kind, lower)


def letters_of_bytes() -> dict[str, int]:
    """The letters by which byte-level BPE writes bytes: printable Latin-1 stands for itself, the rest counts on from 256."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = sorted(set(range(BYTES)) - set(printable))
    return {chr(byte): byte for byte in printable} | {chr(BYTES + n): byte for n, byte in enumerate(others)}


class TokenList:
    """What every tokenizer that lists its tokens can say of them."""

    _tokens: list[str]

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self._tokens)

    def tokens(self) -> list[str]:
        """The tokens by their ids, as the file spells them."""
        return list(self._tokens)


class LearnedTokenizer(TokenList):
    """Texts as ids and back. `encode` adds no `START` or `END`; `decode` leaves out these and `PAD`."""

    cuttable = True

    def __init__(self, backend: Backend, kind: Kind, lower: bool) -> None:
        self.kind, self.lower = kind, lower
        self._backend = backend
        vocabulary = backend.get_vocab()
        self._tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        self._specials = len(SPECIALS) + (self._tokens[MASK : MASK + 1] == [MASKED])
        self._ids = {token: index for index, token in enumerate(self._tokens) if index >= self._specials}
        self._marks = {token for token in self._ids if MARK.fullmatch(token)}
        letters = letters_of_bytes() if kind == "bpe" else {}
        self._bytes = [
            bytes(letters[letter] for letter in token) if letters and index >= self._specials else token.encode()
            for index, token in enumerate(self._tokens)
        ]

    @property
    def marks(self) -> list[str]:
        """The marks that are one token each, without their brackets, in the order of their ids."""
        return [token[1:-1] for token in self._tokens if token in self._marks]

    @property
    def vocabulary(self) -> Vocabulary:
        """The number of ids, and those of the special tokens."""
        return learned_layout(self.size, masked=self._specials > len(SPECIALS))

    def encode(self, text: str) -> list[int]:
        """The ids of a text; what was not learned is `UNKNOWN` (never with bpe, which knows every byte)."""
        text = prepared(text, self.lower)
        return self._spelled(text) if self.kind == "char" else self._backend.encode(text).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        read = [prepared(text, self.lower) for text in texts]
        if self.kind == "char":  # fourteen times as fast as the library
            return [self._spelled(text) for text in read]
        # The library keeps much about each token until ids are all that is left: some texts at a time.
        parts = (read[start : start + TOGETHER] for start in range(0, len(read), TOGETHER))
        return [encoding.ids for part in parts for encoding in self._backend.encode_batch_fast(part)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids: exactly that which was encoded (char, bpe), or its words with a space between."""
        check_ids(ids, self.size)
        shown = [index for index in ids if index not in (PAD, START, END)]
        # Bytes that a model writes need not be UTF-8.
        return (b" " if self.kind == "word" else b"").join(self._bytes[index] for index in shown).decode(errors="replace")

    def pieces(self, text: str) -> list[str]:
        """The part of the text behind each id of `encode`, also where the id is `UNKNOWN`; see `labels`."""
        text = prepared(text, self.lower)
        if self.kind == "char":
            return list(self._characters(text))
        encoding = self._backend.encode(text)
        return self.labels(encoding.ids) if self.kind == "bpe" else [text[start:end] for start, end in encoding.offsets]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where in the text the part behind each id of `encode` begins and ends."""
        text = prepared(text, self.lower)
        if self.kind != "char":
            return self._backend.encode(text).offsets
        ends = list(accumulate(map(len, self._characters(text))))
        return list(zip([0, *ends], ends, strict=False))

    def labels(self, ids: Sequence[int]) -> list[str]:
        r"""Each id as text, special tokens by their name; of a character that bpe splits, the bytes: `\xe2`."""
        check_ids(ids, self.size)
        return [self._bytes[index].decode(errors="backslashreplace") for index in ids]

    def text(self) -> str:
        """What `tokenizer.json` says."""
        return self._backend.to_str(pretty=True)

    def save(self, path: Path) -> None:
        """Writes `tokenizer.json`."""
        path.write_text(self.text(), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path) -> "LearnedTokenizer":
        """The tokenizer that `save` wrote."""
        try:
            return _opened(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataError(f"{path}: no such file") from None
        except Exception as error:  # the library raises plain Exception for whatever it cannot read
            reason = " ".join(str(error).split())[:200]
            raise DataError(f"{path}: not a tokenizer of saccade ({reason}); fix: restore the file or train again") from None

    def _characters(self, text: str) -> Sequence[str]:
        if "<" not in text or not self._marks:
            return text
        parts = _split(text, self._marks)
        return [piece for place, part in enumerate(parts) for piece in ([part] if place % 2 else part)]

    def _spelled(self, text: str) -> list[int]:
        known = self._ids.get
        return [known(piece, UNKNOWN) for piece in self._characters(text)]
