"""What readers of texts have in common: one tokenizer, which is all that they learn."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from saccade.data import imported
from saccade.data.examples import Splits
from saccade.data.tokenizers import Tokenizer
from saccade.readers import reader

FILE = "tokenizer.json"


class TokenizedReader(reader.Reader):
    """Encodes inputs by a tokenizer, learned or imported."""

    TOKENIZED = True

    def __init__(self, config: Any, tokenizer: Tokenizer) -> None:
        super().__init__(config)
        self.tokenizer = tokenizer

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: Any) -> Self:
        return cls(config, earlier.tokenizer)

    def strange(self, earlier: Any) -> set[str]:
        return {"source"} if self.tokenizer is not getattr(earlier, "tokenizer", None) else set()

    def save(self, directory: Path) -> None:
        self.tokenizer.save(directory / FILE)

    @classmethod
    def load(cls, config: Any, directory: Path) -> Self:
        return cls(config, imported.load(directory / FILE))
