"""Tokens in a random order: where examples come from, their memory, that a run which goes on sees the same, and scores."""

import pytest
import torch

from saccade.data.batches import Part
from saccade.data.examples import Example
from saccade.data.tensors import PermutedInput
from saccade.data.tokenizers import END, PAD, START
from saccade.errors import UsageError
from saccade.training.train_config import Config as TrainConfig
from saccade.writers.permuted import Config, PermutedTexts, Writer

from ..systems.tiny import Tiny, options, tiny

LONG = [
    Example("", f"Red foxes run over hill {n}. The dog sings. It is {n} birds, and the sun goes over a hill.")
    for n in range(9)
]


def of(one: Tiny, mem_len: int = 5) -> PermutedTexts:
    return Writer(Config(mem_len=mem_len), one.task.reader).corpus(LONG)


def test_an_example_is_a_text_its_order_and_the_tokens_before_it() -> None:
    one = tiny("xlnet")
    corpus = of(one)
    batch = corpus.batch(range(len(corpus.lengths)))
    input = batch.input
    assert isinstance(input, PermutedInput)
    assert torch.equal(batch.target.tokens, input.tokens[input.rows, input.places])
    assert torch.equal(input.asked[input.rows, input.slots], input.places)
    assert not torch.isin(batch.target.tokens, torch.tensor([START, END, PAD])).any()
    for row, (first, size) in enumerate(zip(corpus.firsts, input.lengths.tolist(), strict=True)):
        start, past = int(corpus.store.starts[first]), int(input.memory_lengths[row])
        assert input.tokens[row, : size - 2].tolist() == corpus.tokens[start : start + size - 2].tolist()
        assert input.tokens[row, size - 2 : size].tolist() == [END, START]
        assert input.segments[row, :size].tolist() == [0] * (size - 1) + [2]
        assert past == min(start, 5)
        assert input.memory[row].tolist() == [PAD] * (5 - past) + corpus.tokens[start - past : start].tolist()
        count = int((input.rows == row).sum())
        assert input.ranks[row].tolist() == [*range(1, count + 1)] + [0] * (input.ranks.shape[1] - count)
    assert of(one, 0).batch([1]).input.memory.shape == (1, 0)


def test_batches_depend_on_the_seed_and_their_number_alone() -> None:
    config = TrainConfig(batch_size=4, seed=3)
    whole, again = (of(tiny("xlnet")).batches(config) for _ in range(2))
    batches = [whole.next() for _ in range(4)]
    for _ in range(2):
        again.next()
    other = of(tiny("xlnet")).batches(config)
    other.restore(again.state())
    later = other.next()
    for name in ("tokens", "asked", "ranks", "memory", "memory_lengths"):
        assert torch.equal(getattr(later.input, name), getattr(batches[2].input, name)), name
    assert len({tuple(batch.input.tokens.flatten().tolist()) for batch in batches}) == 4
    parts = []
    for index in range(2):
        source = of(tiny("xlnet")).batches(config)
        source.part = Part(index, 2)
        parts.append(source.next())
    assert sum(len(part.target) for part in parts) == len(batches[0].target)


def test_the_loss_depends_on_the_memory_and_scores_are_those_of_the_tokens() -> None:
    one = tiny("xlnet")
    batch = one.batch()
    past = batch.input.memory
    assert past.shape[1]
    assert int(batch.input.memory_lengths[0]) == 0
    changed = type(batch.input)(**{**vars(batch.input), "memory": past.roll(1, 1)})
    rows = batch.input.rows
    with torch.no_grad():
        logits, others = one.model.logits(batch.input).double(), one.model.logits(changed)
    assert torch.equal(logits[rows == 0], others[rows == 0].double())
    assert (logits - others)[rows == 1].abs().max() > 0.01
    scores = one.task.evaluate(one.model, one.examples, options()).scores["all"]
    loss = torch.nn.functional.cross_entropy(logits, batch.target.tokens)
    assert scores["loss"] == scores["masked_loss"] == pytest.approx(float(loss), rel=1e-5)
    assert scores["perplexity"] == pytest.approx(float(loss.exp()), rel=1e-5)
    assert scores["masked_accuracy"] == pytest.approx(float((logits.argmax(-1) == batch.target.tokens).double().mean()))
    assert "next_sentence_accuracy" not in one.task.writer.metrics(one.settings.writer)


def test_of_several_hidden_tokens_each_is_filled_in_without_the_others() -> None:
    """And what looked is what is filled in: a query for each, which sees none that is hidden."""
    one = tiny("xlnet")
    ((best,),) = one.task.predictions(one.model, [Example("red [MASK] runs [MASK] .")], options(looks=True))
    assert best.text == "red {} runs {} .".format(*best.tokens)
    names = [look.name for look in best.looks]
    assert names == [f"{stream}, layer {n}" for stream in ("self-attention", "query stream") for n in (1, 2)]
    query = best.looks[2]
    assert (query.queries, query.keys, query.weights.shape[1]) == ("output", "input", 2)
    assert (query.weights[..., [1, 3]] == 0).all()
    assert (query.weights[..., [0, 2, 4, 5, 6]] > 0).all()
    ((plain,),) = one.task.predictions(one.model, [Example("red fox")], options(looks=True))
    assert (plain.text, list(plain.tokens), [look.name for look in plain.looks]) == ("red fox", [], names[:2])
    rows = one.task.predictions(one.model, [Example("red fox"), Example("red [MASK]")], options(looks=True))
    assert [len(row[0].looks) for row in rows] == [2, 4]


def test_nothing_to_predict_is_refused() -> None:
    with pytest.raises(UsageError, match=r"plm_probability: expected more than 0, or nothing is learned, got 0\.0"):
        Config(plm_probability=0.0)
