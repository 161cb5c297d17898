"""How good predicted spans are: of labels of words (CoNLL's F1), and of answers in a text (SQuAD, Rajpurkar et al. 2016)."""

import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence

OUTSIDE = "O"
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = set(string.punctuation)

Span = tuple[str, int, int]  # its kind, its first word, and the one behind its last


def spans(tags: Sequence[str]) -> Iterator[Span]:
    """The spans that BIO labels mark: B-X begins one, I-X goes on; one of another kind begins anew."""
    kind, first = "", 0
    for place, tag in enumerate([*tags, OUTSIDE]):
        letter, _, own = tag.partition("-")
        goes_on = letter == "I" and own == kind and kind
        if kind and not goes_on:
            yield kind, first, place
            kind = ""
        if letter in ("B", "I") and own and not goes_on:
            kind, first = own, place


def is_bio(names: Sequence[str]) -> bool:
    """Whether labels mark spans: O, B-X and I-X."""
    return OUTSIDE in names and len(names) > 1 and all(re.fullmatch(r"O|[BI]-.+", name) for name in names)


def span_f1(truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """F1 of all spans of all texts; 1 where there is none and none is predicted."""
    right = there = said = 0
    for one, other in zip(truth, predicted, strict=True):
        known, found = set(spans(one)), set(spans(other))
        right, there, said = right + len(known & found), there + len(known), said + len(found)
    return 2 * right / (there + said) if there + said else 1.0


def normalized(text: str) -> str:
    """An answer without case, punctuation and articles, as SQuAD compares them."""
    plain = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", plain).split())


def answer_f1(answer: str, truth: str) -> float:
    """F1 of the words of an answer; of an empty one whether both are."""
    own, known = normalized(answer).split(), normalized(truth).split()
    if not own or not known:
        return float(own == known)
    same = sum((Counter(own) & Counter(known)).values())
    return 2 * same / (len(own) + len(known))
