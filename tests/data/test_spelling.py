"""Runs of letters of words, and those of texts side by side."""

import zlib

import pytest
import torch

from saccade.data.spelling import Spelling, runs

MANY = 10**9  # buckets that two runs of a test hardly share


def test_runs_of_a_word_by_hand() -> None:
    spelled = ["<go", "goo", "ood", "od>", "<goo", "good", "ood>", "<good", "good>"]
    assert runs("good", MANY) == [1 + zlib.crc32(run.encode()) % MANY for run in spelled]


def test_a_short_word_is_its_own_run() -> None:
    assert len(runs("a", MANY)) == 1
    assert runs("a", MANY) != runs("b", MANY)
    assert runs("", MANY) == []


def test_a_run_that_comes_twice_counts_once() -> None:
    assert len(runs("aaaaaaaa", MANY)) == len({"<aa", "aaa", "aa>", "<aaa", "aaaa", "aaa>", "<aaaa", "aaaaa", "aaaa>"})


def test_numbers_lie_within_the_buckets_and_leave_0_to_padding() -> None:
    found = [run for word in ("adorable", "unbelievably", "größer", "🙂🙂🙂") for run in runs(word, 7)]
    assert min(found) >= 1
    assert max(found) <= 7


def test_words_alike_share_runs() -> None:
    known, new, other = (set(runs(word, MANY)) for word in ("unbelievable", "unbelievably", "terrible"))
    assert len(known & new) > 20 > 5 > len(new & other)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_batch_has_the_runs_of_each_word_and_zeros_elsewhere(width: int) -> None:
    texts = [["good", "food"], [], ["bad", "good", "wine"]]
    found = Spelling(texts, MANY).batch([2, 1, 0], width)
    assert found.shape[:2] == (3, width)
    for row, text in zip(found.tolist(), [texts[2], texts[1], texts[0]], strict=True):
        for place, numbers in enumerate(row):
            expected = runs(text[place], MANY) if place < len(text) else []
            assert numbers == expected + [0] * (len(numbers) - len(expected))


def test_nothing_to_spell_is_a_place_of_padding() -> None:
    assert torch.equal(Spelling([[]], MANY).batch([0], 2), torch.zeros(1, 2, 1, dtype=torch.int64))
