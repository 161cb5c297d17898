"""Attention-based multiple-instance learning (Ilse et al. 2018) as an estimator: `fit` takes bags, arrays of instances.

Reads: bags, each an array of rows of features. Attends: one learned query to the instances of a bag. Writes: its label.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from saccade.attention import looking
from saccade.data.batches import PlannedBatches
from saccade.data.examples import Bag
from saccade.errors import ShapeError, UsageError
from saccade.readers.bag import BagColumn, Scale
from saccade.systems.attention_mil import Config, Model
from saccade.task import Corpus
from saccade.training.train_config import Config as TrainConfig
from saccade.training.trainer import Trainer
from saccade.writers.label import LabelColumn

Array = NDArray[Any]


class AttentionMILClassifier(ClassifierMixin, BaseEstimator):
    """A label for each bag, and the weight of each instance in it.

    `pool` is attention, gated, mean or max; `hidden_sizes` are the layers that read an instance; `steps`,
    `batch_size` (instances an update), `learning_rate` and `weight_decay` are for Adam; features are clipped to
    `max_deviation` standard deviations from their mean (0: never); `random_state` is the seed.

    After `fit`: `classes_`, `model_`, `n_features_in_`.
    """

    def __init__(
        self,
        pool: str = "gated",
        hidden_sizes: tuple[int, ...] = (256, 128, 64),
        attention_size: int = 64,
        dropout: float = 0.5,
        steps: int = 800,
        batch_size: int = 100,
        learning_rate: float = 5e-4,
        weight_decay: float = 5e-3,
        max_deviation: float = 0.0,
        random_state: int = 0,
    ) -> None:
        self.pool = pool
        self.hidden_sizes = hidden_sizes
        self.attention_size = attention_size
        self.dropout = dropout
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.max_deviation = max_deviation
        self.random_state = random_state

    def fit(self, X: Sequence[ArrayLike], y: ArrayLike) -> Self:
        """Learn from bags and their labels."""
        if self.pool not in ("attention", "gated", "mean", "max"):
            raise UsageError(f"pool: expected attention, gated, mean or max, got {self.pool!r}")
        bags = _bags(X)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(labels) != len(bags):
            raise ShapeError(f"expected a label for each of {len(bags)} bags, got {len(labels)}")
        if len(self.classes_) < 2:
            raise UsageError(f"expected at least 2 different labels, got {len(self.classes_)}")
        self._scale = Scale.of(bags, self.max_deviation)
        self.n_features_in_ = self._scale.shape[0]
        config = Config(
            pool=self.pool,  # type: ignore[arg-type]
            hidden_sizes=self.hidden_sizes,
            attention_size=self.attention_size,
            dropout=self.dropout,
        )
        train = TrainConfig(
            steps=self.steps,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            clip=0.0,
            seed=self.random_state,
        )
        corpus = Corpus(BagColumn(bags, self._scale), LabelColumn(labels.astype(np.int64)))
        batches = PlannedBatches(corpus, batch_tokens=self.batch_size, seed=self.random_state)
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(self.random_state)
            self.model_ = Model(config, self._scale.shape, len(self.classes_))
            for _ in Trainer(self.model_, batches, train).steps():
                pass
        self.model_.eval()
        return self

    def predict_proba(self, X: Sequence[ArrayLike]) -> Array:
        """Of every label, a row for each bag."""
        probabilities: Array = self._read(X)[0].double().softmax(-1).numpy()
        return probabilities

    def predict(self, X: Sequence[ArrayLike]) -> Array:
        """The most probable label of each bag."""
        labels: Array = self.classes_[self.predict_proba(X).argmax(1)]
        return labels

    def weights(self, X: Sequence[ArrayLike]) -> list[Array]:
        """Where it looked: for each bag the weights of its instances, whose sum is 1."""
        _, sizes, weights = self._read(X)
        if weights is None:
            raise UsageError(f"pool {self.pool!r} has no attention; use attention or gated")
        return [part.numpy() for part in weights.split(sizes)]

    def _read(self, X: Sequence[ArrayLike]) -> tuple[torch.Tensor, list[int], torch.Tensor | None]:
        check_is_fitted(self, "model_")
        bags = _bags(X)
        for bag in bags:
            if bag.items.shape[1] != self.n_features_in_:
                raise ShapeError(f"expected {self.n_features_in_} features, as in fit, got {bag.items.shape[1]}")
        batch = BagColumn(bags, self._scale).batch(range(len(bags)))
        with torch.inference_mode(), looking(self.model_) as recorded:
            logits = self.model_.logits(batch)
        looks = self.model_.looks(batch, logits, recorded)
        return logits, batch.sizes.tolist(), looks[0].weights if looks else None


def _bags(X: Sequence[ArrayLike]) -> list[Bag]:
    """Arrays as bags; each must have rows of features, all finite."""
    bags = [Bag(np.asarray(items, dtype=np.float32)) for items in X]
    for number, bag in enumerate(bags):
        if bag.items.ndim != 2 or 0 in bag.items.shape:
            raise ShapeError(f"bag {number}: expected an array (instances, features), got shape {bag.items.shape}")
        if not np.isfinite(bag.items).all():
            raise ShapeError(f"bag {number}: expected finite numbers, got NaN or infinity")
    if not bags:
        raise ShapeError("expected at least one bag, got none")
    return bags
