"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translations, by sacreBLEU, whose signature goes with a score; and
the character error rate of what was read."""

import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

Tokenize = Literal["13a", "none", "intl", "char", "zh"]


def edits(text: str, reference: str) -> int:
    """The fewest characters to insert, delete or replace that make one of the other (Levenshtein 1966)."""
    before = list(range(len(reference) + 1))
    for row, character in enumerate(text, 1):
        after = [row]
        for column, expected in enumerate(reference):
            after.append(min(before[column] + (character != expected), before[column + 1] + 1, after[column] + 1))
        before = after
    return before[-1]


def character_error_rate(texts: Sequence[str], references: Sequence[str]) -> float:
    """All edits over the number of characters of all references; it can be more than 1."""
    wrong = sum(edits(*pair) for pair in zip(texts, references, strict=True))
    return wrong / max(1, sum(map(len, references)))


def perplexity(loss: float) -> float:
    """Of a mean loss in nats."""
    return math.exp(min(loss, 700.0))


@cache
def _metrics(tokenize: Tokenize) -> dict[str, Any]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    # `force` says no more than that text which looks tokenized is meant to be so.
    return {"bleu": BLEU(tokenize=tokenize, force=True), "chrf": CHRF()}


def streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """References by example as sacreBLEU takes them: the first of all examples, the second of all …"""
    most = max(map(len, references), default=0)
    return [[own[place] if place < len(own) else None for own in references] for place in range(most)]


def translation_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: Tokenize
) -> dict[str, float]:
    """BLEU and chrF of the whole, each text with its references, from 0 to 100; `none` is for text that is tokenized."""
    return {
        name: float(metric.corpus_score(list(hypotheses), streams(references)).score)
        for name, metric in _metrics(tokenize).items()
    }


def signatures(tokenize: Tokenize, references: int = 1) -> dict[str, str]:
    """How each score was computed, in sacreBLEU's own words."""
    metrics = _metrics(tokenize)
    for metric in metrics.values():
        metric.corpus_score(["a"], [["a"]] * references)  # their number is known only then
    return {name: str(metric.get_signature()) for name, metric in metrics.items()}


def text_metric(name: str, tokenize: Tokenize) -> Any:
    """BLEU or chrF as sacreBLEU's object."""
    return _metrics(tokenize)[name]


def paired_bootstrap(
    texts: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], metric: Any, samples: int = 1000
) -> dict[str, dict[str, float | None]]:
    """A metric of sacreBLEU's for each system; its mean and half its 95 % interval over resampled tests; its difference to
    the first, and p, how likely so large a one is by chance (Koehn 2004), as sacreBLEU computes it. Always the same samples.

    Of no difference at all p is 1: sacreBLEU asks for samples that differ by more than that, and finds none."""
    from sacrebleu.significance import PairedTest

    systems: Any = [(name, list(outputs)) for name, outputs in texts.items()]
    metrics: Any = {"score": metric}
    known: Any = streams(references)  # None where an example has fewer, which sacreBLEU takes, whatever its types say
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = "12345"
    try:
        test = PairedTest(systems, metrics, references=known, test_type="bs", n_samples=samples)
        _, results = test()
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
    rows: Any = next(rows for key, rows in results.items() if key != "System")
    chances = [1.0 if row.score == rows[0].score and row.p_value is not None else row.p_value for row in rows]
    return {
        system: {
            "score": row.score,
            "mean": float(row.mean),
            "interval": float(row.ci),
            "difference": None if p is None else row.score - rows[0].score,
            "p": p,
        }
        for system, row, p in zip(texts, rows, chances, strict=True)
    }
