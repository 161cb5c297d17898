"""BLEU and chrF are sacreBLEU's own, and say how they were computed; character errors are jiwer's."""

import os
from collections.abc import Sequence
from typing import get_args

import jiwer
import numpy as np
import pytest
import sacrebleu

from saccade.evaluation.text_scores import (
    Tokenize,
    character_error_rate,
    edits,
    paired_bootstrap,
    signatures,
    text_metric,
    translation_scores,
)

HYPOTHESES = [
    "Two young men are outside, near many bushes.",
    "a man in a blue shirt is standing on a ladder cleaning a window .",
    "The dog doesn't run - it sleeps!",
    "",
]
REFERENCES = [
    "Two young, white males are outside near many bushes.",
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "The dog does not run; it sleeps.",
    "A little girl climbs into a wooden playhouse.",
]
EACH = [[one] for one in REFERENCES]


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_scores_are_those_of_sacrebleu(tokenize: Tokenize) -> None:
    found = translation_scores(HYPOTHESES, EACH, tokenize)
    assert found == {
        "bleu": sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize=tokenize, force=True).score,
        "chrf": sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score,
    }
    assert 0 < found["bleu"] < 100
    assert 0 < found["chrf"] < 100


def test_tokenizing_makes_a_difference() -> None:
    kinds: tuple[Tokenize, ...] = ("13a", "none", "char")
    assert len({translation_scores(HYPOTHESES, EACH, tokenize)["bleu"] for tokenize in kinds}) == 3


@pytest.mark.parametrize("tokenize", get_args(Tokenize))
def test_a_perfect_match_is_a_hundred(tokenize: Tokenize) -> None:
    found = translation_scores(REFERENCES, EACH, tokenize)
    assert found == {"bleu": pytest.approx(100), "chrf": pytest.approx(100)}


def test_nothing_in_common_is_nothing() -> None:
    assert translation_scores(["x y z u v"], [["a b c d e"]], "none") == {"bleu": 0.0, "chrf": 0.0}


def test_runs_of_words_that_never_match_are_smoothed() -> None:
    """Exponentially (Chen and Cherry 2014, as in mteval): where no run of four words matches, BLEU is small and not 0."""
    hypotheses, references = ["a b c x"], ["a b c y"]
    assert translation_scores(hypotheses, [[one] for one in references], "none")["bleu"] == pytest.approx(
        100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25
    )


@pytest.mark.parametrize("tokenize", get_args(Tokenize))
def test_signatures_tell_how(tokenize: Tokenize) -> None:
    told = signatures(tokenize)
    assert f"tok:{tokenize}" in told["bleu"].split("|")
    for signature in told.values():
        assert "nrefs:1" in signature.split("|")
        assert f"version:{sacrebleu.__version__}" in signature.split("|")
    assert "nc:6" in told["chrf"].split("|")


def test_asking_for_signatures_changes_no_score() -> None:
    before = translation_scores(HYPOTHESES, EACH, "13a")
    signatures("13a")
    assert translation_scores(HYPOTHESES, EACH, "13a") == before


def test_text_that_is_tokenized_already_is_counted_as_it_stands() -> None:
    """A hyphenated word is one token as it stands, and three where punctuation is cut off."""
    hypotheses, references = ["a well-known man sleeps here"], ["a well - known man sleeps here"]
    assert translation_scores(hypotheses, [[one] for one in references], "none")["bleu"] < 50
    assert translation_scores(["a man , who sleeps"], [["a man, who sleeps"]], "13a")["bleu"] == pytest.approx(100)
    assert translation_scores(["a man , who sleeps"], ["a man, who sleeps"], "none")["bleu"] < 50


def resampled(texts: Sequence[str], tokenize: Tokenize, samples: int) -> np.ndarray:
    """BLEU of each of the samples, one by one from the texts themselves."""
    chosen = np.random.default_rng(12345).choice(len(texts), size=(samples, len(texts)))
    return np.array([
        sacrebleu.corpus_bleu([texts[i] for i in row], [[REFERENCES[i] for i in row]], tokenize=tokenize, force=True).score
        for row in chosen
    ])  # fmt: skip


@pytest.mark.parametrize("tokenize", ["13a", "none", "char"])
def test_intervals_and_chances_are_those_of_resampled_texts(tokenize: Tokenize, monkeypatch: pytest.MonkeyPatch) -> None:
    """Koehn (2004), as sacreBLEU counts: half the width between the 2.5th and the 97.5th percentile; and how often the
    size of a difference strays from its mean by more than the difference itself."""
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    samples, first = 80, [text.replace("men", "boys").replace("blue", "red") for text in HYPOTHESES]
    found = paired_bootstrap({"first": first, "second": HYPOTHESES}, EACH, text_metric("bleu", tokenize), samples)
    assert os.environ["SACREBLEU_SEED"] == "7"
    assert list(found) == ["first", "second"]
    scores = {name: resampled(texts, tokenize, samples) for name, texts in (("first", first), ("second", HYPOTHESES))}
    for name, texts in (("first", first), ("second", HYPOTHESES)):
        assert found[name]["score"] == pytest.approx(translation_scores(texts, EACH, tokenize)["bleu"])
        assert found[name]["mean"] == pytest.approx(scores[name].mean(), rel=1e-4)
        ordered = np.sort(scores[name])
        assert found[name]["interval"] == pytest.approx((ordered[-1 - samples // 40] - ordered[samples // 40]) / 2, rel=1e-4)
    assert found["first"]["p"] is None
    sizes = np.abs(scores["second"] - scores["first"])
    real = abs((found["second"]["score"] or 0) - (found["first"]["score"] or 0))
    assert real > 0
    assert found["second"]["p"] == pytest.approx((np.sum(sizes - sizes.mean() > real) + 1) / (samples + 1))


def test_no_difference_at_all_is_certainly_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    texts = dict.fromkeys(("one", "two"), HYPOTHESES)
    found = paired_bootstrap(texts, EACH, text_metric("bleu", "13a"), 40)
    assert found["two"]["p"] == 1.0
    assert {**found["one"], "difference": 0.0, "p": 1.0} == found["two"]
    assert found == paired_bootstrap(texts, EACH, text_metric("bleu", "13a"), 40)
    assert "SACREBLEU_SEED" not in os.environ


def test_character_errors_are_those_of_jiwer() -> None:
    dice = np.random.default_rng(0)
    texts, references = (
        ["".join(dice.choice([*"abc1 "], size)).strip() or "a" for size in dice.integers(1, 12, 200)] for _ in range(2)
    )
    assert character_error_rate(texts, references) == pytest.approx(jiwer.cer(references, texts), rel=1e-12)
    assert character_error_rate(references, references) == 0
    assert character_error_rate(["", "abc"], ["ab", ""]) == 2.5


def test_edits_are_the_fewest() -> None:
    assert [edits(*pair) for pair in (("kitten", "sitting"), ("", "abc"), ("abc", ""), ("abcd", "bcda"))] == [3, 3, 3, 2]
