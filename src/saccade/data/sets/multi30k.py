"""Multi30k, task 1: 29,000 image descriptions in English, German, French and Czech (Elliott et al. 2016)."""

from dataclasses import dataclass
from typing import Literal

from saccade.data import known
from saccade.data.examples import Example, Splits
from saccade.data.formats import text_files
from saccade.errors import UnknownName, UsageError

INPUT, TARGET = str, str
LANGUAGES = ("en", "de", "fr", "cs")
NAMES = {"tok": "tok/{split}.lc.norm.tok.{language}", "raw": "raw/{split}.{language}"}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Which languages, and in which form."""

    source: Literal["en", "de", "fr", "cs"] = "de"
    "The language to read."
    target: str = "en"
    "The language to write, or several with commas between: each is then a group (see task.starts)."
    text: Literal["tok", "raw"] = "tok"
    "tok: in lower case, normalized and tokenized, as published; raw: as it was written."


def load(config: Config) -> Splits:
    """All three parts; of the tests, that of 2016."""
    targets = [name.strip() for name in config.target.split(",")]
    for name in targets:
        if name not in LANGUAGES:
            raise UnknownName("language", name, LANGUAGES)
    if config.source in targets or len(set(targets)) < len(targets):
        raise UsageError(f"data.target: expected other languages than {config.source}, each once, got {config.target!r}")
    return Splits(*(_pairs(config, split, targets) for split in ("train", "val", "test_2016_flickr")))


def _pairs(config: Config, split: str, targets: list[str]) -> list[Example]:
    """The pairs of every target language, one language after the other."""

    def path(language: str) -> str:
        return str(known.find("multi30k", NAMES[config.text].format(split=split, language=language)))

    examples: list[Example] = []
    for target in targets:
        group = target if len(targets) > 1 else ""
        pairs = text_files.read(f"{path(config.source)},{path(target)}", text_files.Config())
        examples += [Example(pair.input, pair.target, group) for pair in pairs]
    return examples
