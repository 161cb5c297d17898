"""Two readings that are pulled toward each other (R-Drop): by hand, and by the trainer."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from saccade.errors import UsageError
from saccade.systems import bag_of_words, bahdanau
from saccade.systems.system import System
from saccade.tasks.text_to_label import TextCorpus
from saccade.training.config import Config
from saccade.training.trainer import Trainer

from .samples import SIZE, rows, small

LABELS = 3


def corpus() -> TextCorpus:
    sources, _ = rows()
    return TextCorpus(sources, np.arange(len(sources)) % LABELS)


def model(dropout: float) -> bag_of_words.Model:
    torch.manual_seed(2)
    return bag_of_words.Model(small(bag_of_words.Config, dropout=dropout), source_size=SIZE, labels=LABELS)


def by_hand(logits: list[Tensor], label: Tensor, smoothing: float, agreement: float) -> Tensor:
    told = [F.cross_entropy(one, label, label_smoothing=smoothing, reduction="sum") for one in logits]
    one, other = (F.log_softmax(one, -1) for one in logits)
    apart = [F.kl_div(*pair, log_target=True, reduction="sum") for pair in ((one, other), (other, one))]
    return (torch.stack(told) + agreement * torch.stack(apart)).mean()


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_it_is_both_losses_and_both_divergences(smoothing: float) -> None:
    made, batch = model(0.5).train(), corpus().batch(range(4))
    torch.manual_seed(5)
    found = made.agreeing_loss(batch, smoothing, 0.7)
    torch.manual_seed(5)
    logits = [made(batch), made(batch)]
    assert not torch.equal(*logits)
    torch.testing.assert_close(found, by_hand(logits, batch.label, smoothing, 0.7))


def test_without_dropout_it_is_the_loss() -> None:
    made, batch = model(0.5).eval(), corpus().batch(range(4))
    torch.testing.assert_close(made.agreeing_loss(batch, 0.1, 3.0), made.loss(batch, 0.1))


def trained(agreement: float, dropout: float) -> Tensor:
    made = model(dropout)
    for _ in Trainer(made, corpus(), replace(Config(steps=3, max_tokens=60), agreement=agreement)).steps():
        pass
    return torch.cat([weight.detach().flatten() for weight in made.parameters()])


def test_the_trainer_asks_for_it_and_only_dropout_tells_the_difference() -> None:
    torch.testing.assert_close(trained(0.0, 0.0), trained(2.0, 0.0))
    assert (trained(0.0, 0.5) - trained(2.0, 0.5)).abs().max() > 1e-4


def test_systems_that_write_more_than_a_label_cannot() -> None:
    writer: System = bahdanau.Model(small(bahdanau.Config), source_size=SIZE, target_size=SIZE)
    with pytest.raises(UsageError, match=r"train\.agreement: expected a system that writes one label"):
        Trainer(writer, corpus(), Config(agreement=1.0))
