"""What is streamed is what search returns, and no earlier than it is sure."""

import math
from itertools import chain

import pytest
import torch

from saccade.data.tokenizers import END, START
from saccade.errors import UsageError
from saccade.search import Config, search, stream
from tests.search.writers import IDS, RecurrentWriter, TableWriter

CONFIGS = [
    Config(max_length=15),
    Config(method="beam", beam=4, max_length=15),
    Config(method="beam", beam=3, n_best=3, length_penalty=0.0, max_length=15),
    Config(method="beam", beam=5, n_best=2, length_penalty=2.0, max_length=15),
    Config(method="sample", max_length=15, seed=3),
    Config(method="sample", n_best=3, max_length=15),
]
each_config = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")


@each_config
@pytest.mark.parametrize("end_bonus", [-50.0, 0.0, 1.5])
def test_streams_join_to_the_best_text(config: Config, end_bonus: float) -> None:
    for seed in range(3):
        writer = TableWriter(20, end_bonus=end_bonus, seed=seed)
        joined: list[list[int]] = [[] for _ in range(8)]
        for fresh in stream(writer, torch.arange(8), config, inputs=8, **IDS):
            for text, tokens in zip(joined, fresh, strict=True):
                text += tokens
        assert joined == [best[0].tokens for best in search(writer, torch.arange(8), config, inputs=8, **IDS)]


@pytest.mark.parametrize("config", [CONFIGS[0], CONFIGS[4]], ids=lambda config: config.method)
def test_one_hypothesis_streams_a_token_at_each_step(config: Config) -> None:
    writer = TableWriter(20, end_bonus=1.0)
    (text,) = search(writer, torch.arange(1), config, inputs=1, **IDS)[0]
    rows = stream(writer, torch.arange(1), config, inputs=1, **IDS)
    steps = len(writer.calls.rows)
    for number, token in enumerate(text.tokens, 1):
        assert next(rows) == [[token]]
        assert len(writer.calls.rows) == steps + number  # nothing was computed ahead
    assert list(rows) == ([[[]]] if text.finished else [])


def test_a_beam_streams_what_its_hypotheses_share() -> None:
    writer = TableWriter(20, end_bonus=-50.0)
    writer.table[..., 7] += 1.0
    config = Config(method="beam", beam=3, length_penalty=0.0, max_length=40)
    streamed = list(stream(writer, torch.arange(8), config, inputs=8, **IDS))
    assert len(streamed) == 40
    early = [sum(bool(fresh[place]) for fresh in streamed[:-1]) for place in range(8)]
    assert min(early) > 3, "beams have much in common, and say it before the end"


def test_a_text_that_ended_and_may_win_is_waited_for() -> None:
    """After the first token an ending is likely; what follows is likelier, in the end, or not."""
    for place in range(8):
        writer = TableWriter(12, end_bonus=1.0)
        config = Config(method="beam", beam=2, length_penalty=1.0, max_length=12)
        (best,) = search(writer, torch.tensor([place]), config, inputs=1, **IDS)[0]
        seen: list[int] = []
        for fresh in stream(writer, torch.tensor([place]), config, inputs=1, **IDS):
            seen += fresh[0]
            assert seen == best.tokens[: len(seen)]
        assert seen == best.tokens


def test_inputs_that_are_done_say_no_more_and_dead_ends_nothing() -> None:
    writer = TableWriter(30, end_bonus=2.0)
    writer.table[2] = -math.inf
    streamed = list(stream(writer, torch.arange(8), Config(max_length=40), inputs=8, **IDS))
    found = search(writer, torch.arange(8), Config(max_length=40), inputs=8, **IDS)
    for place, best in enumerate(found):
        lengths = [len(fresh[place]) for fresh in streamed]
        written = len(best[0].tokens) if best else 0
        assert lengths == [1] * written + [0] * (len(streamed) - written)
    assert found[2] == []


@each_config
def test_streams_of_a_network(config: Config) -> None:
    writer = RecurrentWriter(15)
    memory = (torch.randn(5, 7, 12), torch.tensor([7, 2, 5, 1, 4]))
    streamed = stream(writer, memory, config, inputs=5, **IDS)
    joined = [list(chain(*parts)) for parts in zip(*streamed, strict=True)]
    assert joined == [best[0].tokens for best in search(writer, memory, config, inputs=5, **IDS)]


def test_no_inputs_no_stream_and_mistakes_are_told_at_once() -> None:
    assert list(stream(TableWriter(5), torch.arange(0), Config(), inputs=0, **IDS)) == []
    with pytest.raises(UsageError, match=r"^banned: "):
        stream(TableWriter(5), torch.arange(2), Config(), inputs=2, start=START, end=END, banned=(END,))


def test_gradients_are_as_before_between_the_tokens() -> None:
    for _ in stream(TableWriter(20), torch.arange(2), Config(max_length=3), inputs=2, **IDS):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
