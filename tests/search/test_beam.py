"""Beam and greedy search against every text there is, and against their definition written plainly."""

import math

import pytest
import torch
from torch import Tensor

from saccade.data.tokenizers import END, PAD, START
from saccade.search import Config, Hypothesis, Step, search
from tests.search.writers import IDS, TableWriter

Text = tuple[float, float, list[int], bool]


def every_text(writer: TableWriter, place: int, longest: int, penalty: float) -> list[Text]:
    """All that could be written, as (score, log-probability, tokens, finished), best first."""
    found: list[Text] = []

    def extend(text: list[int], total: float) -> None:
        following = writer.log_probs(place, text).double().tolist()
        for token, value in enumerate(following):
            if token in (PAD, START):
                continue
            score = (total + value) / (len(text) + 1) ** penalty
            if token == END:
                found.append((score, total + value, text, True))
            elif len(text) + 1 == longest:
                found.append((score, total + value, [*text, token], False))
            else:
                extend([*text, token], total + value)

    extend([], 0.0)
    return sorted(found, key=lambda entry: -entry[0])


def plain_beam(writer: TableWriter, place: int, config: Config) -> list[Text]:
    """Beam search as it is defined, for one input, in lists, and never stopping early."""
    opened: list[tuple[float, list[int]]] = [(0.0, [])]
    found: list[Text] = []
    for length in range(1, config.max_length + 1):
        ways = [
            (total + value, text, token)
            for total, text in opened
            for token, value in enumerate(writer.log_probs(place, text).double().tolist())
            if token not in (PAD, START)
        ]
        ways = sorted(ways, key=lambda way: -way[0])[: 2 * config.beam]
        divisor = length**config.length_penalty
        found += [(total / divisor, total, text, True) for total, text, token in ways if token == END]
        opened = [(total, [*text, token]) for total, text, token in ways if token != END][: config.beam]
    found += [(total / divisor, total, text, False) for total, text in opened]
    return sorted(found, key=lambda entry: -entry[0])[: config.n_best]


def same(hypotheses: list[Hypothesis], texts: list[Text]) -> None:
    assert [(h.tokens, h.finished) for h in hypotheses] == [(tokens, finished) for _, _, tokens, finished in texts]
    assert [h.score for h in hypotheses] == pytest.approx([score for score, *_ in texts], abs=1e-9)
    assert [h.log_prob for h in hypotheses] == pytest.approx([total for _, total, *_ in texts], abs=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize(("vocabulary", "longest"), [(4, 4), (5, 3), (6, 3), (3, 3)])
def test_a_wide_beam_finds_the_best_of_all_texts(vocabulary: int, longest: int, penalty: float) -> None:
    writer = TableWriter(vocabulary)
    beam = vocabulary**longest
    config = Config(method="beam", beam=beam, n_best=min(9, beam), length_penalty=penalty, max_length=longest)
    found = search(writer, torch.arange(3), config, inputs=3, **IDS)
    for place in range(3):
        same(found[place], every_text(writer, place, longest, penalty)[:9])


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 3.0])
@pytest.mark.parametrize(("beam", "n_best", "vocabulary"), [(2, 1, 5), (2, 2, 40), (3, 2, 7), (4, 4, 300), (5, 1, 9)])
def test_leaving_early_changes_nothing(beam: int, n_best: int, vocabulary: int, penalty: float) -> None:
    for bonus in (0.0, 3.0):
        writer = TableWriter(vocabulary, end_bonus=bonus)
        config = Config(method="beam", beam=beam, n_best=n_best, length_penalty=penalty, max_length=12)
        found = search(writer, torch.arange(8), config, inputs=8, **IDS)
        for place in range(8):
            same(found[place], plain_beam(writer, place, config))


@pytest.mark.parametrize("bonus", [0.0, 2.0])
def test_greedy_takes_the_best_token_every_time(bonus: float) -> None:
    writer = TableWriter(50, end_bonus=bonus)
    found = search(writer, torch.arange(8), Config(max_length=30), inputs=8, **IDS)
    for place, (hypothesis,) in enumerate(found):
        text: list[int] = []
        total = 0.0
        for _ in range(30):
            following = writer.log_probs(place, text).double()
            following[[PAD, START]] = -math.inf
            total += float(following.max())
            text.append(int(following.argmax()))
            if text[-1] == END:
                break
        assert hypothesis.finished == (text[-1] == END)
        assert hypothesis.tokens == [token for token in text if token != END]
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-9)
        assert hypothesis.score == pytest.approx(total / len(text), abs=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_beam_of_one_is_greedy(penalty: float) -> None:
    writer = TableWriter(20, end_bonus=1.0)
    one = search(writer, torch.arange(8), Config(method="beam", beam=1, length_penalty=penalty), inputs=8, **IDS)
    assert one == search(writer, torch.arange(8), Config(length_penalty=penalty), inputs=8, **IDS)
    assert any(hypothesis.tokens for (hypothesis,) in one)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_beam_leaves_when_nothing_open_can_win(penalty: float) -> None:
    writer = TableWriter(20, end_bonus=2.0)
    search(writer, torch.arange(8), Config(method="beam", length_penalty=penalty, max_length=40), inputs=8, **IDS)
    rows = [inputs for inputs, _ in writer.calls.rows]
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] < 8
    if penalty == 0:
        assert len(rows) < 40


def test_a_beam_goes_around_a_dead_end() -> None:
    writer = TableWriter(6, inputs=1, end_bonus=-4.0)
    (hopeful,) = search(writer, torch.arange(1), Config(method="beam", beam=3, max_length=4), inputs=1, **IDS)[0]
    best = hopeful.tokens[0]
    writer.table[0, writer.after(writer.after(torch.tensor(0), torch.tensor(START)), torch.tensor(best))] = -math.inf
    config = Config(method="beam", beam=3, n_best=2, max_length=4)
    texts = search(writer, torch.arange(1), config, inputs=1, **IDS)[0]
    assert [text.tokens[0] == best for text in texts] == [False, False]
    same(texts, plain_beam(writer, 0, config))


def test_nan_of_a_hypothesis_that_is_gone_does_not_matter() -> None:
    class Once(TableWriter):
        """Leaves one token open after START; whatever follows something else is NaN."""

        def step(self, tokens: Tensor, state: object) -> Step:
            step = super().step(tokens, state)  # type: ignore[arg-type]
            log_probs = torch.full_like(step.log_probs, math.nan)
            log_probs[tokens == START] = torch.tensor([-math.inf] * 4 + [0.0])
            log_probs[tokens == 4] = torch.tensor([-math.inf] * 4 + [-1.0])
            return Step(log_probs, step.state, step.glance)

    (text,) = search(Once(5), torch.arange(1), Config(method="beam", beam=3, max_length=4), inputs=1, **IDS)[0]
    assert text.tokens == [4, 4, 4, 4]


def test_half_precision_sums_are_exact() -> None:
    writer = TableWriter(30)
    writer.table = writer.table.bfloat16()
    config = Config(method="beam", n_best=2, max_length=10)
    for place, texts in enumerate(search(writer, torch.arange(2), config, inputs=2, **IDS)):
        for text in texts:
            tokens = text.tokens + [END] * text.finished
            total = sum(float(writer.log_probs(place, tokens[:step])[token]) for step, token in enumerate(tokens))
            assert text.log_prob == pytest.approx(total, abs=1e-9)
            own = [float(writer.log_probs(place, tokens[:step])[token]) for step, token in enumerate(tokens)]
            assert text.log_probs == pytest.approx(own, abs=1e-9)


def test_a_huge_penalty_stays_a_number() -> None:
    config = Config(method="beam", n_best=3, length_penalty=1e6, max_length=5)
    for texts in search(TableWriter(10), torch.arange(3), config, inputs=3, **IDS):
        assert len(texts) == 3
        assert all(math.isfinite(text.score) for text in texts)
