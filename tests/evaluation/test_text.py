"""BLEU and chrF are sacreBLEU's own, and say how they were computed."""

from typing import get_args

import pytest
import sacrebleu

from saccade.evaluation.text import Tokenize, signatures, translation_scores

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


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_scores_are_those_of_sacrebleu(tokenize: Tokenize) -> None:
    found = translation_scores(HYPOTHESES, REFERENCES, tokenize)
    assert found == {
        "bleu": sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize=tokenize, force=True).score,
        "chrf": sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score,
    }
    assert 0 < found["bleu"] < 100
    assert 0 < found["chrf"] < 100


def test_tokenizing_makes_a_difference() -> None:
    kinds: tuple[Tokenize, ...] = ("13a", "none", "char")
    assert len({translation_scores(HYPOTHESES, REFERENCES, tokenize)["bleu"] for tokenize in kinds}) == 3


@pytest.mark.parametrize("tokenize", get_args(Tokenize))
def test_a_perfect_match_is_a_hundred(tokenize: Tokenize) -> None:
    found = translation_scores(REFERENCES, REFERENCES, tokenize)
    assert found == {"bleu": pytest.approx(100), "chrf": pytest.approx(100)}


def test_nothing_in_common_is_nothing() -> None:
    assert translation_scores(["x y z u v"], ["a b c d e"], "none") == {"bleu": 0.0, "chrf": 0.0}


@pytest.mark.parametrize("tokenize", get_args(Tokenize))
def test_signatures_tell_how(tokenize: Tokenize) -> None:
    told = signatures(tokenize)
    assert f"tok:{tokenize}" in told["bleu"].split("|")
    for signature in told.values():
        assert "nrefs:1" in signature.split("|")
        assert f"version:{sacrebleu.__version__}" in signature.split("|")
    assert "nc:6" in told["chrf"].split("|")


def test_asking_for_signatures_changes_no_score() -> None:
    before = translation_scores(HYPOTHESES, REFERENCES, "13a")
    signatures("13a")
    assert translation_scores(HYPOTHESES, REFERENCES, "13a") == before
