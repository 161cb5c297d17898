"""Scores of captions, by cases that can be counted by hand."""

import math

import pytest

from saccade.evaluation.caption_scores import NAMES, SIGMA, caption_scores, cider_d, meteor_exact, rouge_l, words


def test_captions_are_compared_word_by_word() -> None:
    assert words("A man's dog, running - fast!") == ["a", "man's", "dog", "running", "fast"]


def test_an_equal_caption_has_all() -> None:
    found = caption_scores(["A dog runs fast .", "two red birds sing"], [["x", "a dog runs fast"], ["two red birds sing"]])
    assert set(found) == set(NAMES)
    for name in ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l"):
        assert found[name] == pytest.approx(100)
    # The second reference of the first counts half of CIDEr-D: nothing is shared with "x", whose n-grams are one.
    assert found["cider"] == pytest.approx(750)
    assert found["meteor_exact"] == pytest.approx(100 * (1 - 0.5 / 4**3))


def test_nothing_in_common_has_nothing() -> None:
    assert set(caption_scores(["x y", ""], [["a b c d e"], ["f g"]]).values()) == {0.0}


def test_bleu_counts_n_grams_of_any_reference() -> None:
    """the the the cat: clipped 2 of 4 words by the first, `cat` by the second; bigrams: `the cat` of 3."""
    found = caption_scores(["the the the cat"], [["the house the", "a cat sat", "the cat is here"]])
    assert found["bleu_1"] == pytest.approx(75)
    assert found["bleu_2"] == pytest.approx(100 * math.sqrt(3 / 4 * 1 / 3))
    assert found["bleu_3"] == found["bleu_4"] == 0


def test_rouge_l_takes_the_longest_common_subsequence() -> None:
    """`police the gunman` shares police … gunman with "police killed the gunman" whole: P = 1, R = 3/4."""
    precision, recall = 1.0, 3 / 4
    expected = (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision)
    assert rouge_l(["police", "the", "gunman"], [["police", "killed", "the", "gunman"]]) == pytest.approx(expected)
    crossed = rouge_l(["gunman", "the", "police"], [["police", "killed", "the", "gunman"]])
    assert crossed == pytest.approx((1 + 1.2**2) * (1 / 3) * (1 / 4) / (1 / 4 + 1.2**2 * (1 / 3)))
    assert rouge_l([], [["a"]]) == rouge_l(["a"], [["b"]]) == 0


def test_cider_d_weighs_rare_words_and_clips() -> None:
    """Two pictures: `a` is in both and weighs nothing, `cat` and `dog` log 2 each."""
    references = [[["a", "cat"]], [["a", "dog"]]]
    # Unigrams: cat·cat / (|cat|·|cat|) = 1; bigrams: `a cat` = 1; no longer ones. The mean of four, times 10.
    assert cider_d([["a", "cat"], ["a", "dog"]], references) == pytest.approx([5.0, 5.0])
    # cat twice: clipped to one, and the length differs by one. Bigrams `a cat`, `cat cat`, this unknown and so as rare.
    penalty = math.exp(-1 / (2 * SIGMA**2))
    weight = math.log(2)
    unigrams = weight * weight / (2 * weight * weight)
    bigrams = weight**2 / (math.sqrt(2) * weight * weight)
    found = cider_d([["a", "cat", "cat"], ["a", "dog"]], references)[0]
    assert found == pytest.approx(10 * penalty * (unigrams + bigrams) / 4)


def test_meteor_matches_in_as_few_chunks_as_can_be() -> None:
    """Banerjee and Lavie's own example: "the president spoke to the audience" in 2 chunks of 6 words."""
    caption, reference = (
        ["the", "president", "then", "spoke", "to", "the", "audience"],
        ["the", "president", "spoke", "to", "the", "audience"],
    )
    precision, recall = 6 / 7, 1.0
    mean = 10 * precision * recall / (recall + 9 * precision)
    assert meteor_exact(caption, [reference]) == pytest.approx(mean * (1 - 0.5 * (2 / 6) ** 3))
    # `a` may go to either: next to b it makes one chunk.
    assert meteor_exact(["a", "b"], [["a", "x", "a", "b"]]) == pytest.approx(
        10 * 1 * 0.5 / (0.5 + 9) * (1 - 0.5 * (1 / 2) ** 3)
    )
    assert meteor_exact(["a", "b"], [["b"], ["b", "a"]]) == pytest.approx(1 - 0.5)  # the best reference, in two chunks


def test_texts_that_repeat_a_word_take_no_time() -> None:
    assert 0 < meteor_exact(["a"] * 40, [["a"] * 20 + ["b"]]) < 1
