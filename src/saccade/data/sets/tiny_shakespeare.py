"""tiny-shakespeare: 1,115,394 characters of Shakespeare's plays as one text (Karpathy 2015), split as in nanoGPT."""

from dataclasses import dataclass

from saccade.config import Share
from saccade.data import known
from saccade.data.examples import Example, Splits

INPUT, TARGET = str, str

SET, FILE = "tinyshakespeare", "input.txt"


@dataclass(frozen=True, kw_only=True)
class Config:
    """The size of the validation set."""

    held_out: Share = 0.1
    "Share of the text, its end, that is the validation set."


def load(config: Config) -> Splits:
    """The text up to the validation set, and the rest; one example each, and no test set."""
    text = known.unzipped(known.find(SET, FILE)).decode("utf-8")
    first = int(len(text) * (1 - config.held_out))
    return Splits([Example("", text[:first])], [Example("", text[first:])], [])
