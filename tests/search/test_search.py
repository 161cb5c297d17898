"""What every method keeps: inputs do not know each other, leave when done, and a broken writer is refused."""

import math

import pytest
import torch
from torch import Tensor

from saccade.config import build
from saccade.data.tokenizers import END, PAD, START
from saccade.errors import SaccadeError, ShapeError, UsageError
from saccade.search import Config, Step, search
from tests.search.writers import RecurrentWriter, TableWriter

CONFIGS = [
    Config(max_length=20),
    Config(method="beam", beam=5, n_best=3, max_length=20),
    Config(method="sample", n_best=3, max_length=20, seed=3),
    Config(method="sample", n_best=2, max_length=20, top_k=4, top_p=0.8, temperature=1.3),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_an_input_does_not_know_its_batch(config: Config) -> None:
    writer = TableWriter(30, end_bonus=1.5)
    together = search(writer, torch.arange(8), config, inputs=8)
    for place in range(8):
        (alone,) = search(writer, torch.tensor([place]), config, inputs=1, positions=[place])
        assert alone == together[place]
    assert len({len(best[0].tokens) for best in together}) > 2


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_a_network_in_a_padded_batch_writes_as_alone(config: Config) -> None:
    writer = RecurrentWriter(15)
    source, sizes = torch.randn(6, 9, 12), torch.tensor([9, 3, 1, 5, 9, 7])
    together = search(writer, (source, sizes), config, inputs=6)
    for place, size in enumerate(sizes.tolist()):
        memory = (source[place : place + 1, :size], sizes[place : place + 1])
        (alone,) = search(writer, memory, config, inputs=1, positions=[place])
        assert [h.tokens for h in alone] == [h.tokens for h in together[place]]
        assert [h.log_prob for h in alone] == pytest.approx([h.log_prob for h in together[place]], abs=1e-5)


def test_finished_inputs_leave() -> None:
    writer = TableWriter(20, end_bonus=2.0)
    found = search(writer, torch.arange(8), Config(max_length=40), inputs=8)
    written = [len(hypothesis.tokens) + hypothesis.finished for (hypothesis,) in found]
    assert writer.calls.rows == [(sum(length > step for length in written), 1) for step in range(max(written))]
    assert len(set(written)) > 2


def test_the_state_is_left_alone_where_nothing_changes() -> None:
    for config in CONFIGS:
        writer = TableWriter(30, end_bonus=1.0)
        search(writer, torch.arange(8), config, inputs=8)
        assert writer.calls.idle_selects == 0
        assert writer.calls.selects < len(writer.calls.rows)


def test_greedy_alone_never_reorders() -> None:
    writer = TableWriter(30)
    search(writer, torch.arange(1), Config(max_length=10), inputs=1)
    assert writer.calls.selects == 0


def test_no_inputs_no_texts() -> None:
    assert search(TableWriter(5), torch.arange(0), Config(), inputs=0) == []


def test_stopped_by_the_limit() -> None:
    writer = TableWriter(30, end_bonus=-100.0)
    for config in CONFIGS:
        for texts in search(writer, torch.arange(8), config, inputs=8):
            assert len(texts) == config.n_best
            assert all(not text.finished and len(text.tokens) == 20 for text in texts)


def test_pad_and_start_are_never_written() -> None:
    writer = TableWriter(30)
    writer.table[..., : START + 1] = 0.0
    writer.table[..., START + 1 :] -= 20.0
    for config in CONFIGS:
        texts = [text for best in search(writer, torch.arange(8), config, inputs=8) for text in best]
        assert texts
        assert all(token > END for text in texts for token in text.tokens)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("token", [PAD, END, 17])
def test_nan_is_refused_in_one_line(config: Config, value: float, token: int) -> None:
    writer = TableWriter(30)
    writer.table[3, :, token] = value
    with pytest.raises(SaccadeError, match=r"^log_probs of step 0, input 3: expected .*$"):
        search(writer, torch.arange(8), config, inputs=8)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_a_dead_end_is_dropped(config: Config) -> None:
    writer = TableWriter(30)
    writer.table[2] = -math.inf
    found = search(writer, torch.arange(4), config, inputs=4)
    assert [len(texts) for texts in found] == [config.n_best, config.n_best, 0, config.n_best]


def test_wrong_questions_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^n_best: expected at most beam \(4\), got 5; "):
        Config(method="beam", n_best=5)
    with pytest.raises(UsageError, match=r"^search.n_best: greedy search writes 1 hypothesis, got 2; "):
        build(Config, {"n_best": 2}, "search")
    with pytest.raises(UsageError, match=r"^search.top_p: .* got 1.5"):
        build(Config, {"method": "sample", "top_p": 1.5}, "search")
    with pytest.raises(UsageError, match=r"^positions: expected 2, one for each input, got 1"):
        search(TableWriter(5), torch.arange(2), Config(), inputs=2, positions=[0])
    with pytest.raises(ShapeError, match=r"expected \(3, 1, vocabulary of 3 or more\), got \(2, 1, 5\)"):
        search(Wrong(5), torch.arange(2), Config(), inputs=3)


class Wrong(TableWriter):
    """Answers for other rows than it was asked for."""

    def step(self, tokens: Tensor, state: object) -> Step:
        return Step(torch.zeros(2, 1, 5), state, list)
