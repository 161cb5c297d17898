"""What is hidden is a function of the draws alone, in the shares of the paper; parts follow each other, or do not."""

from itertools import pairwise

import numpy as np
import pytest

from saccade.data.draws import Draws
from saccade.data.masking import SentenceStore, masked, permuted
from saccade.data.tokenizers import END, MASK, PAD, START, learned_layout

KNOWN = learned_layout(100, masked=True)
TEXTS = [[[10, 11, 12], [13, 14], [15]], [[20, 21], [22, 23, 24, 25]], [[30], [], [31, 32]]]


def test_so_many_tokens_are_chosen_and_become_what_the_paper_says() -> None:
    tokens = np.array([START, *range(5, 85), END, *range(5, 85), END])
    rows = [masked(tokens, 0.15, KNOWN, Draws(3, number)) for number in range(400)]
    assert {len(row.places) for row in rows} == {24}
    hidden = kept = other = 0
    for row in rows:
        assert np.array_equal(row.truth, tokens[row.places])
        assert not np.isin(row.truth, [START, END, PAD]).any()
        rest = np.setdiff1d(np.arange(len(tokens)), row.places)
        assert np.array_equal(row.tokens[rest], tokens[rest])
        now = row.tokens[row.places]
        hidden += int((now == MASK).sum())
        kept += int((now == row.truth).sum())
        other += int(((now != MASK) & (now != row.truth)).sum())
        assert np.isin(now[now != MASK], np.arange(5, 100)).all()
    total = hidden + kept + other
    assert hidden / total == pytest.approx(0.8, abs=0.02)
    assert other / total == pytest.approx(0.1, abs=0.02)


def test_the_same_draws_hide_the_same_and_others_something_else() -> None:
    tokens = np.array([START, *range(5, 45), END])
    one, same, other = (masked(tokens, 0.15, KNOWN, Draws(*numbers)) for numbers in ((1, 2), (1, 2), (1, 3)))
    assert np.array_equal(one.tokens, same.tokens)
    assert not np.array_equal(one.places, other.places)
    assert len(masked(tokens[:3], 0.15, KNOWN, Draws(1)).places) == 1  # at least one, where there is one
    assert len(masked(np.array([START, END]), 0.15, KNOWN, Draws(1)).places) == 0


def test_a_store_knows_where_sentences_begin_and_texts_end() -> None:
    store = SentenceStore(TEXTS)
    assert store.tokens.tolist() == [10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 30, 31, 32]
    assert store.starts.tolist() == [0, 3, 5, 6, 8, 12, 13, 15]
    assert store.texts.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert store.run(0, 4) == [3, 5]
    assert store.run(0, 99) == [3, 5, 6]
    assert store.run(4, 99) == [12]
    assert store.token_rows() == [[10, 11, 12, 13, 14, 15], [20, 21, 22, 23, 24, 25], [30, 31, 32]]
    assert SentenceStore([]).token_rows() == []
    assert store.window(2, 4).tolist() == [15, 20, 21, 22]


def test_parts_follow_each_other_or_come_from_another_text() -> None:
    store = SentenceStore([[[100 * text + 3 * n, 100 * text + 3 * n + 1] for n in range(9)] for text in range(1, 5)])
    rows = [store.parts(number % len(store), 12, Draws(7, number)) for number in range(600)]
    for row in rows:
        assert len(row.first)
        assert len(row.second)
        texts = {int(token) // 100 for token in row.first}
        others = {int(token) // 100 for token in row.second}
        assert len(texts) == 1
        if row.stranger:
            assert not texts & others
        else:
            assert texts == others
            assert row.second[0] > row.first[-1]
            assert all(later > earlier for earlier, later in pairwise([*row.first, *row.second]))
    share = np.mean([row.stranger for row in rows])
    assert 0.5 <= share <= 0.7  # a last sentence has nothing behind it
    alone = SentenceStore([[[5, 6], [7, 8]]])
    assert alone.parts(1, 8, Draws(1)).stranger


def test_spans_of_up_to_so_many_tokens_are_predicted_in_a_random_order() -> None:
    tokens, before = np.array([*range(5, 95), END, START]), np.array([7, 8])
    rows = [permuted(tokens, before, 1 / 6, 5, KNOWN, Draws(3, number)) for number in range(400)]
    sizes, firsts = [], []
    for row in rows:
        assert np.array_equal(row.tokens, tokens)
        assert np.array_equal(row.memory, before)
        assert len({*row.places.tolist()}) == len(row.places)
        assert not np.isin(tokens[row.places], [START, END, PAD]).any()
        firsts.append(int(row.places[0] == row.places.min()))
        together = np.split(np.sort(row.places), np.flatnonzero(np.diff(np.sort(row.places)) > 1) + 1)
        sizes += [len(one) for one in together]
    share = sum(len(row.places) for row in rows) / (400 * 90)
    assert share == pytest.approx(1 / 6, abs=0.01)
    assert {1, 2, 3, 4, 5} <= {*sizes}
    assert np.mean(np.array(sizes) > 5) < 0.1  # neighbors of two spans
    assert np.mean(firsts) == pytest.approx(6 / 90, abs=0.04)  # any of them may come first
    alone = [permuted(tokens, before, 1 / 6, 1, KNOWN, Draws(3, number)) for number in range(50)]
    assert np.mean([(np.diff(np.sort(row.places)) == 1).mean() for row in alone]) < 0.1


def test_the_same_draws_permute_alike_and_of_a_short_text_one_token_is_predicted() -> None:
    tokens = np.array([*range(5, 45), END, START])
    one, same, other = (permuted(tokens, tokens, 0.2, 5, KNOWN, Draws(*of)) for of in ((1, 2), (1, 2), (1, 3)))
    assert np.array_equal(one.places, same.places)
    assert not np.array_equal(one.places, other.places)
    for number in range(20):
        short = permuted(np.array([9, 8, END, START]), tokens, 0.01, 1, KNOWN, Draws(number))
        assert len(short.places) == 1
        assert short.places[0] in (0, 1)
    assert not len(permuted(np.array([END, END, START]), tokens, 0.5, 5, KNOWN, Draws(1)).places)
