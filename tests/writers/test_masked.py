"""Hidden tokens: where examples come from, that a run which goes on sees the same, what is filled in, and the scores."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from saccade.data.batches import Part
from saccade.data.examples import Example
from saccade.data.tokenizers import END, MASK, START
from saccade.errors import UsageError
from saccade.training.train_config import Config as TrainConfig
from saccade.writers import masked

from ..systems.tiny import Tiny, options, tiny

LONG = [
    Example("", f"Red foxes run over hill {n}. The dog sings. It is {n} birds, and the sun goes over a hill.")
    for n in range(9)
]


def of(one: Tiny) -> masked.MaskedTexts:
    return one.task.writer.corpus(LONG)  # type: ignore[no-any-return]


@pytest.mark.parametrize("system", ["bert", "roberta"])
def test_batches_depend_on_the_seed_and_their_number_alone(system: str) -> None:
    config = TrainConfig(batch_size=4, seed=3)
    whole, again = (of(tiny(system)).batches(config) for _ in range(2))
    batches = [whole.next() for _ in range(4)]
    for _ in range(2):
        again.next()
    other = of(tiny(system)).batches(config)
    other.restore(again.state())
    later = other.next()
    assert torch.equal(later.input.tokens, batches[2].input.tokens)
    assert torch.equal(later.target.tokens, batches[2].target.tokens)
    shapes = {tuple(batch.input.tokens.flatten().tolist()) for batch in batches}
    assert len(shapes) == 4
    parts = []
    for index in range(2):
        source = of(tiny(system)).batches(config)
        source.part = Part(index, 2)
        parts.append(source.next())
    assert sum(int(part.input.lengths.sum()) for part in parts) == int(batches[0].input.lengths.sum())
    assert sum(len(part.target) for part in parts) == len(batches[0].target)


def test_the_same_sentences_hide_other_tokens_each_time() -> None:
    """Dynamic masking: what is read again is not read in the same way."""
    one = tiny("roberta")
    corpus = one.task.writer.corpus(LONG[:1])
    source = corpus.batches(TrainConfig(batch_size=60, seed=3))
    batch = source.next()
    assert source.steps(1.0) == 1
    seen: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for row in range(60):
        own = batch.input.rows == row
        places = batch.input.places[own]
        tokens = batch.input.tokens[row].clone()
        tokens[places] = batch.target.tokens[own]
        seen.setdefault(tuple(tokens.tolist()), set()).add(tuple(places.tolist()))
    assert max(map(len, seen.values())) > 2


def test_pairs_of_bert_say_whether_they_follow_and_roberta_reads_one_text() -> None:
    batch = of(tiny("bert")).batch(range(5))
    assert set(batch.target.strangers.tolist()) == {0, 1}
    assert (batch.input.segments.sum(1) > 0).all()
    assert ((batch.input.tokens == END).sum(1) == 2).all()
    other = of(tiny("roberta")).batch(range(3))
    assert other.target.strangers is None
    assert (other.input.segments == 0).all()
    assert (other.input.tokens[:, 0] == START).all()
    assert other.input.lengths.tolist() == [14] * 3
    assert not torch.isin(batch.target.tokens, torch.tensor([START, END, MASK])).any()


@pytest.mark.parametrize("system", ["bert", "roberta"])
def test_in_order_the_examples_hold_all_of_the_text(system: str) -> None:
    one = tiny(system)
    corpus = of(one)
    read = {int(token) for token in corpus.batch(range(len(corpus.lengths))).input.tokens.flatten()}
    read |= {int(token) for token in corpus.batch(range(len(corpus.lengths))).target.tokens}
    assert {int(token) for token in corpus.tokens} <= read
    assert torch.equal(corpus.batch([1]).input.tokens, corpus.batch([1]).input.tokens)


def test_the_likeliest_tokens_are_filled_in_and_no_special_one() -> None:
    one = tiny("bert")
    ((best, second),) = one.task.predictions(
        one.model, [Example("red [MASK] runs [MASK] .")], options(method="beam", beam=2, n_best=2)
    )
    assert best.text == "red {} runs {} .".format(*best.tokens)
    assert second.text == "red {} runs {} .".format(*second.tokens)
    batch = one.task.reader.encode(["red [MASK] runs [MASK] ."]).batch([0])
    with torch.no_grad():
        logits = one.model.logits(batch).double()
    logits[:, list(one.task.reader.vocabulary.special)] = -torch.inf
    shares, tokens = logits.softmax(-1).topk(2)
    assert list(best.tokens) == one.task.reader.tokenizer.labels(tokens[:, 0].tolist())
    assert best.token_probabilities == pytest.approx(shares[:, 0].numpy())
    assert best.log_prob == pytest.approx(float(shares[:, 0].log().sum()))
    assert second.token_probabilities is not None
    assert (best.token_probabilities > second.token_probabilities).all()
    ((plain,),) = one.task.predictions(one.model, [Example("red fox")], options(looks=True))
    assert (plain.text, list(plain.tokens), plain.log_prob) == ("red fox", [], 0.0)
    assert plain.looks


@pytest.mark.parametrize("system", ["bert", "roberta"])
def test_scores_are_those_of_the_tokens(system: str) -> None:
    one = tiny(system)
    scores = one.task.evaluate(one.model, one.examples, options()).scores["all"]
    batch = one.batch()
    with torch.no_grad():
        logits = one.model.logits(batch.input).double()
    right = logits.argmax(-1) == batch.target.tokens
    loss = torch.nn.functional.cross_entropy(logits, batch.target.tokens)
    assert scores["masked_loss"] == pytest.approx(float(loss), rel=1e-5)
    assert scores["perplexity"] == pytest.approx(float(loss.exp()), rel=1e-5)
    assert scores["masked_accuracy"] == pytest.approx(float(right.double().mean()))
    assert ("next_sentence_accuracy" in scores) == (system == "bert")
    if system == "roberta":
        assert scores["loss"] == pytest.approx(scores["masked_loss"])
    else:
        follows = one.model.following(one.model.pooled(one.model.states(batch.input), batch.input)).argmax(-1)
        follows = follows == batch.target.strangers
        share = follows[batch.input.rows].double().mean()  # each example counts by its hidden tokens
        assert scores["next_sentence_accuracy"] == pytest.approx(float(share))
        assert scores["loss"] > scores["masked_loss"]


def test_nothing_hidden_or_no_mask_token_is_refused() -> None:
    with pytest.raises(UsageError, match="masked_share: expected more than 0"):
        masked.Config(masked_share=0.0)
    maskless = SimpleNamespace(vocabulary=tiny("gpt2").task.reader.tokenizer.vocabulary)
    with pytest.raises(UsageError, match="expected a tokenizer with a mask token, got one without"):
        masked.Writer(masked.Config(), maskless)


def test_numbers_of_a_share_are_shown() -> None:
    one = tiny("bert")
    ((best,),) = one.task.predictions(one.model, [Example("red [MASK]")], options())
    notes = one.task.writer.notes(Example("red [MASK]"), best)
    assert list(notes) == ["filled in 1"]
    assert str(notes["filled in 1"]).startswith(str(best.tokens[0]))
    assert np.isfinite(best.log_prob)
