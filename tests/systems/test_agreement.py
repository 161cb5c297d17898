"""Two passes that are pulled toward each other (R-Drop): by hand, and by the trainer."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.data.stored.ragged import Ragged
from saccade.errors import SaccadeError
from saccade.readers.words import WordsColumn
from saccade.systems import bag_of_words
from saccade.task import Corpus
from saccade.training.settings import resolve
from saccade.training.train_config import Config
from saccade.training.trainer import Trainer
from saccade.writers import label

from .samples import VOCABULARY, rows, small

LABELS = 3


def corpus(label_smoothing: float = 0.0, agreement: float = 0.0) -> Corpus:
    sources, _ = rows()
    config = label.Config(label_smoothing=label_smoothing, agreement=agreement)
    return Corpus(WordsColumn(Ragged.of(sources)), label.LabelColumn(np.arange(len(sources)) % LABELS, config))


def model(dropout: float) -> bag_of_words.Model:
    torch.manual_seed(2)
    return bag_of_words.Model(
        small(bag_of_words.Config, dropout=dropout, word_dropout=0.0), source=VOCABULARY, labels=LABELS
    )


def by_hand(logits: list[Tensor], labels: Tensor, label_smoothing: float, agreement: float) -> Tensor:
    losses = [F.cross_entropy(one, labels, label_smoothing=label_smoothing, reduction="sum") for one in logits]
    one, other = (F.log_softmax(one, -1) for one in logits)
    apart = [F.kl_div(*pair, log_target=True, reduction="sum") for pair in ((one, other), (other, one))]
    return (torch.stack(losses) + agreement * torch.stack(apart)).mean()


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_it_is_both_losses_and_both_divergences(label_smoothing: float) -> None:
    made, batch = model(0.5).train(), corpus(label_smoothing, 0.7).batch(range(4))
    torch.manual_seed(5)
    output = made(batch)
    assert output.count == 4
    torch.manual_seed(5)
    logits = [made.logits(batch.input), made.logits(batch.input)]
    assert not torch.equal(*logits)
    torch.testing.assert_close(output.loss, by_hand(logits, batch.target.labels, label_smoothing, 0.7))


def test_without_dropout_it_is_the_loss() -> None:
    made = model(0.0).train()
    with_it, without = (made(corpus(0.1, agreement).batch(range(4))).loss for agreement in (3.0, 0.0))
    torch.testing.assert_close(with_it, without)


def test_an_evaluation_is_one_pass_without_smoothing() -> None:
    made, batch = model(0.5).eval(), corpus(0.1, 3.0).batch(range(4))
    torch.testing.assert_close(made(batch).loss, made(corpus().batch(range(4))).loss, atol=0, rtol=0)


def trained(agreement: float, dropout: float) -> Tensor:
    made, config = model(dropout), Config(steps=3, batch_tokens=60)
    for _ in Trainer(made, corpus(agreement=agreement).batches(config), config).steps():
        pass
    return torch.cat([parameter.detach().flatten() for parameter in made.parameters()])


def test_the_trainer_applies_it_and_only_dropout_makes_the_difference() -> None:
    torch.testing.assert_close(trained(0.0, 0.0), trained(2.0, 0.0))
    assert (trained(0.0, 0.5) - trained(2.0, 0.5)).abs().max() > 1e-4


@pytest.mark.parametrize("system", ["bahdanau", "deep_sets", "set_outlier"])
def test_systems_that_write_something_else_than_a_label_cannot(system: Any) -> None:
    with pytest.raises(SaccadeError, match="agreement"):
        resolve({"system": system}, ["writer.agreement=1.0"])
