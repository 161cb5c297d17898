"""Questions about facts, each with those that it may be about: facts that share words with it (Miller et al. 2016)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from saccade import records
from saccade.config import Positive
from saccade.data import tokenizers
from saccade.data.examples import Example, Fact, Facts, Question, Splits
from saccade.data.formats.fact_files import questions_in
from saccade.data.formats.tables import Table
from saccade.data.stored.ragged import Ragged
from saccade.data.tensors import FactsInput, filled
from saccade.data.tokenizers import LearnedTokenizer, Vocabulary
from saccade.errors import DataError
from saccade.readers import reader
from saccade.readers.reader import Load, numbered, require_text
from saccade.readers.story import bare
from saccade.readers.tokenized import FILE
from saccade.view.trace import Axis

FACTS = "facts.json"
BACK = "⁻¹"  # what a relation is called that is read from its object to its subject
WORDS = re.compile(r"\w+")
# Words that say nothing of what a question is about.
STOP_WORDS = """
a about all an and any are as at be been by can could did do does for from had has have he her his how i in is it its
me my name of on one or our s she some tell that the their them there these they this to was we were what when where
which who whom whose why will with would you your
"""
STOP = frozenset(STOP_WORDS.split())


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which facts a question is compared with."""

    max_facts: Positive = 100
    "Maximum number of facts that a question is compared with: those that share most with it."
    max_shared: Positive = 1000
    "Words that more facts have than this find none of them."


class FactsColumn:
    """Questions as ids, and the numbers of the facts of each."""

    def __init__(self, keys: Ragged, values: Ragged, questions: Ragged, facts: Ragged) -> None:
        self.keys, self.values, self.questions, self.facts = keys, values, questions, facts
        self.lengths = np.asarray(facts.lengths, dtype=np.int64) + 1

    def batch(self, indices: Any) -> FactsInput:
        """The tensors of these questions."""
        rows = np.asarray(indices, dtype=np.int64)
        numbers, counts = self.facts.together(rows)
        keys, key_sizes = self.keys.together(numbers)
        asked, sizes = self.questions.together(rows)
        tokens, lengths = filled(np.concatenate((keys, asked)), np.concatenate((key_sizes, sizes)))
        values, value_lengths = filled(*self.values.together(numbers))
        return FactsInput(
            tokens=_wide(tokens),
            lengths=lengths,
            counts=torch.from_numpy(counts),
            most=int(counts.max(initial=0)),
            values=_wide(values),
            value_lengths=value_lengths,
        )


def _wide(tokens: torch.Tensor) -> torch.Tensor:
    """At least one place, if only of padding."""
    return tokens if tokens.shape[1] else tokens.new_zeros(len(tokens), 1)


class Reader(reader.Reader):
    """Knows the facts, in both directions, the names in them as one token each, and where each word of a name occurs."""

    INPUT, OWN, TOKENIZED = Question, "fact_files", True
    unit, budget = "facts", 20_000
    config: Config

    def __init__(self, config: Any, tokenizer: LearnedTokenizer, facts: Facts) -> None:
        super().__init__(config)
        self.tokenizer = tokenizer
        self.facts = [way for fact in facts.rows for way in (fact, turned(fact))]
        self.own = facts
        names = dict.fromkeys(name for fact in self.facts for name in (fact.subject, fact.relation))
        self.names = {name.casefold(): tokenizer.size + place for place, name in enumerate(names)}
        things = sorted({fact.subject.casefold() for fact in self.facts}, key=len, reverse=True)
        self.mentions = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in things) or "(?!)")
        self.found_by: dict[str, list[int]] = defaultdict(list)
        for number, fact in enumerate(self.facts):
            for word in words_of(fact.subject):
                self.found_by[word].append(number)

    @classmethod
    def fit(cls, config: Any, tokens: tokenizers.Config, splits: Splits, texts: Iterable[str]) -> "Reader":
        facts: Facts = splits.shared
        known = dict.fromkeys(bare(example.input.text) for example in splits.train)
        return cls(config, tokenizers.train(list(known), tokens), facts)

    @classmethod
    def fit_from(cls, config: Any, tokens: Any, splits: Splits, texts: Iterable[str], earlier: "Reader") -> "Reader":
        return cls(config, earlier.tokenizer, splits.shared)

    def strange(self, earlier: Any) -> set[str]:
        return {"source"} if self.own != getattr(earlier, "own", None) else set()

    def save(self, directory: Path) -> None:
        self.tokenizer.save(directory / FILE)
        records.save(directory / FACTS, [[fact.subject, fact.relation, fact.object] for fact in self.own.rows])

    @classmethod
    def load(cls, config: Any, directory: Path) -> "Reader":
        rows = records.load(directory / FACTS)
        if not (isinstance(rows, list) and all(isinstance(row, list) and len(row) == 3 for row in rows)):
            raise records.unreadable(directory / FACTS, "expected a list of facts, each three texts")
        return cls(config, LearnedTokenizer.load(directory / FILE), Facts(tuple(Fact(*map(str, row)) for row in rows)))

    def sizes(self) -> dict[str, Any]:
        whole: Vocabulary = replace(self.tokenizer.vocabulary, size=self.tokenizer.size + len(self.names))
        return {"source": whole}

    def word(self, text: str) -> int | None:
        """The number of a name."""
        return self.names.get(text.casefold())

    def ids(self, text: str) -> list[int]:
        """A question as words, and names as one token each."""
        found, start, text = list[int](), 0, bare(text)
        for match in self.mentions.finditer(text.casefold()):
            found += [*self.tokenizer.encode(text[start : match.start()]), self.names[match[0]]]
            start = match.end()
        return [*found, *self.tokenizer.encode(text[start:])]

    def candidates(self, text: str) -> list[int]:
        """The numbers of the facts whose key shares words with a question, in their own order: those of the names that it
        has, or, where it has none, of the words of names; stop words and words of very many facts find nothing."""
        named = [match[0] for match in self.mentions.finditer(text.casefold())]
        shared: Counter[int] = Counter()
        for word in {word for name in named or [text] for word in words_of(name)}:
            own = self.found_by.get(word, [])
            if len(own) <= self.config.max_shared:
                shared.update(own)
        whole = {number for number in shared if self.facts[number].subject.casefold() in named}
        kept = sorted(whole or shared, key=lambda number: (-shared[number], number))
        return sorted(kept[: self.config.max_facts])

    def encode(self, inputs: Sequence[Question]) -> FactsColumn:
        keys = Ragged.of(
            [[self.names[fact.subject.casefold()], self.names[fact.relation.casefold()]] for fact in self.facts]
        )
        values = Ragged.of([[self.names[fact.object.casefold()]] for fact in self.facts])
        texts = [one.text for one in inputs]
        return FactsColumn(keys, values, Ragged.of(list(map(self.ids, texts))), Ragged.of(list(map(self.candidates, texts))))

    def parse(self, typed: Any, splits: Load) -> Example | None:
        if isinstance(typed, Question):
            return Example(typed, name=typed.text)
        text = " ".join(require_text(typed).split())
        return numbered(text, splits) or (Example(Question(text), name=text) if text else None)

    def listed(self, source: str | Table, column: str = "") -> Iterable[Any] | None:
        return questions_in(source)

    def axes(self, example: Example, grid: tuple[int, int] | None = None) -> Mapping[str, Axis]:
        numbers = self.candidates(example.input.text)
        if not numbers:
            raise DataError("there is nothing to look at: the question shares no word with any fact")
        facts, right = [self.facts[number] for number in numbers], example.target.split("\n")
        marked = [place for place, fact in enumerate(facts) if fact.object in right]
        return {"input": Axis("statements", list(map(str, facts)), marked=marked)}


def turned(fact: Fact) -> Fact:
    """The same fact, read from its object."""
    return Fact(fact.object, fact.relation + BACK, fact.subject)


def words_of(name: str) -> list[str]:
    """The words that a name is found by: those that say something; all, where none does."""
    every = list(dict.fromkeys(WORDS.findall(name.casefold())))
    return [word for word in every if word not in STOP] or every
