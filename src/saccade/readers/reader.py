"""What every reader does; a kind of input says how."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from saccade.data.batches import Integers
from saccade.data.examples import Example, Splits, place
from saccade.data.formats.tables import Table
from saccade.errors import DataError, UsageError
from saccade.view.trace import Axis

NUMBERED = re.compile(r"(train|valid|test)#(\d{1,9})")

Note = Callable[[str], None]
Load = Callable[[], Splits]


class Column(Protocol):
    """Encoded inputs or targets of many examples: how long each is, and the tensors of some of them."""

    lengths: Integers

    def batch(self, indices: Any) -> Any: ...


class Side:
    """What readers and writers have in common: a config, what they learn from data, and examples that they refuse."""

    TOKENIZED: ClassVar[bool] = False
    "Whether it has a tokenizer, and so the section [tokens]."

    LEARNED: ClassVar[tuple[str, ...]] = ()
    "Keys of its config that only decide what is learned: of no use where that comes from an earlier side."

    def __init__(self, config: Any) -> None:
        self.config = config

    @classmethod
    def agrees(cls, other: type) -> bool:
        """Whether both are of one kind, so that what one has learned serves the other."""
        return issubclass(cls, other) or issubclass(other, cls)

    def strange(self, earlier: Any) -> set[str]:
        """Of `sizes`, those that do not count what they counted in an earlier side: other labels, other tokens."""
        return set() if self.agrees(type(earlier)) else set(self.sizes())

    def save(self, directory: Path) -> None:
        """Write what was learned."""

    def sizes(self) -> dict[str, Any]:
        """What a model must know of inputs or outputs, by the names of its arguments."""
        return {}

    @classmethod
    def unfit(cls, splits: Splits) -> Iterator[tuple[str, int, str]]:
        """The part and index of each example that `fit` refuses, and what is wrong with it."""
        return iter(())

    def check(self, example: Example) -> None:
        """Refuse an example that cannot be read or scored."""

    def flaws(self, examples: Sequence[Example]) -> Iterator[tuple[int, str]]:
        """The index of each example that `check` refuses, and what is wrong with it."""
        if type(self).check is Side.check:  # which refuses none
            return
        for index, example in enumerate(examples):
            try:
                self.check(example)
            except (DataError, UsageError) as error:
                yield index, f"{place(example, index + 1)}: {error}"


class Reader(Side):
    """Encodes inputs of one kind, and tells what stands where in them."""

    INPUT: ClassVar[type | tuple[type, ...]]
    "What an example's input is."
    OWN: ClassVar[str]
    "The format of the user's own files."
    TYPED: ClassVar[str] = "TEXT"
    "What a person types or names for an input."
    TUPLE: ClassVar[bool] = False
    "Whether a tuple is one input of several parts; else it is several inputs."
    unit: ClassVar[str] = "tokens"
    "What the size of a batch is counted in."
    budget: ClassVar[int] = 20_000
    "Size of a batch without gradients."

    @classmethod
    def fit(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str]) -> "Reader":
        """Learn from the training inputs what encoding needs; `texts` are further ones that a tokenizer must know."""
        return cls(config)

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: Any) -> "Reader":
        """As `fit`, with what an earlier reader of this kind has learned."""
        return cls.fit(config, tokens, splits, texts)

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        """Read it again."""
        return cls(config)

    def encode(self, inputs: Sequence[Any]) -> Column:
        """Inputs as numbers."""
        raise NotImplementedError

    def typed(self, words: Sequence[str]) -> list[Any]:
        """The inputs that these words of a command line name."""
        return list(words)

    def parse(self, typed: Any, splits: Load) -> Example | None:
        """The example that a person typed, named or holds; None: an empty line. `splits` loads the run's own data."""
        raise NotImplementedError

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        """The inputs of a table or of its file, of texts in this column; None: a file with an input in each line."""
        return None

    def gathered(self, lines: Iterable[str]) -> Iterable[Any]:
        """The inputs that lines are, as they come: one on each."""
        return lines

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        """The places of an input, under the names that looks use; `grid`: what a system divides pictures into."""
        raise NotImplementedError

    def notes(self, example: Example) -> dict[str, str | float]:
        """What a picture says beside its title."""
        return {}

    def prepare(self, model: Any, splits: Splits, column: Any, note: Note) -> None:
        """What is done to a new model, and told, before its first step; `column` holds the training inputs."""

    def kept(self) -> Splits | None:
        """The data that is part of the run itself; None where it stays in its files."""
        return None


def numbered(typed: Any, splits: Load) -> Example | None:
    """The example of the run's own data that is named as test#12; None where nothing is named so."""
    if not (isinstance(typed, str) and (match := NUMBERED.fullmatch(typed.strip()))):
        return None
    part, number = match[1], int(match[2])
    known: Sequence[Example] = getattr(splits(), part)
    if number >= len(known):
        others = [f"{name}#0" for name, examples in splits().parts()[::-1] if len(examples)]
        fix = f"expected {part}#0 to {part}#{len(known) - 1}" if len(known) else f"its {part} data is empty; try {others[0]}"
        raise DataError(f"{typed.strip()}: {fix}, or the name of a file")
    return known[number]


def require_text(typed: Any) -> str:
    """The text, if it is one."""
    if not isinstance(typed, str):
        columns = getattr(typed, "columns", getattr(typed, "column_names", None))  # of pandas, of datasets
        fix = "" if columns is None else f"give the column of its texts: one of {', '.join(map(str, columns))}"
        raise UsageError(f"expected text, got {type(typed).__name__}", fix=fix)
    return typed
