"""Tokenizers that came with published parameters: pieces by the rules of their file, ids and special tokens of their family.

The file holds `pieces`, a file of the Hugging Face `tokenizers` library that cuts texts; `tokens`, by their ids; and
`special`, the ids of the special tokens. A piece that is none of the tokens is the unknown one; as everywhere, no text
becomes padding, start or end. With `language_codes` a text may begin with a token such as `>>fra<<`, which names the
language to write in models of Marian for several languages.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from tokenizers import decoders

from saccade.data.tokenizers import (
    TOGETHER,
    Backend,
    LearnedTokenizer,
    Tokenizer,
    TokenList,
    Vocabulary,
    check_ids,
    letters_of_bytes,
    prepared,
)
from saccade.errors import DataError

LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class ImportedTokenizer(TokenList):
    """Texts as ids and back, as the family of a published model has them."""

    marks: Sequence[str] = ()

    def __init__(
        self, backend: Backend, tokens: Sequence[str], vocabulary: Vocabulary, *, language_codes: bool = False
    ) -> None:
        if not len(set(tokens)) == len(tokens) == vocabulary.size:
            raise ValueError(f"expected {vocabulary.size} tokens, one for each id, got {len(set(tokens))} different ones")
        self.backend, self.vocabulary, self.language_codes = backend, vocabulary, language_codes
        # Without an unknown token, the name of a special one is spelled like any other text.
        self.backend.encode_special_tokens = vocabulary.unknown is None
        self._tokens = list(tokens)
        self._unwritten = {vocabulary.pad, vocabulary.start, vocabulary.end}
        self._ids = {token: index for index, token in enumerate(tokens) if index not in self._unwritten}
        self._letters = letters_of_bytes() if isinstance(backend.decoder, decoders.ByteLevel) else {}

    @cached_property
    def cuttable(self) -> bool:
        """Whether ids stay the same where a text is cut after a newline: where it is read as GPT-2 reads it."""
        table = json.loads(self.backend.to_str())
        cut = table["pre_tokenizer"] or {}
        plain = cut.get("type") == "ByteLevel" and cut["use_regex"] and not cut["add_prefix_space"]
        greedy = any(added["lstrip"] or added["rstrip"] for added in table["added_tokens"])
        return plain and table["normalizer"] is None and not greedy and not self.language_codes

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start or end."""
        return [self._id(piece) for piece in self._cut(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        # As in a learned tokenizer, the library keeps much about each token: some texts at a time.
        parts = (texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER))
        return [row for part in parts for row in self._encoded(part)]

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        codes = [self._code(text) for text in texts]
        rests = [text[len(code) :] for text, code in zip(texts, codes, strict=True)]
        cut = self.backend.encode_batch(rests, add_special_tokens=False)
        return [
            [self._id(piece) for piece in ([code] if code else []) + one.tokens]
            for code, one in zip(codes, cut, strict=True)
        ]

    def pieces(self, text: str) -> list[str]:
        """The piece behind each id of `encode`, also where that is the unknown token."""
        return [self._label(piece) for piece in self._cut(text)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where in the text the piece behind each id of `encode` begins and ends."""
        code = self._code(text)
        own = self.backend.encode(text[len(code) :], add_special_tokens=False).offsets
        return [*([(0, len(code))] if code else []), *((first + len(code), last + len(code)) for first, last in own)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text that these ids spell; padding, start and end are left out."""
        check_ids(ids, self.size)
        tokens = [self._tokens[index] for index in ids if index not in self._unwritten]
        if self._letters:  # bytes that a model writes need not be UTF-8
            return b"".join(map(self._bytes, tokens)).decode(errors="replace")
        decoder = self.backend.decoder
        return (" ".join(tokens) if decoder is None else decoder.decode(tokens)).strip()

    def labels(self, ids: Sequence[int]) -> list[str]:
        r"""Each id as its token; of byte pairs as text, and of a character that is split, the bytes: `\xe2`."""
        check_ids(ids, self.size)
        return [self._label(self._tokens[index]) for index in ids]

    def text(self) -> str:
        """What the file says that `load` reads."""
        table = {
            "pieces": json.loads(self.backend.to_str()),
            "tokens": self._tokens,
            "special": asdict(self.vocabulary),
            "language_codes": self.language_codes,
        }
        return json.dumps(table, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Writes it."""
        path.write_text(self.text(), encoding="utf-8", newline="\n")

    def _cut(self, text: str) -> list[str]:
        code = self._code(text)
        return [*([code] if code else []), *self.backend.encode(text[len(code) :], add_special_tokens=False).tokens]

    def _code(self, text: str) -> str:
        """The token for a language that a text begins with, if it does."""
        found = LANGUAGE.match(prepared(text)) if self.language_codes else None
        return found[0] if found else ""

    def _id(self, piece: str) -> int:
        index = self._ids.get(piece, self.vocabulary.unknown)
        if index is None:
            raise DataError(f"expected pieces of the vocabulary, which has no unknown token, got {piece!r}")
        return index

    def _label(self, token: str) -> str:
        return self._bytes(token).decode(errors="backslashreplace") if self._letters else token

    def _bytes(self, token: str) -> bytes:
        spelled = token in self._ids and all(letter in self._letters for letter in token)
        return bytes(self._letters[letter] for letter in token) if spelled else token.encode()


def load(path: Path) -> Tokenizer:
    """The tokenizer in a run's file, learned or imported."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        imported = isinstance(table, dict) and "special" in table
    except (OSError, ValueError):
        imported = False
    if not imported:
        return LearnedTokenizer.load(path)
    try:
        backend, special = Backend.from_str(json.dumps(table["pieces"])), table["special"]
        vocabulary = Vocabulary(**{**special, "unwritten": tuple(special["unwritten"])})
        return ImportedTokenizer(backend, table["tokens"], vocabulary, language_codes=table["language_codes"])
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: not an imported tokenizer ({reason}); fix: restore the file or import again") from None
