"""Tokenizers that came with published weights: pieces by the rules of their file, ids by a vocabulary in saccade's order.

The file holds both: `pieces`, a file of the Hugging Face `tokenizers` library that cuts texts, and `vocabulary`, the tokens
by their ids. A piece that the vocabulary lacks is `UNKNOWN`; as everywhere, no text becomes `PAD`, `START` or `END`. A text
may begin with a token such as `>>fra<<`, by which models of several languages are told what to write.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from saccade.data.tokenizers import END, PAD, SPECIALS, START, UNKNOWN, Backend, Tokenizer, prepared
from saccade.errors import DataError, SaccadeError

LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class Imported:
    """Texts as ids and back, as `saccade.data.tokenizers.Tokenizer`."""

    marks: Sequence[str] = ()

    def __init__(self, backend: Backend, vocabulary: Sequence[str]) -> None:
        if tuple(vocabulary[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"expected a vocabulary that begins with {', '.join(SPECIALS)}")
        if len(set(vocabulary)) != len(vocabulary):
            raise ValueError("expected one id for each token")
        self.backend = backend
        self.vocabulary = list(vocabulary)
        self._ids = {token: index for index, token in enumerate(vocabulary) if index > END}

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self.vocabulary)

    def tokens(self) -> list[str]:
        """The tokens by their ids."""
        return list(self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [self._ids.get(piece, UNKNOWN) for piece in self.pieces(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [self.encode(text) for text in texts]

    def pieces(self, text: str) -> list[str]:
        """The piece behind each id of `encode`, also where the id is `UNKNOWN`."""
        found = LANGUAGE.match(prepared(text))
        language = [found[0]] if found else []
        rest = text[len(language[0]) :] if language else text
        return [*language, *self.backend.encode(rest, add_special_tokens=False).tokens]

    def decode(self, ids: Sequence[int]) -> str:
        """The text that these ids spell."""
        tokens = [token for index, token in zip(ids, self.labels(ids), strict=True) if index not in (PAD, START, END)]
        decoder = self.backend.decoder
        return (" ".join(tokens) if decoder is None else decoder.decode(tokens)).strip()

    def labels(self, ids: Sequence[int]) -> list[str]:
        """Each id as its token."""
        if len(ids) and not (min(ids) >= 0 and max(ids) < self.size):
            raise SaccadeError(f"expected ids from 0 to {self.size - 1}, got {min(ids)} to {max(ids)}")
        return [self.vocabulary[index] for index in ids]

    def save(self, path: Path) -> None:
        """Writes the file that `load` reads."""
        table = {"pieces": json.loads(self.backend.to_str()), "vocabulary": self.vocabulary}
        path.write_text(json.dumps(table, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def load(path: Path) -> Tokenizer | Imported:
    """The tokenizer in a run's file, learned or imported."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        imported = isinstance(table, dict) and "vocabulary" in table
    except (OSError, ValueError):
        imported = False
    if not imported:
        return Tokenizer.load(path)
    try:
        return Imported(Backend.from_str(json.dumps(table["pieces"])), table["vocabulary"])
    except Exception as error:  # the library raises plain Exception for whatever it cannot read
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: not an imported tokenizer ({reason}); fix: restore the file or import again") from None
