"""Continuations: running text in windows, at random for training; prompts that are written on."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from saccade.data.examples import Example, Splits
from saccade.errors import DataError
from saccade.search import Config as SearchConfig
from saccade.task import Task
from saccade.writers.continuation import RandomWindows, Windows
from tests import made_tasks
from tests.made_tasks import nothing, options, predictions, scene, settings

SYSTEM = "gpt2"
SIZES = ("model.hidden_size=16", "model.num_layers=2", "model.num_heads=2", "writer.context_length=8", "tokens.kind=char")
TEXT = "First Citizen:\nSpeak, speak.\nAll:\nResolved, resolved.\n"
TRAIN, VALID = [Example("", TEXT)], [Example("", "Speak, all citizens.\n")]
GREEDY = options(max_length=10)
SLIDING = replace(GREEDY, slide=True)


def fitted(*words: str) -> Task:
    return made_tasks.fitted(SYSTEM, Splits(TRAIN, VALID, []), *SIZES, *words)


def model(task: Task) -> Any:
    return made_tasks.model(SYSTEM, task, *SIZES, seed=3, loud=4.0)


def numbered(count: int, context: int) -> Windows:
    return Windows(np.arange(count, dtype=np.int64), context)


@pytest.mark.parametrize(("count", "lengths"), [(9, [4, 4]), (10, [4, 4, 1]), (8, [4, 3]), (2, [1]), (1, [0])])
def test_windows_in_order_predict_every_token_but_the_first_once(count: int, lengths: list[int]) -> None:
    windows = numbered(count, 4)
    assert windows.lengths.tolist() == lengths
    target = windows.batch(range(len(lengths))).target
    assert target.lengths.tolist() == lengths
    rows = [row[:size] for row, size in zip(target.tokens.tolist(), lengths, strict=True)]
    assert [token for row in rows for token in row] == list(range(1, count))
    assert target.first.tolist() == [4 * number for number in range(len(lengths))]
    assert windows.batch([0]).input is None


def test_a_window_is_predicted_from_the_token_before_it() -> None:
    target = numbered(30, 5).at([7, 0]).target
    assert target.tokens.tolist() == [[8, 9, 10, 11, 12], [1, 2, 3, 4, 5]]
    assert target.before().tolist() == [[7, 8, 9, 10, 11], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("count", [5, 6, 40])
def test_random_windows_are_whole_and_come_from_everywhere(count: int) -> None:
    source = RandomWindows(numbered(count, 4), 3, seed=1)
    targets = [source.next().target for _ in range(80)]
    assert all(target.lengths.tolist() == [4, 4, 4] for target in targets)
    starts = {start for target in targets for start in target.first.tolist()}
    assert starts == set(range(count - 4))  # the last token is predicted, too


def test_a_text_that_is_shorter_than_the_context_is_read_whole() -> None:
    target = RandomWindows(numbered(3, 8), 2, seed=1).next().target
    assert target.tokens.tolist() == [[1, 2], [1, 2]]


def test_restored_it_goes_on_as_if_never_stopped() -> None:
    source, other = (RandomWindows(numbered(100, 4), 3, seed=seed) for seed in (1, 2))
    drawn = [source.next().target.first.tolist() for _ in range(12)]
    again = RandomWindows(numbered(100, 4), 3, seed=1)
    again.restore({"drawn": 5})
    assert [again.next().target.first.tolist() for _ in range(7)] == drawn[5:]
    assert again.state() == source.state() == {"drawn": 12}
    assert [other.next().target.first.tolist() for _ in range(12)] != drawn
    assert len({tuple(starts) for starts in drawn}) > 10


def test_an_epoch_is_as_many_tokens_as_there_are() -> None:
    source = RandomWindows(numbered(100, 5), 4, seed=0)
    assert [source.steps(epochs) for epochs in (1, 2.5, 0.001)] == [5, 13, 1]
    for _ in range(5):
        assert source.epoch == 0
        source.next()
    assert source.epoch == 1


def test_batches_are_of_so_many_windows_or_tokens() -> None:
    corpus = fitted().corpus(TRAIN)
    sizes = {}
    for words in ("train.batch_size=12", "train.batch_tokens=40", "train.batch_tokens=1"):
        batch = corpus.batches(settings(SYSTEM, *SIZES, words).train).next()
        sizes[words] = len(batch.target)
    assert list(sizes.values()) == [12, 5, 1]


def test_texts_follow_each_other_with_the_end_token_between() -> None:
    task = fitted()
    tokenizer, end = task.reader.tokenizer, task.reader.tokenizer.vocabulary.end
    windows: Any = task.corpus([Example("", "Speak"), Example("", "All")])
    assert windows.tokens.tolist() == [*tokenizer.encode("Speak"), end, *tokenizer.encode("All"), end]
    assert list(task.flaws(TRAIN)) == []  # that they have no input is no flaw


def test_the_tokenizer_is_the_reader_s_and_learned_from_the_texts(tmp_path: Path) -> None:
    task = fitted()
    assert task.writer.tokenizer is task.reader.tokenizer
    assert task.sizes() == {"source": task.reader.tokenizer.vocabulary, "context_length": 8}
    assert set(task.reader.tokenizer.tokens()[4:]) == set(TEXT)
    task.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"tokenizer.json"}
    again = Task.load(settings(SYSTEM, *SIZES), tmp_path)
    made = model(task)
    assert predictions(again, made, ["Speak"], GREEDY) == predictions(task, made, ["Speak"], GREEDY)


def test_the_score_is_the_loss_per_token_and_its_perplexity() -> None:
    """Window by window, token by token as the model gives them."""
    task = fitted()
    made = model(task)
    found = task.evaluate(made, VALID, options())
    tokens = [*task.reader.tokenizer.encode(VALID[0].target), task.reader.tokenizer.vocabulary.end]
    losses: list[float] = []
    with torch.no_grad():
        for first in range(0, len(tokens) - 1, 8):
            state = made.start(1)
            for place in range(first, min(first + 8, len(tokens) - 1)):
                step = made.step(torch.tensor([[tokens[place]]]), state)
                losses.append(-float(step.log_probs[0, 0, tokens[place + 1]]))
                state = step.state
    assert list(found) == ["all"]
    assert set(found["all"]) == {"examples", *task.writer.metrics(task.writer.config)}
    assert found["all"]["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
    assert found["all"]["perplexity"] == pytest.approx(math.exp(np.mean(losses)), rel=1e-4)
    assert found["all"]["examples"] == 1
    assert found.details == {"tokens": len(VALID[0].target)}
    assert found.predictions == []
    assert task.writer.best(found) == [-found["all"]["loss"]]
    assert task.writer.main().name == "perplexity"


def test_each_prompt_goes_on_as_it_would_alone() -> None:
    task = fitted()
    made, prompts = model(task), ["Speak", "A", "First Citizen: Resolved", "All:\n"]
    together = predictions(task, made, prompts, SLIDING)
    assert len({best[0].text for best in together}) > 1
    for prompt, best in zip(prompts, together, strict=True):
        (alone,) = predictions(task, made, [prompt], SLIDING)
        assert best[0].text == alone[0].text
        assert best[0].log_prob == pytest.approx(alone[0].log_prob, abs=1e-4)
        assert list(best[0].context) == task.reader.tokenizer.pieces(prompt)
        assert "".join(task.stream(made, prompt, SLIDING, nothing)) == alone[0].text


def test_a_text_ends_where_the_context_is_full() -> None:
    """8 tokens are read; the one after them is still written."""
    task = fitted()
    made = model(task)
    long = predictions(task, made, ["Speak"], SLIDING)[0][0]
    assert (len(long.tokens), long.ended, long.finished) == (10, "length", False)
    for prompt, size in (("Speak", 4), ("Resolved", 1)):
        one = predictions(task, made, [prompt], GREEDY)[0][0]
        assert (len(one.tokens), one.ended, one.finished) == (size, "context", False)
        pieces = task.stream(made, prompt, GREEDY, nothing)
        assert ("".join(pieces), pieces.ended) == (one.text, "context")
        assert predictions(task, made, [prompt], SLIDING)[0][0].text.startswith(one.text)
    short = task.stream(made, "Speak", options(max_length=4), nothing)
    assert ("".join(short), short.ended) == (long.text[:4], "length")
    with pytest.raises(DataError, match="prompt of 9 tokens, at most 8 expected"):
        predictions(task, made, ["Resolved,"], GREEDY)


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_stop_string_ends_a_text(method: str) -> None:
    task = fitted()
    made = model(task)
    how = replace(SLIDING, search=SearchConfig(method=method, max_length=10))  # type: ignore[arg-type]
    whole = predictions(task, made, ["Speak"], how)[0][0]
    stop = whole.text[5:7]
    place = whole.text.index(stop)
    stopped = replace(how, stop=("~", stop), looks=True)
    one = predictions(task, made, ["Speak"], stopped)[0][0]
    assert (one.text, one.ended, one.finished) == (whole.text[:place], "stop", True)
    assert list(one.tokens) == list(whole.tokens[: place + 2])
    assert one.token_probabilities is not None
    assert one.log_prob == pytest.approx(math.fsum(np.log(one.token_probabilities)), rel=1e-4)
    assert one.looks[0].weights.shape[1] == place + 2
    pieces = task.stream(made, "Speak", stopped, nothing)
    assert ("".join(pieces), pieces.ended) == (one.text, "stop")


def test_an_empty_prompt_is_told() -> None:
    task = fitted()
    made = model(task)
    assert predictions(task, made, [""], GREEDY)[0][0].text == ""
    with pytest.raises(DataError, match="nothing to go on from"):
        task.stream(made, "", GREEDY, nothing)


def test_a_picture_shows_prompt_and_continuation() -> None:
    task = fitted()
    drawn = scene(task, model(task), "Speak", options(max_length=3, looks=True))
    written = drawn.axes["output"].labels
    assert list(drawn.axes["written"].labels) == [*"Speak", *written[:-1]]
    assert [(look.queries, look.keys) for look in drawn.looks] == [("output", "written")] * 2
    for look in drawn.looks:
        assert look.weights.shape == (2, len(written), len(drawn.axes["written"].labels))
        assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
        for number in range(len(written)):
            assert not look.weights[:, number, 5 + number :].any()  # nobody sees the future
