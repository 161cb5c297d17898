"""After a prompt a text goes on as if search had written the prompt itself, alone or beside prompts of other lengths."""

from itertools import chain
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.data.tensors import TextInput, padded
from saccade.data.tokenizers import END, START
from saccade.errors import UsageError
from saccade.search import Config, Prefiller, Step, forced, search, stream
from tests.search.test_reordering import SIZE, SMALL, SOURCES, lively
from tests.search.writers import IDS, RecurrentWriter, TableState, TableWriter

CONFIGS = [
    Config(max_length=12),
    Config(method="beam", beam=4, n_best=3, max_length=12),
    Config(method="sample", n_best=2, max_length=12, seed=3),
]
each_config = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
ONE_LENGTH = [[5, 6, 7], [8, 5, 5], [9, 9, 4], [3, 4, 5], [7, 7, 7], [4, 5, 6], [6, 5, 4], [5, 3, 9]]
LENGTHS = [[5, 6, 7], [], [9], [3, 4, 5], [7, 7], [4, 5, 6, END, 8], [6], []]


class AtOnce(TableWriter):
    """Reads a prompt at once."""

    prefilled = 0

    def prefill(self, tokens: Tensor, state: TableState) -> Step:
        self.prefilled += 1
        rows = len(self.calls.rows)
        for number in range(tokens.shape[1]):
            step = self.step(tokens[:, number, None], state)
            state = step.state
        del self.calls.rows[rows:]
        return step


@each_config
@pytest.mark.parametrize("writer", [TableWriter(20, end_bonus=1.0), AtOnce(20, end_bonus=1.0)], ids=["steps", "prefill"])
@pytest.mark.parametrize("prompts", [ONE_LENGTH, LENGTHS], ids=["one length", "lengths"])
def test_a_prompt_is_read_as_if_alone(config: Config, writer: TableWriter, prompts: list[list[int]]) -> None:
    together = search(writer, torch.arange(8), config, inputs=8, **IDS, prompts=prompts, looks=True)
    for place, prompt in enumerate(prompts):
        one: dict[str, Any] = {"inputs": 1, **IDS, "prompts": [prompt], "positions": [place]}
        (alone,) = search(writer, torch.tensor([place]), config, **one)
        assert [(text.tokens, text.log_prob) for text in alone] == [(text.tokens, text.log_prob) for text in together[place]]
    assert len({len(best[0].tokens) for best in together}) > 2


def test_what_is_written_is_what_follows_the_prompt() -> None:
    writer = TableWriter(20)
    found = search(writer, torch.arange(8), Config(max_length=1), inputs=8, **IDS, prompts=LENGTHS)
    for place, ((text,), prompt) in enumerate(zip(found, LENGTHS, strict=True)):
        following = writer.log_probs(place, prompt)[END:]
        assert (text.tokens or [END]) == [END + int(following.argmax())]
        assert text.log_prob == pytest.approx(float(following.max()))


def test_a_writer_that_can_reads_a_prompt_at_once() -> None:
    writer = AtOnce(20)
    assert isinstance(writer, Prefiller)
    assert not isinstance(TableWriter(20), Prefiller)
    search(writer, torch.arange(8), Config(max_length=1), inputs=8, **IDS, prompts=ONE_LENGTH)
    assert (writer.prefilled, len(writer.calls.rows)) == (1, 1)
    search(writer, torch.arange(8), Config(max_length=1), inputs=8, **IDS)
    assert (writer.prefilled, len(writer.calls.rows)) == (1, 2)


@each_config
def test_looks_go_back_to_the_prompt(config: Config) -> None:
    writer = TableWriter(20, end_bonus=1.0)
    found = search(writer, torch.arange(8), config, inputs=8, **IDS, prompts=LENGTHS, looks=True)
    for place, prompt in enumerate(LENGTHS):
        for text in found[place]:
            tokens = [*prompt, *text.tokens, *[END] * text.finished]
            (whole,) = forced(writer, torch.tensor([place]), [tokens], start=START, looks=True)
            assert text.log_prob == pytest.approx(float(whole.log_probs[len(prompt) :].double().sum()), abs=1e-6)
            for look, own in zip(text.looks, whole.looks, strict=True):
                torch.testing.assert_close(look.weights, own.weights[:, len(prompt) :], atol=1e-6, rtol=0)


@each_config
def test_texts_after_prompts_stream_side_by_side(config: Config) -> None:
    writer = TableWriter(20, end_bonus=1.0)
    streamed = list(stream(writer, torch.arange(8), config, inputs=8, **IDS, prompts=LENGTHS))
    found = search(writer, torch.arange(8), config, inputs=8, **IDS, prompts=LENGTHS)
    assert [list(chain(*parts)) for parts in zip(*streamed, strict=True)] == [best[0].tokens for best in found]
    assert len(streamed) <= 12


@each_config
@pytest.mark.parametrize("name", [*SMALL, "recurrent"])
def test_prompts_of_networks(name: str, config: Config) -> None:
    prompts = [[4 + (place + number) % (SIZE - 4) for number in range(place % 3)] for place in range(len(SOURCES))]
    if name == "recurrent":
        model: Any = RecurrentWriter(SIZE)
        source, sizes = torch.randn(8, 5, 12), torch.tensor([len(row) for row in SOURCES])
        memories = [(source[place, None], sizes[place, None]) for place in range(8)]
        memory: Any = (source, sizes)
    else:
        model = lively(name)
        with torch.inference_mode():
            memory, memories = (
                model.read(TextInput(*padded(SOURCES))),
                [model.read(TextInput(*padded([row]))) for row in SOURCES],
            )
    together = search(model, memory, config, inputs=8, **IDS, prompts=prompts)
    for place, prompt in enumerate(prompts):
        one: dict[str, Any] = {"inputs": 1, **IDS, "prompts": [prompt], "positions": [place]}
        (alone,) = search(model, memories[place], config, **one)
        assert [text.tokens for text in alone] == [text.tokens for text in together[place]]
        texts = [[*prompt, *text.tokens, *[END] * text.finished] for text in alone]
        for text, tokens in zip(alone, texts, strict=True):
            (whole,) = forced(model, memories[place], [tokens], start=START)
            assert text.log_prob == pytest.approx(float(whole.log_probs[len(prompt) :].sum()), abs=1e-4)


def test_a_prompt_for_each_input_is_needed() -> None:
    with pytest.raises(UsageError, match=r"^prompts: expected 2, one for each input, got 1"):
        search(TableWriter(5), torch.arange(2), Config(), inputs=2, **IDS, prompts=[[4]])
