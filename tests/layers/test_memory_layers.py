"""Sentences by the paper's formula, empty memories among statements, and a start without softmax."""

from collections import Counter

import pytest
import torch

from saccade.attention import attend, lengths
from saccade.layers.memory_layers import Answers, Hop, LinearStart, MemorySoftmax, Sentences, ages, in_places, spread_ages

COUNTS = torch.tensor([3, 0, 2])


def test_position_encoding_is_the_papers_formula() -> None:
    width, sizes = 4, [3, 1, 5]
    model = Sentences(9, 2, width, positions=True)
    tokens = torch.randint(0, 9, (3, 5), generator=torch.Generator().manual_seed(0))
    found = model(tokens, torch.tensor(sizes)).detach().unflatten(1, (2, width))
    for row, most in enumerate(sizes):
        for table in range(2):
            for k in range(1, width + 1):
                column = table * width + k - 1
                expected = 2 * sum(
                    ((1 - j / most) - (k / width) * (1 - 2 * j / most))
                    * float(model.vectors.detach()[tokens[row, j - 1], column])
                    for j in range(1, most + 1)
                )
                assert float(found[row, table, k - 1]) == pytest.approx(expected, abs=1e-6)


def test_a_bag_of_words_is_a_sum_and_its_order_does_not_matter() -> None:
    bag, placed = (Sentences(9, 1, 4, positions=positions) for positions in (False, True))
    one, other, size = torch.tensor([[1, 2, 3]]), torch.tensor([[3, 1, 2]]), torch.tensor([3])
    torch.testing.assert_close(bag(one, size)[0], bag.vectors[1:4].sum(0))
    torch.testing.assert_close(bag(one, size), bag(other, size))
    assert not torch.allclose(placed(one, size), placed(other, size))


def test_ages_count_back_from_the_last_statement() -> None:
    assert ages(COUNTS, 5).tolist() == [2, 1, 0, 1, 0]


def test_empty_memories_are_spread_evenly_and_keep_the_order() -> None:
    torch.manual_seed(0)
    seen = Counter(tuple(spread_ages(torch.tensor([3]), 3, 3, 0.5).tolist()) for _ in range(3000))
    # None, one or two empty ones with a chance of a third each; of one, four places; of two, ten pairs of places.
    assert set(seen) == {(a, b, c) for a in range(5) for b in range(a) for c in range(b) if a <= 4}
    assert seen[2, 1, 0] / 3000 == pytest.approx(1 / 3 + 1 / 12 + 1 / 30, abs=0.03)
    assert seen[3, 2, 0] / 3000 == pytest.approx(1 / 12 + 1 / 30, abs=0.025)
    assert seen[4, 3, 0] / 3000 == pytest.approx(1 / 30, abs=0.015)
    assert spread_ages(COUNTS, 5, 3, 0.0).tolist() == ages(COUNTS, 5).tolist()


def test_rows_stand_in_the_places_of_their_memories() -> None:
    rows = torch.arange(1.0, 6.0)[:, None]
    assert in_places(rows, COUNTS, 4)[..., 0].tolist() == [[1, 2, 3, 0], [0, 0, 0, 0], [4, 5, 0, 0]]


def read(normalize: MemorySoftmax) -> tuple[torch.Tensor, torch.Tensor]:
    """What a hop reads of two memories of three and two statements, and its weights."""
    torch.manual_seed(1)
    state, keys, values = torch.randn(2, 4), torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    mask = lengths(torch.tensor([3, 2]))
    attended = attend(state[:, None], keys, values, score="dot", mask=mask, normalize=normalize)
    torch.testing.assert_close(Hop()(state, keys, values, mask, normalize), attended.context[:, 0])
    scores = torch.einsum("bd,bmd->bm", state, keys) * (torch.arange(3) < torch.tensor([[3], [2]]))
    return scores, attended.weights()[:, 0]


def test_empty_places_of_a_memory_have_scores_of_zero_and_nothing_is_read_of_them() -> None:
    scores, weights = read(MemorySoftmax(torch.tensor([2, 3])))
    whole = torch.cat((scores, torch.zeros(2, 2)), 1).softmax(-1)  # what is behind the second's two statements is empty
    torch.testing.assert_close(weights[0], whole[0, :3])
    torch.testing.assert_close(weights[1, :2], whole[1, :2])
    assert weights[1, 2] == 0


def test_a_full_memory_has_a_plain_softmax() -> None:
    scores, weights = read(MemorySoftmax(torch.tensor([0, 0])))
    torch.testing.assert_close(weights[0], scores[0].softmax(-1))
    torch.testing.assert_close(weights[1, :2], scores[1, :2].softmax(-1))


def test_a_linear_start_reads_raw_scores_and_then_softmax() -> None:
    start, empty = LinearStart(2), torch.tensor([2, 3])
    for _ in range(2):
        scores, weights = read(MemorySoftmax(empty, start.left))
        torch.testing.assert_close(weights, scores)
        start.count()
    assert int(start.left) == 0
    start.count()
    assert int(start.left) == 0
    torch.testing.assert_close(read(MemorySoftmax(empty, start.left))[1], read(MemorySoftmax(empty))[1])


def test_answers_that_are_words_share_their_vectors() -> None:
    torch.manual_seed(0)
    answers, vectors, state = Answers([4, -1, 2, -1], 3), torch.randn(6, 6), torch.randn(2, 3)
    assert answers.own is not None
    found, known = answers(state, vectors), vectors[:, 3:]
    rows = torch.stack([known[4], answers.own[0], known[2], answers.own[1]])
    torch.testing.assert_close(found, state @ rows.T)
    assert Answers([1, 2], 3).own is None
