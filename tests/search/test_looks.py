"""Every text carries where was looked while it was written: the same as when it is forced through the writer."""

import pytest
import torch

from saccade.data.tokenizers import END, START
from saccade.search import Config, Hypothesis, StepLook, forced, search
from tests.search.writers import IDS, RecurrentWriter, TableWriter

CONFIGS = [
    Config(max_length=12),
    Config(method="beam", beam=5, n_best=4, max_length=12),
    Config(method="beam", beam=2, n_best=2, length_penalty=0.0, max_length=12),
    Config(method="sample", n_best=3, max_length=12),
]
each_config = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.method}-{config.n_best}")


def written(text: Hypothesis) -> list[int]:
    return text.tokens + [END] * text.finished


@each_config
def test_nobody_looks_unless_asked(config: Config) -> None:
    writer = TableWriter(20)
    found = search(writer, torch.arange(4), config, inputs=4, **IDS)
    assert writer.calls.glances == 0
    assert all(text.looks == [] for texts in found for text in texts)


@each_config
def test_looking_changes_no_text(config: Config) -> None:
    def plain(looks: bool) -> list[list[tuple[list[int], float, float, bool]]]:
        found = search(TableWriter(20, end_bonus=1.0), torch.arange(8), config, inputs=8, **IDS, looks=looks)
        return [[(text.tokens, text.log_prob, text.score, text.finished) for text in texts] for texts in found]

    assert plain(True) == plain(False)


@each_config
def test_looks_are_those_of_the_forced_text(config: Config) -> None:
    writer = TableWriter(20, end_bonus=1.0)
    found = search(writer, torch.arange(8), config, inputs=8, **IDS, looks=True)
    for rank in range(config.n_best):
        texts = [best[rank] for best in found]
        for text, sure in zip(
            texts, forced(writer, torch.arange(8), [*map(written, texts)], start=START, looks=True), strict=True
        ):
            steps = len(written(text))
            assert text.log_prob == pytest.approx(float(sure.log_probs.double().sum()), abs=1e-6)
            for looks in (text.looks, sure.looks):
                assert [(look.name, look.keys) for look in looks] == [("source", "input"), ("self", "written")]
                assert [look.weights.shape for look in looks] == [(2, steps, 5), (3, steps, steps)]
            for look, own in zip(text.looks, sure.looks, strict=True):
                torch.testing.assert_close(look.weights, own.weights, atol=1e-6, rtol=0)
    assert len({len(text.tokens) for best in found for text in best}) > 2


@each_config
def test_looks_of_a_network_on_a_padded_batch(config: Config) -> None:
    writer = RecurrentWriter(15)
    memory = (torch.randn(5, 7, 12), torch.tensor([7, 2, 5, 1, 4]))
    found = search(writer, memory, config, inputs=5, **IDS, looks=True)
    for rank in range(config.n_best):
        texts = [best[rank] for best in found]
        for place, sure in enumerate(forced(writer, memory, [*map(written, texts)], start=START, looks=True)):
            weights = texts[place].looks[0].weights
            torch.testing.assert_close(weights, sure.looks[0].weights, atol=1e-6, rtol=0)
            size = int(memory[1][place])
            assert not weights[..., size:].any()
            torch.testing.assert_close(weights[..., :size].sum(-1), torch.ones(weights.shape[:2]))
            assert texts[place].log_prob == pytest.approx(float(sure.log_probs.sum()), abs=1e-5)


def test_looks_are_ordinary_tensors() -> None:
    (text,) = search(TableWriter(20), torch.arange(1), Config(max_length=5), inputs=1, **IDS, looks=True)[0]
    weights = text.looks[0].weights
    weights /= 2
    assert weights.is_contiguous()
    assert weights.dtype == torch.float32


def test_weights_are_kept_although_the_writer_uses_their_room_again() -> None:
    class Reusing(TableWriter):
        """Gives the same tensor at every step, written anew."""

        room = torch.zeros(1, 1, 1, 2)

        def step(self, tokens, state):  # type: ignore[no-untyped-def]
            step = super().step(tokens, state)
            object.__setattr__(step, "glance", lambda: [StepLook("source", "input", self.room.fill_(step.state.written))])
            return step

    (text,) = search(Reusing(20, end_bonus=-50.0), torch.arange(1), Config(max_length=3), inputs=1, **IDS, looks=True)[0]
    assert text.looks[0].weights[0, :, 0].tolist() == [1, 2, 3]


def test_forced_texts_of_any_length() -> None:
    writer = TableWriter(20)
    results = forced(writer, torch.arange(3), [[5, 6, END], [], [7]], start=START, looks=True)
    assert [tuple(result.log_probs.shape) for result in results] == [(3,), (0,), (1,)]
    assert float(results[0].log_probs[1]) == float(writer.log_probs(0, [5])[6])
    assert results[2].looks[1].weights.shape == (3, 1, 1)
    assert forced(writer, torch.arange(0), [], start=START) == []
