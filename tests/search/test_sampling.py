"""Sampling draws what the writer says, and the same for the same seed."""

import math
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.data.tokenizers import END, PAD, START
from saccade.search import Config, search
from saccade.search.sampling import _source
from tests.search.writers import IDS, RecurrentWriter, TableWriter

DRAWS = 4000


def first_tokens(writer: TableWriter, config: Config) -> Tensor:
    """How often each token came first among the draws."""
    texts = search(writer, torch.arange(1), config, inputs=1, **IDS)[0]
    assert len(texts) == DRAWS
    counts = Counter(text.tokens[0] if text.tokens else END for text in texts)
    return torch.tensor([float(counts[token]) for token in range(writer.table.shape[-1])])


def expected(writer: TableWriter, temperature: float = 1.0) -> Tensor:
    logits = writer.log_probs(0, []).double() / temperature
    logits[[PAD, START]] = -math.inf
    return logits.softmax(-1)


def agree(counts: Tensor, probabilities: Tensor) -> None:
    """Chi-square below what one in a million fair draws exceeds (Wilson–Hilferty)."""
    assert counts[probabilities == 0].sum() == 0
    possible = probabilities > 0
    hoped = DRAWS * probabilities[possible]
    chi_square = float(((counts[possible] - hoped) ** 2 / hoped).sum())
    freedom = int(possible.sum()) - 1
    spread = 2 / (9 * freedom)
    assert chi_square < freedom * (1 - spread + 4.75 * math.sqrt(spread)) ** 3


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_frequencies_are_the_probabilities(temperature: float) -> None:
    writer = TableWriter(9)
    counts = first_tokens(writer, Config(method="sample", n_best=DRAWS, max_length=1, temperature=temperature))
    agree(counts, expected(writer, temperature))


def test_frequencies_of_later_steps_too() -> None:
    writer = TableWriter(7)
    texts = search(writer, torch.arange(1), Config(method="sample", n_best=DRAWS, max_length=2), inputs=1, **IDS)[0]
    after = Counter(text.tokens[1] if len(text.tokens) > 1 else END for text in texts if text.tokens)
    hoped = torch.zeros(7)
    for first in range(END + 1, 7):
        following = writer.log_probs(0, [first]).exp()
        following[[PAD, START]] = 0
        hoped += expected(writer)[first] * following / following.sum()
    agree(torch.tensor([float(after[token]) for token in range(7)]) * DRAWS / sum(after.values()), hoped / hoped.sum())


def test_top_k_draws_among_the_likeliest() -> None:
    writer = TableWriter(12)
    hoped = expected(writer)
    hoped[hoped < hoped.sort(descending=True).values[3]] = 0
    agree(first_tokens(writer, Config(method="sample", n_best=DRAWS, max_length=1, top_k=4)), hoped / hoped.sum())


@pytest.mark.parametrize("top_k", [0, 6])
@pytest.mark.parametrize("top_p", [0.3, 0.7, 0.95])
def test_top_p_draws_among_the_fewest_that_reach_it(top_p: float, top_k: int) -> None:
    writer = TableWriter(12, seed=5)
    hoped = expected(writer, 3.0)
    if top_k:
        hoped[hoped < hoped.sort(descending=True).values[top_k - 1]] = 0
        hoped /= hoped.sum()
    kept, reached = [], 0.0
    for token in hoped.argsort(descending=True).tolist():
        if reached < top_p:
            kept.append(token)
            reached += float(hoped[token])
    nucleus = torch.zeros_like(hoped)
    nucleus[kept] = hoped[kept]
    config = Config(method="sample", n_best=DRAWS, max_length=1, top_p=top_p, top_k=top_k, temperature=3.0)
    agree(first_tokens(writer, config), nucleus / nucleus.sum())


@pytest.mark.parametrize(
    "limit", [{"top_k": 1}, {"top_p": 1e-9}, {"min_p": 1.0}, {"temperature": 1e-6}, {"temperature": 1e-300}]
)
def test_nothing_left_to_chance_is_greedy(limit: dict[str, float]) -> None:
    writer = TableWriter(300, end_bonus=1.0)
    config = Config(method="sample", max_length=30, **limit)  # type: ignore[arg-type]
    assert search(writer, torch.arange(8), config, inputs=8, **IDS) == search(
        writer, torch.arange(8), Config(max_length=30), inputs=8, **IDS
    )


def test_top_k_of_one_is_greedy_among_equals() -> None:
    writer = TableWriter(300)
    writer.table[:] = -math.log(300)
    config = Config(method="sample", top_k=1, max_length=5)
    assert search(writer, torch.arange(8), config, inputs=8, **IDS) == search(
        writer, torch.arange(8), Config(max_length=5), inputs=8, **IDS
    )


def test_an_endless_temperature_is_uniform_over_what_is_possible() -> None:
    writer = TableWriter(8)
    writer.table[..., 5] = -math.inf
    hoped = torch.tensor([0, 0, 0.2, 0.2, 0.2, 0, 0.2, 0.2])
    for temperature in (1e12, math.inf):
        config = Config(method="sample", n_best=DRAWS, max_length=1, temperature=temperature, seed=1)
        agree(first_tokens(writer, config), hoped)


def plain_sample(writer: TableWriter, place: int, sample: int, config: Config, prompt: list[int]) -> tuple[list[int], float]:
    """One text drawn as it is defined: token by token, in lists, with the same random numbers."""
    source, total = _source(config.seed, place, sample), 0.0
    text: list[int] = []
    for _ in range(config.max_length):
        own = writer.log_probs(place, [*prompt, *text]).double().tolist()
        values = [value * (config.repetition_penalty if token in (*prompt, *text) else 1) for token, value in enumerate(own)]
        values = [-math.inf if token in (PAD, START) else value / config.temperature for token, value in enumerate(values)]
        order = sorted(range(len(values)), key=lambda token: -values[token])
        kept = order[: config.top_k or None]
        chances = {token: math.exp(values[token] - values[order[0]]) for token in kept}
        whole, reached, nucleus = sum(chances.values()), 0.0, []
        for token in kept:
            if reached < config.top_p * whole:
                nucleus.append(token)
                reached += chances[token]
        possible = sorted(token for token in nucleus if chances[token] >= config.min_p)
        if config.top_k:
            possible = [token for token in kept if token in possible]
        target, reached = source.random() * sum(chances[token] for token in possible), 0.0
        for token in possible:
            reached += chances[token]
            if target < reached:
                break
        total += own[token]
        if token == END:
            break
        text.append(token)
    return text, total


@pytest.mark.parametrize("penalty", [1.0, 1.3, 3.0, 0.5])
@pytest.mark.parametrize(
    "limits", [{}, {"min_p": 0.1}, {"min_p": 0.3, "temperature": 2.0}, {"top_k": 6, "top_p": 0.9}], ids=str
)
def test_samples_are_those_of_the_definition(limits: dict[str, Any], penalty: float) -> None:
    config = Config(method="sample", n_best=3, max_length=12, seed=4, repetition_penalty=penalty, **limits)
    writer = TableWriter(15, end_bonus=-2.0)
    prompts = [[5, 6], [7, 7], [], [8], [9, 10, 11], [3], [14], []]
    found = search(writer, torch.arange(8), config, inputs=8, **IDS, prompts=prompts)
    for place, texts in enumerate(found):
        plain = [plain_sample(writer, place, sample, config, prompts[place]) for sample in range(3)]
        assert sorted(text.tokens for text in texts) == sorted(tokens for tokens, _ in plain)
        assert sorted(text.log_prob for text in texts) == pytest.approx(sorted(total for _, total in plain), abs=1e-6)


def test_min_p_draws_what_is_likely_beside_the_likeliest() -> None:
    writer = TableWriter(12)
    hoped = expected(writer, 2.0)
    hoped[hoped < 0.1 * hoped.max()] = 0
    assert 3 < int((hoped > 0).sum()) < 10
    config = Config(method="sample", n_best=DRAWS, max_length=1, min_p=0.1, temperature=2.0)
    agree(first_tokens(writer, config), hoped / hoped.sum())


def test_a_penalty_on_repetition_makes_texts_more_varied() -> None:
    writer = TableWriter(30, end_bonus=-50.0)
    writer.table[..., 7] += 5.0
    writer.table = writer.table.log_softmax(-1)
    shares = []
    for penalty in (1.0, 1.5, 100.0):
        config = Config(method="sample", max_length=20, repetition_penalty=penalty)
        texts = [best[0].tokens for best in search(writer, torch.arange(8), config, inputs=8, **IDS)]
        shares.append(sum(len(set(text)) for text in texts))
    assert shares == sorted(set(shares))


def test_the_seed_and_the_position_are_all_that_matters() -> None:
    writer = TableWriter(30)
    same_input = torch.zeros(3, dtype=torch.long)
    config = Config(method="sample", max_length=15, seed=7)
    torch.manual_seed(1)
    one = search(writer, same_input, config, inputs=3, **IDS)
    torch.manual_seed(2)
    assert search(writer, same_input, config, inputs=3, **IDS) == one
    assert len({tuple(text.tokens) for (text,) in one}) == 3
    assert search(writer, same_input, config, inputs=3, **IDS, positions=[2, 0, 1]) == [one[2], one[0], one[1]]
    assert search(writer, same_input, Config(method="sample", max_length=15, seed=8), inputs=3, **IDS) != one


def test_torch_draws_the_same_after_sampling() -> None:
    torch.manual_seed(5)
    hoped = torch.rand(3)
    torch.manual_seed(5)
    search(TableWriter(30), torch.arange(2), Config(method="sample"), inputs=2, **IDS)
    assert torch.equal(torch.rand(3), hoped)


def test_more_samples_keep_the_first_ones() -> None:
    writer = TableWriter(30)
    few, many = (
        search(writer, torch.arange(4), Config(method="sample", n_best=count, max_length=15), inputs=4, **IDS)
        for count in (2, 6)
    )
    for some, more in zip(few, many, strict=True):
        assert {tuple(text.tokens) for text in some} <= {tuple(text.tokens) for text in more}


def test_samples_rank_by_score_and_tell_the_writers_own_probability() -> None:
    writer = RecurrentWriter(15)
    memory = (torch.randn(2, 4, 12), torch.tensor([4, 4]))
    config = Config(method="sample", n_best=6, max_length=10, temperature=0.7, top_k=5, length_penalty=0.5)
    for texts in search(writer, memory, config, inputs=2, **IDS):
        scores = [text.score for text in texts]
        assert scores == sorted(scores, reverse=True)
        for text in texts:
            length = len(text.tokens) + text.finished
            assert text.score == pytest.approx(text.log_prob / length**0.5)
