"""What every method keeps: inputs do not know each other, leave when done, and a broken writer is refused."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.config import build
from saccade.data.tokenizers import END, PAD, START
from saccade.errors import SaccadeError, ShapeError, UsageError
from saccade.search import Config, Step, search
from tests.search.writers import IDS, RecurrentWriter, TableWriter

CONFIGS = [
    Config(max_length=20),
    Config(method="beam", beam=5, n_best=3, max_length=20),
    Config(method="sample", n_best=3, max_length=20, seed=3),
    Config(method="sample", n_best=2, max_length=20, top_k=4, top_p=0.8, temperature=1.3),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_an_input_does_not_know_its_batch(config: Config) -> None:
    writer = TableWriter(30, end_bonus=1.5)
    together = search(writer, torch.arange(8), config, inputs=8, **IDS)
    for place in range(8):
        (alone,) = search(writer, torch.tensor([place]), config, inputs=1, **IDS, positions=[place])
        assert alone == together[place]
    assert len({len(best[0].tokens) for best in together}) > 2


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_a_network_in_a_padded_batch_writes_as_alone(config: Config) -> None:
    writer = RecurrentWriter(15)
    source, sizes = torch.randn(6, 9, 12), torch.tensor([9, 3, 1, 5, 9, 7])
    together = search(writer, (source, sizes), config, inputs=6, **IDS)
    for place, size in enumerate(sizes.tolist()):
        memory = (source[place : place + 1, :size], sizes[place : place + 1])
        (alone,) = search(writer, memory, config, inputs=1, **IDS, positions=[place])
        assert [h.tokens for h in alone] == [h.tokens for h in together[place]]
        assert [h.log_prob for h in alone] == pytest.approx([h.log_prob for h in together[place]], abs=1e-5)


def test_finished_inputs_leave() -> None:
    writer = TableWriter(20, end_bonus=2.0)
    found = search(writer, torch.arange(8), Config(max_length=40), inputs=8, **IDS)
    written = [len(hypothesis.tokens) + hypothesis.finished for (hypothesis,) in found]
    assert writer.calls.rows == [(sum(length > step for length in written), 1) for step in range(max(written))]
    assert len(set(written)) > 2


def test_the_state_is_left_alone_where_nothing_changes() -> None:
    for config in CONFIGS:
        writer = TableWriter(30, end_bonus=1.0)
        search(writer, torch.arange(8), config, inputs=8, **IDS)
        assert writer.calls.idle_selects == 0
        assert writer.calls.selects < len(writer.calls.rows)


def test_greedy_alone_never_reorders() -> None:
    writer = TableWriter(30)
    search(writer, torch.arange(1), Config(max_length=10), inputs=1, **IDS)
    assert writer.calls.selects == 0


def test_no_inputs_no_texts() -> None:
    assert search(TableWriter(5), torch.arange(0), Config(), inputs=0, **IDS) == []


def test_stopped_by_the_limit() -> None:
    writer = TableWriter(30, end_bonus=-100.0)
    for config in CONFIGS:
        for texts in search(writer, torch.arange(8), config, inputs=8, **IDS):
            assert len(texts) == config.n_best
            assert all(not text.finished and len(text.tokens) == 20 for text in texts)


BANNED = [(), (PAD,), (PAD, START), (3, 17), (PAD, 9, 29), (28, 29), (START, 5, 6, 28)]


@pytest.mark.parametrize("banned", BANNED, ids=str)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_banned_ids_are_those_of_probability_0(config: Config, banned: tuple[int, ...]) -> None:
    writer, sure = TableWriter(30), TableWriter(30)
    writer.table[..., list(banned)] += 3.0
    sure.table[..., list(banned)] = -math.inf
    ids: dict[str, Any] = {"start": START, "end": END}
    found = search(writer, torch.arange(8), config, inputs=8, **ids, banned=banned)
    for best, others in zip(found, search(sure, torch.arange(8), config, inputs=8, **ids), strict=True):
        assert [text.tokens for text in best] == [text.tokens for text in others]
        assert [text.log_prob for text in best] == pytest.approx([text.log_prob for text in others], abs=1e-9)
    assert any(best[0].finished for best in found)


@pytest.mark.parametrize(("end", "banned"), [(0, (29,)), (29, (0,)), (12, ())])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_the_end_may_be_any_id(config: Config, end: int, banned: tuple[int, ...]) -> None:
    """The texts of the same writer, where the ids of END and `end` are exchanged."""
    writer, other = TableWriter(30, end_bonus=1.0), Exchanged(30, end)
    found = search(other, torch.arange(8), config, inputs=8, start=START, end=end, banned=[other.names[i] for i in banned])
    wanted = search(writer, torch.arange(8), config, inputs=8, start=START, end=END, banned=banned)
    if config.method != "sample":  # whose draws go by the order of ids
        exchanged = [[[other.names[token] for token in text.tokens] for text in best] for best in found]
        assert exchanged == [[text.tokens for text in best] for best in wanted]
    assert any(text.finished for best in found for text in best)
    assert all(end not in text.tokens for best in found for text in best)


class Exchanged(TableWriter):
    """A writer with END in another place of the vocabulary."""

    def __init__(self, vocabulary: int, end: int) -> None:
        super().__init__(vocabulary, end_bonus=1.0)
        self.names = list(range(vocabulary))
        self.names[end], self.names[END] = END, end

    def step(self, tokens: Tensor, state: Any) -> Step:
        step = super().step(torch.tensor(self.names)[tokens], state)
        return Step(step.log_probs[..., self.names], step.state, step.glance)


def test_each_input_may_start_from_its_own_token() -> None:
    writer = TableWriter(30, end_bonus=1.0)
    starts = [START, 5, 6, START, 7, 8, 9, 10]
    ids: dict[str, Any] = {"end": END, "banned": (PAD, START)}
    together = search(writer, torch.arange(8), CONFIGS[1], inputs=8, start=starts, **ids)
    for place, start in enumerate(starts):
        assert search(writer, torch.tensor([place]), CONFIGS[1], inputs=1, start=start, **ids) == [together[place]]


def test_pad_and_start_are_never_written() -> None:
    writer = TableWriter(30)
    writer.table[..., : START + 1] = 0.0
    writer.table[..., START + 1 :] -= 20.0
    for config in CONFIGS:
        texts = [text for best in search(writer, torch.arange(8), config, inputs=8, **IDS) for text in best]
        assert texts
        assert all(token > END for text in texts for token in text.tokens)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("token", [PAD, START, END, 17, 23])
def test_nan_is_refused_in_one_line(config: Config, value: float, token: int) -> None:
    writer = TableWriter(30)
    writer.table[3, :, token] = value
    with pytest.raises(SaccadeError, match=r"^log_probs of step 0, input 3: expected .*$"):
        search(writer, torch.arange(8), config, inputs=8, start=START, end=END, banned=(PAD, START, 17))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")
def test_a_dead_end_is_dropped(config: Config) -> None:
    writer = TableWriter(30)
    writer.table[2] = -math.inf
    found = search(writer, torch.arange(4), config, inputs=4, **IDS)
    assert [len(texts) for texts in found] == [config.n_best, config.n_best, 0, config.n_best]


def test_wrong_questions_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^n_best: expected at most beam \(4\), got 5; "):
        Config(method="beam", n_best=5)
    with pytest.raises(UsageError, match=r"^search.n_best: greedy search writes 1 hypothesis, got 2; "):
        build(Config, {"n_best": 2}, "search")
    with pytest.raises(UsageError, match=r"^search.top_p: .* got 1.5"):
        build(Config, {"method": "sample", "top_p": 1.5}, "search")
    with pytest.raises(UsageError, match=r"^positions: expected 2, one for each input, got 1"):
        search(TableWriter(5), torch.arange(2), Config(), inputs=2, **IDS, positions=[0])
    with pytest.raises(UsageError, match=r"^start: expected 2, one for each input, got 1"):
        search(TableWriter(5), torch.arange(2), Config(), inputs=2, start=[START], end=END)
    with pytest.raises(UsageError, match=r"^banned: expected ids other than the end, 2, .* got \[1, 2\]"):
        search(TableWriter(5), torch.arange(2), Config(), inputs=2, start=START, end=END, banned=(END, START))
    with pytest.raises(ShapeError, match=r"expected \(3, 1, vocabulary of 3 or more\), got \(2, 1, 5\)"):
        search(Wrong(5), torch.arange(2), Config(), inputs=3, **IDS)


class Wrong(TableWriter):
    """Answers for other rows than it was asked for."""

    def step(self, tokens: Tensor, state: object) -> Step:
        return Step(torch.zeros(2, 1, 5), state, list)
