"""Examples of a run's own data by their number: test#12, valid#0."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from saccade.data.examples import Splits
from saccade.errors import DataError

PATTERN = re.compile(r"(train|valid|test)#(\d{1,9})")


def numbered(text: str, examples: Callable[[], Splits]) -> Any | None:
    """The example of this name; None where the text is no such name. Data is loaded only to look one up."""
    if not (found := PATTERN.fullmatch(text.strip())):
        return None
    part, number = found[1], int(found[2])
    known: Sequence[Any] = getattr(examples(), part)
    if number >= len(known):
        others = [f"{name}#0" for name in ("test", "valid", "train") if len(getattr(examples(), name))]
        fix = f"expected {part}#0 to {part}#{len(known) - 1}" if len(known) else f"its {part} data is empty; try {others[0]}"
        raise DataError(f"{text.strip()}: {fix}, or the name of a file")
    return known[number]
