"""The key-value memory is the memory network where its keys are its values, and finds the facts that a question is about."""

import torch

from saccade.data.tensors import FactsInput, StoryInput
from saccade.data.tokenizers import learned_layout
from saccade.systems import key_value_memory, memory_network

TOKENS = torch.tensor([[4, 5, 6], [7, 8, 0], [5, 5, 9], [4, 0, 0], [6, 9, 0], [9, 8, 7]])
SIZES, COUNTS = torch.tensor([3, 2, 3, 1, 2, 3]), torch.tensor([2, 2])  # two memories, both full


def pair(hops: int = 3, positions: str = "positions") -> tuple[key_value_memory.Model, memory_network.Model]:
    """Both with the same vectors in every table, and no matrices and ages that could tell them apart."""
    torch.manual_seed(0)
    common = {"embedding_size": 4, "num_hops": hops, "encoding": positions}
    facts = key_value_memory.Model(key_value_memory.Config(**common), learned_layout(10), (4, 7, -1))  # type: ignore[arg-type]
    stories = memory_network.Model(memory_network.Config(**common), learned_layout(10), 2, (4, 7, -1))  # type: ignore[arg-type]
    with torch.no_grad():
        stories.sentences.vectors.copy_(facts.sentences.vectors.repeat(1, hops + 1))
        stories.ages.weight.zero_()
        assert stories.answers.own is not None
        assert facts.answers.own is not None
        stories.answers.own.copy_(facts.answers.own)
    return facts.eval(), stories.eval()


def given() -> tuple[FactsInput, StoryInput]:
    whole = StoryInput(tokens=TOKENS, lengths=SIZES, counts=COUNTS, most=2)
    same = FactsInput(tokens=TOKENS, lengths=SIZES, counts=COUNTS, most=2, values=TOKENS[:4], value_lengths=SIZES[:4])
    return same, whole


def test_with_keys_that_are_values_it_is_the_memory_network() -> None:
    for hops in (1, 3):
        for encoding in ("positions", "words"):
            facts, stories = pair(hops, encoding)
            same, whole = given()
            torch.testing.assert_close(facts.logits(same), stories.logits(whole), atol=1e-6, rtol=1e-6)


def test_with_other_values_it_is_not() -> None:
    facts, stories = pair()
    same, whole = given()
    other = FactsInput(
        tokens=TOKENS, lengths=SIZES, counts=COUNTS, most=2, values=TOKENS[:4].flip(0), value_lengths=SIZES[:4].flip(0)
    )
    assert not torch.allclose(facts.logits(other), stories.logits(whole), atol=1e-3)
    assert not torch.allclose(facts.logits(other), facts.logits(same), atol=1e-3)


def test_each_hop_has_a_matrix_of_its_own() -> None:
    facts, _ = pair(2)
    same, _ = given()
    plain = facts.logits(same)
    for matrix in facts.between:
        with torch.no_grad():
            before = matrix.clone()
            matrix.mul_(-1.0)
            assert not torch.allclose(facts.logits(same), plain, atol=1e-3)
            matrix.copy_(before)
