"""Vectors of words by themselves and by their letters."""

import pytest
import torch

from saccade.data.tokenizers import UNKNOWN
from saccade.layers.word_embedding import WordVectors


def made(runs: int = 9, word_dropout: float = 0.0, letter_dropout: float = 0.0) -> WordVectors:
    return WordVectors(12, 4, runs=runs, word_dropout=word_dropout, letter_dropout=letter_dropout)


def test_a_word_is_its_own_vector_and_the_mean_of_its_letters() -> None:
    one = made()
    assert one.letters is not None
    own, letters = one.weight, one.letters.weight
    found = one(torch.tensor([[5, 7]]), torch.tensor([[[1, 2, 9], [3, 0, 0]]]))
    torch.testing.assert_close(found[0, 0], own[5] + letters[[1, 2, 9]].mean(0))
    torch.testing.assert_close(found[0, 1], own[7] + letters[3])


def test_padding_has_no_letters_and_learns_none() -> None:
    one = made()
    found = one(torch.tensor([[5, 0]]), torch.tensor([[[1, 2], [0, 0]]]))
    torch.testing.assert_close(found[0, 1], one.weight[0])
    found.sum().backward()
    assert one.letters is not None
    assert one.letters.weight.grad is not None
    assert one.letters.weight.grad.abs().sum(1).bool().tolist() == [False, True, True, *[False] * 7]


def test_unknown_words_differ_by_their_letters() -> None:
    found = made()(torch.full((1, 2), UNKNOWN), torch.tensor([[[1, 2], [3, 4]]]))
    assert not torch.allclose(found[0, 0], found[0, 1])


def test_without_letters_it_is_an_embedding() -> None:
    one, words = made(runs=0), torch.randint(12, (3, 5))
    assert {name for name, _ in one.named_parameters()} == {"weight"}
    torch.testing.assert_close(one(words), torch.nn.functional.embedding(words, one.weight))


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_so_many_runs_are_not_read_in_training(share: float) -> None:
    one = made(runs=1000, letter_dropout=share)
    assert one.letters is not None
    one(torch.full((1, 1), UNKNOWN), torch.arange(1, 1001)[None, None]).sum().backward()
    assert one.letters.weight.grad is not None
    read = one.letters.weight.grad.abs().sum(1) > 0
    assert read.float().mean().item() == pytest.approx(1 - share, abs=0.06)
    words, spelled = torch.full((1, 1), UNKNOWN), torch.arange(1, 1001)[None, None]
    torch.testing.assert_close(one.eval()(words, spelled), one(words, spelled))


def test_a_word_read_as_unknown_keeps_its_letters() -> None:
    one = made(word_dropout=1.0)
    assert one.letters is not None
    found = one(torch.tensor([[5]]), torch.tensor([[[2]]]))
    torch.testing.assert_close(found[0, 0], one.weight[UNKNOWN] + one.letters.weight[2])
