"""What the formats of the user's own files have in common: where each part is, and what is held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.config import Share
from saccade.data.examples import Example, Splits
from saccade.data.hold_out import hold_out


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Where the examples are."""

    train: str = ""
    """Training examples: a file or a folder."""
    valid: str = ""
    """Validation examples; empty: a part of train is held out."""
    test: str = ""
    """Test examples; may be empty."""
    held_out: Share = 0.1
    """Share of train that is held out when valid is empty, at most 2000 examples; 0: none."""

    def splits(
        self, read: Callable[[str], Sequence[Example]], key: Callable[[Example], bytes], *, every_label: bool = False
    ) -> Splits:
        """All parts, each read from its file; examples with the same key are held out together."""
        train = read(self.train)
        test = read(self.test) if self.test else []
        if self.valid:
            return Splits(train, read(self.valid), test)
        return Splits(*hold_out(train, self.held_out, key, every_label=every_label), test)
